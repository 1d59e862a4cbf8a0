"""loguru's records: `time | LEVEL | module:function:line - text`."""

from __future__ import annotations

import re

from diagnoser.envelopes._base import DIGITS, Envelope, Peeling, level_name


def peel_loguru(match: re.Match[str], peeling: Peeling) -> bool | None:
    """Read time, level and place."""
    time, level, place = match.groups()
    peeling.time, peeling.level, peeling.site = time, level_name(level), place
    peeling.prefixed = peeling.done = True
    peeling.text = peeling.text[match.end() :]
    return None


ENVELOPE = Envelope(
    name="loguru",
    kind="record",
    order=20,
    heads=DIGITS,
    needle="|",
    pattern=(
        r"(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d{1,6})?) ?\| ?"
        r"(TRACE|DEBUG|INFO|SUCCESS|WARNING|ERROR|CRITICAL) {0,6}\| ?"
        r"([\w.<>-]{1,150}:[\w.<>]{1,100}:\d{1,6}) - "
    ),
    peel=peel_loguru,
    samples=("2025-03-14 10:20:30.053 | ERROR    | pkg.mod:run:12 - boom",),
)
