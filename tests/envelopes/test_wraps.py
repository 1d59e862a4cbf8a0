"""Logs copied from a terminal window, whose long lines were broken at its edge."""

from __future__ import annotations

import crash_logs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnoser.envelopes import Peeler
from diagnoser.model import RawLine

LONG = crash_logs.prefixed(
    "APIServer",
    10,
    "INFO",
    "api_utils.py:273",
    ["non-default args: {" + ", ".join(f"'key_{n}': {n}" for n in range(60)) + "}"],
)


def broken(lines, width):
    return [line[at : at + width] for line in lines for at in range(0, max(len(line), 1), width)]


def bodies(lines):
    peeler = Peeler()
    records = [record for number, line in enumerate(lines, 1) for record in peeler.feed(RawLine(line, "log", number))]
    return [record.body for record in (*records, *peeler.close())]


@pytest.mark.parametrize("width", [80, 100, 110, 132])
def test_lines_broken_at_the_edge_are_joined_again(width):
    crash = LONG + crash_logs.startup_crash("ValueError: " + "the cache of this model is too small for it, " * 6)
    joined = bodies(broken(crash, width))

    assert joined[-40:] == bodies(crash)[-40:]


@given(st.lists(st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), max_size=140), max_size=30))
def test_no_text_is_lost(lines):
    assert "".join(bodies(LONG + lines)).replace(" ", "").endswith("".join(bodies(lines)).replace(" ", "")[-20:])


def test_a_table_as_wide_as_the_longest_line_breaks_nothing():
    table = ["+" + "-" * 118 + "+", "|" + " 3  GPU  81559MiB " * 6 + " " * 10 + "|"] * 8
    crash = crash_logs.startup_crash("ValueError: small")

    assert bodies(table + crash)[-len(crash) :] == bodies(crash)
