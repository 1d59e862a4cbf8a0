"""A bare time before a line: what RunPod, `kubectl logs --timestamps`, `ts` and many exports add."""

from __future__ import annotations

import re

from diagnoser.envelopes._base import DIGITS, Envelope, Peeling


def peel_timestamp(match: re.Match[str], peeling: Peeling) -> bool | None:
    """Read the time."""
    peeling.time = match.group(1) or match.group(2) or match.group(3)
    peeling.text = peeling.text[match.end() :]
    return None


_DAY = r"\d{4}[-/]\d\d[-/]\d\d"
_CLOCK = r"\d\d:\d\d:\d\d(?:[.,]\d{1,12})?"
_ZONE = r"(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?"

ENVELOPE = Envelope(
    name="timestamp",
    kind="collector",
    order=90,
    heads=DIGITS + "[-",
    needle=":",
    pattern=(
        rf"(?:- )?({_DAY}[T ]{_CLOCK}{_ZONE})(?:  ?>>|  ?\||:)?(?: |\t|$)"
        rf"|\[({_DAY}[T ]{_CLOCK}{_ZONE})\](?: |$)"
        rf"|\[(\d\d:\d\d:\d\d)\](?: |$)"
    ),
    peel=peel_timestamp,
    samples=(
        "2025-03-14T10:20:30.216+08:00 Traceback (most recent call last):",
        "- 2025-03-14T10:20:30.186+00:00 boom",
        "2025-03-14 10:20:30.053 | boom",
        "2025-03-14 10:20:30.236  >> boom",
        "[2025-03-14T10:20:30Z] boom",
        "[10:20:30] boom",
        "2025-03-14T10:20:30.123456789Z   File \"x.py\", line 1, in f",
    ),
)
