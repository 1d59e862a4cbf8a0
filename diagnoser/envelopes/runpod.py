"""RunPod's web log: the worker's id and a stream's name without a blank, `abc123[error]text`."""

from __future__ import annotations

import re

from diagnoser.envelopes._base import DIGITS, LOWER, Envelope, Peeling


def peel_runpod(match: re.Match[str], peeling: Peeling) -> bool | None:
    """Read the worker's id; the word in brackets is the stream, not the level."""
    peeling.container = match.group(1)
    peeling.text = peeling.text[match.end() :]
    return None


ENVELOPE = Envelope(
    name="runpod",
    kind="collector",
    order=20,
    heads=LOWER + DIGITS,
    needle="]",
    pattern=r"(?=[a-z]{0,19}\d)([a-z0-9]{6,20})\[(?:error|info|warning|warn|debug)\]",
    peel=peel_runpod,
    samples=("abc123[error]Traceback (most recent call last):",),
)
