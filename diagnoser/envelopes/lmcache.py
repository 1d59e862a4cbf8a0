"""LMCache's records: `[time] LMCache ERROR: text (file.py:12:module)`; the place at the end goes into the site."""

from __future__ import annotations

import re

from diagnoser.envelopes._base import Envelope, Peeling, level_name
from diagnoser.lazy import lazy

_PLACE = lazy(r" \(([\w.-]{1,100}\.py:\d{1,6})(?::[\w.]{1,150})?\)\Z")


def peel_lmcache(match: re.Match[str], peeling: Peeling) -> bool | None:
    """Read time, level and place."""
    time, level = match.groups()
    peeling.time, peeling.level = time, level_name(level)
    peeling.text = peeling.text[match.end() :]
    if place := _PLACE.search(peeling.text, max(0, len(peeling.text) - 300)):
        peeling.site = place.group(1)
        peeling.text = peeling.text[: place.start()]
    peeling.prefixed = peeling.done = True
    return None


ENVELOPE = Envelope(
    name="lmcache",
    kind="record",
    order=20,
    heads="[",
    needle="LMCache ",
    pattern=r"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{1,6})\] LMCache (DEBUG|INFO|WARNING|ERROR|CRITICAL): ",
    peel=peel_lmcache,
    samples=("[2025-03-14 10:20:30,123] LMCache ERROR: boom (cache_engine.py:12:lmcache.v1.cache_engine)",),
)
