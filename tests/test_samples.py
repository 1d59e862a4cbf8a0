"""Every whole log under `samples/` is read as its `expected.json` says, however it was carried, skipped or read.

`samples/healthy/` holds logs that look broken and are not: none may yield an incident.
"""

from __future__ import annotations

import pytest
from expectations import shortfalls
from whole_logs import (
    CALM,
    COLLECTORS,
    HEALTHY,
    SAMPLES,
    carried,
    gist,
    healthy_log,
    lines_of,
    report_of,
    sample_expectation,
    sample_logs,
)

from diagnoser.sources.skipping import Settings

SMALL = Settings(whole=32 * 1024, head=64 * 1024)
"""Sizes at which a padded sample is skipped through."""


@pytest.mark.parametrize("name", SAMPLES)
def test_sample_is_read_as_expected(name):
    assert shortfalls(report_of(sample_logs(name)), sample_expectation(name)) == []


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_log_yields_nothing(name):
    report = report_of(healthy_log(name))

    assert (report.incidents, report.exit_code) == ((), 0)
    assert report.verdict in ("healthy", "shutdown")


@pytest.mark.parametrize("collector", sorted(COLLECTORS))
@pytest.mark.parametrize("name", SAMPLES)
def test_sample_reads_the_same_through_a_collector(name, collector):
    logs = sample_logs(name)
    through = {file: carried(text, collector) for file, text in logs.items()}

    assert gist(report_of(through)) == gist(report_of(logs))


@pytest.mark.parametrize("collector", sorted(COLLECTORS))
@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_log_yields_nothing_through_a_collector(name, collector):
    assert report_of(carried(healthy_log(name), collector)).incidents == ()


@pytest.mark.parametrize("name", SAMPLES)
def test_sample_reads_the_same_when_healthy_stretches_are_skipped(name):
    logs = {file: padded(text) for file, text in sample_logs(name).items()}

    assert (
        gist(report_of(logs, settings=SMALL)) == gist(report_of(logs, skip=False)) == gist(report_of(sample_logs(name)))
    )


def padded(text):
    """The log with a long healthy stretch after its start-up lines and another one before its first failure."""
    lines = lines_of(text)
    at = next((number for number, line in enumerate(lines) if "ERROR" in line or "Traceback" in line), len(lines))
    first = min(at, 6)
    return "\n".join([*lines[:first], *[CALM] * 200, *lines[first:at], *[CALM] * 1200, *lines[at:], ""])


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_log_yields_nothing_when_skipped_through(name):
    text = "\n".join([CALM] * 1500) + "\n" + healthy_log(name) + "\n".join([CALM] * 800) + "\n"

    assert report_of(text, settings=SMALL).incidents == ()
