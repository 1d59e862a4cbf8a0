"""Times as logs print them, compared across files."""

from __future__ import annotations

import pytest

from diagnoser.clock import seconds_of

MARCH_14 = ((31 + 29 + 13) * 24 + 10) * 3600 + 20 * 60 + 30


@pytest.mark.parametrize(
    "text",
    [
        "03-14 10:20:30",
        "2025-03-14 10:20:30",
        "2025-03-14T10:20:30Z",
        "2025-03-14T12:20:30+02:00",
        "0314 10:20:30",
        "314 10:20:30",
        "20250314 10:20:30",
        "Mar 14 10:20:30",
    ],
)
def test_every_notation_of_one_time_is_the_same_number(text):
    assert seconds_of(text) == MARCH_14


@pytest.mark.parametrize(("text", "fraction"), [("314 10:20:30.123456", 0.123456), ("2025-03-14 10:20:30,5", 0.5)])
def test_fractions_count(text, fraction):
    assert seconds_of(text) == pytest.approx(MARCH_14 + fraction)


@pytest.mark.parametrize("text", ["", "yesterday", "03-14 25:20:30", "13-14 10:20:30", "99 10:20"])
def test_what_is_no_time_is_none(text):
    assert seconds_of(text) is None
