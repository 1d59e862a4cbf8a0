"""uvicorn's own records: the level, a colon, padded to ten columns."""

from __future__ import annotations

import re

from diagnoser.envelopes._base import LEVELS, Envelope, Peeling


def peel_uvicorn(match: re.Match[str], peeling: Peeling) -> bool | None:
    """Read the level."""
    peeling.level = LEVELS[match.group(1)]
    peeling.prefixed = peeling.done = True
    peeling.text = peeling.text[match.end() :]
    return None


ENVELOPE = Envelope(
    name="uvicorn",
    kind="record",
    order=30,
    heads="DIWECT",
    pattern=r"(?=.{10})(TRACE|DEBUG|INFO|WARNING|ERROR|CRITICAL): {1,6}(?<=^.{10})",
    peel=peel_uvicorn,
    samples=(
        "ERROR:    Exception in ASGI application",
        'INFO:     192.0.2.1:51234 - "POST /v1/completions HTTP/1.1" 500 Internal Server Error',
        "WARNING:  Invalid HTTP request received.",
    ),
)
