"""transformers' records: `[ERROR|modeling_utils.py:123] 2025-03-14 10:20:30,123 >> text`."""

from __future__ import annotations

import re

from diagnoser.envelopes._base import Envelope, Peeling, level_name


def peel_huggingface(match: re.Match[str], peeling: Peeling) -> bool | None:
    """Read level, place and time."""
    level, site, time = match.groups()
    peeling.level, peeling.site, peeling.time = level_name(level), site, time
    peeling.prefixed = peeling.done = True
    peeling.text = peeling.text[match.end() :]
    return None


ENVELOPE = Envelope(
    name="huggingface",
    kind="record",
    order=20,
    heads="[",
    needle="|",
    pattern=(
        r"\[(DEBUG|INFO|WARNING|ERROR|CRITICAL)\|([\w./-]{1,120}:\d{1,6})\] (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}) >> "
    ),
    peel=peel_huggingface,
    samples=("[ERROR|modeling_utils.py:123] 2025-03-14 10:20:30,123 >> boom",),
)
