"""Which records lie between --since and --until."""

from __future__ import annotations

import os
import time

import crash_logs
import pytest

from diagnoser.catalogue import Catalogue
from diagnoser.errors import UsageError
from diagnoser.model import LogRecord
from diagnoser.pipeline import run
from diagnoser.sources import text_source
from diagnoser.timespan import span

NOW = 1_741_947_600.0  # 2025-03-14 10:20:00 UTC
CATALOGUE = Catalogue.load()


@pytest.fixture(autouse=True)
def berlin(monkeypatch):
    monkeypatch.setenv("TZ", "CET-1")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def inside(since, until, *times):
    chosen = span(since, until, now=NOW)
    assert chosen is not None
    return [text for text in times if chosen.accepts(LogRecord("x", "a.log", 1, time=text), None)]


def test_no_option_is_no_span():
    assert span(None, None) is None


@pytest.mark.parametrize("since", ["03-14 10:00:00", "2025-03-14T10:00:00", "2025-03-14 10:00", "0314 10:00:00.000000"])
def test_times_as_logs_print_them(since):
    times = ["03-14 09:59:59", "03-14 10:00:00", "2025-03-14 10:00:01,500", "03-15 00:00:00", "03-13 23:00:00"]

    assert inside(since, None, *times) == ["03-14 10:00:00", "2025-03-14 10:00:01,500", "03-15 00:00:00"]


def test_both_ends_belong_to_the_span():
    times = [
        "03-14 10:00:00",
        "03-14 10:00:59.75",
        "03-14 10:30:00",
        "03-14 10:30:00.9",
        "03-14 10:30:59",
        "03-14 10:31:00",
    ]

    assert inside("03-14 10:00:30", "03-14 10:30:00", *times) == [
        "03-14 10:00:59.75",
        "03-14 10:30:00",
        "03-14 10:30:00.9",
    ]
    assert inside(None, "03-14 10:30", *times) == times[:-1]


def test_an_age_counts_from_now_in_the_clock_that_the_log_prints():
    assert inside("10m", None, "2025-03-14T10:09:59Z", "2025-03-14T10:10:00Z", "2025-03-14T12:10:00+02:00") == [
        "2025-03-14T10:10:00Z",
        "2025-03-14T12:10:00+02:00",
    ]
    assert inside("10m", None, "03-14 11:09:59", "03-14 11:10:00") == ["03-14 11:10:00"]
    assert inside("1d2h", "90s", "03-13 09:19:59", "03-13 09:20:00", "03-14 11:18:30", "03-14 11:18:31") == [
        "03-13 09:20:00",
        "03-14 11:18:30",
    ]
    assert inside("10m", None, "07-01 10:00:00", "12-31 10:00:00") == []


def test_a_span_reaches_over_new_year():
    times = ["12-30 10:00:00", "12-31 23:00:00", "01-01 00:30:00", "01-02 00:00:00"]

    assert inside("12-31", "01-01", *times) == ["12-31 23:00:00", "01-01 00:30:00"]


def test_a_time_of_day_holds_on_every_day():
    assert inside("10:15", "10:20:00", "03-14 10:14:59", "03-14 10:15:00", "03-15 10:20:00", "10:20:01") == [
        "03-14 10:15:00",
        "03-15 10:20:00",
    ]


@pytest.mark.parametrize("text", ["", "yesterday", "10", "25:99:00"])
def test_what_is_no_time_is_refused(text):
    with pytest.raises(UsageError, match="is no time; write it as the log does"):
        span(text, None)


def roots(lines, since, until):
    chosen = span(since, until, now=NOW)
    analysis = run([text_source(lines, "a.log")], CATALOGUE, accepts=chosen.accepts)
    return [incident.root.message for incident in analysis.incidents.incidents], analysis, chosen


def test_failures_outside_are_not_seen_but_what_the_log_tells_of_the_deployment_is():
    early = [line.replace("10:20:30", "08:00:00") for line in crash_logs.startup_crash("ValueError: early")]
    late = crash_logs.startup_crash("ValueError: late")
    found, analysis, _ = roots([*early, *late[1:]], "03-14 09:00:00", None)

    assert found == ["late"]
    assert analysis.facts["vllm_version"].line == 1
    assert roots([*early, *late], None, "03-14 09:00:00")[0] == ["early"]
    assert roots([*early, *late], "03-14 08:00:00", "03-14 10:20:30")[0] == ["early", "late"]
    assert roots([*early, *late], "03-14 11:00:00", None)[0] == []


def test_lines_without_a_time_have_that_of_the_line_before():
    bare = [
        "Traceback (most recent call last):",
        '  File "/srv/app/a.py", line 3, in main',
        "    load()",
        "ValueError: bare",
    ]
    told = crash_logs.prefixed("", 0, "INFO", "a.py:1", ["hello"], time="03-14 10:00:00")

    assert roots([*told, *bare], "03-14 09:00:00", None)[0] == ["bare"]
    assert roots([*told, *bare], "03-14 10:00:01", None)[0] == []


def test_a_log_without_times_is_told_of():
    bare = [
        "Traceback (most recent call last):",
        '  File "/srv/app/a.py", line 3, in main',
        "    load()",
        "ValueError: bare",
    ]
    found, _, chosen = roots(bare, "03-14 09:00:00", None)

    assert found == []
    assert chosen.notes[1:] == ["a.log was left out: it states no times."]
    found, _, chosen = roots(bare, None, "03-14 09:00:00")
    assert found == ["bare"]
    assert chosen.notes[1:] == ["a.log was taken whole: it states no times."]


def test_the_clock_of_this_test_is_not_utc():
    assert os.environ["TZ"] == "CET-1"
    assert time.localtime(NOW).tm_hour == 11
