"""`docker compose logs`: the container's name, padded, and a bar."""

from __future__ import annotations

import re

from diagnoser.envelopes._base import WORD, Envelope, Peeling


def peel_compose(match: re.Match[str], peeling: Peeling) -> bool | None:
    """Read the container."""
    peeling.container = (match.group(1) or match.group("key")).strip("[]")
    peeling.text = peeling.text[match.end() :]
    return None


ENVELOPE = Envelope(
    name="compose",
    kind="collector",
    order=60,
    heads=WORD + "[",
    needle="|",
    # The names that compose makes up end in a number and need no confirming.
    pattern=(
        r"(?:([A-Za-z0-9][\w.-]{0,100}[-_.]\d{1,4}(?:@[\w.-]{1,100})?)|"
        r"(?P<key>[A-Za-z0-9][\w.@-]{0,100}|\[[\w.-]{1,100}\])) {1,40}\|(?: |$)"
    ),
    peel=peel_compose,
    confirm=True,
    repeats=3,
    samples=(
        "vllm-1  | ERROR 03-14 10:20:30 [core.py:842] boom",
        "vllm-1  | text",
        "[llm]        | ERROR 03-14 10:20:30 [core.py:842] boom",
    ),
)
