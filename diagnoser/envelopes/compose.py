"""`docker compose logs`: the container's name, padded, and a bar."""

from __future__ import annotations

import re

from diagnoser.envelopes._base import WORD, Envelope, Peeling


def peel_compose(match: re.Match[str], peeling: Peeling) -> bool | None:
    """Read the container."""
    peeling.container = match.group("key").strip("[]")
    peeling.text = peeling.text[match.end() :]
    return None


ENVELOPE = Envelope(
    name="compose",
    kind="collector",
    order=60,
    heads=WORD + "[",
    needle="|",
    pattern=r"(?P<key>[A-Za-z0-9][\w.-]{0,100}|\[[\w.-]{1,100}\]) {1,40}\|(?: |$)",
    peel=peel_compose,
    confirm=True,
    samples=(
        "vllm-1  | ERROR 03-14 10:20:30 [core.py:842] boom",
        "[llm]        | ERROR 03-14 10:20:30 [core.py:842] boom",
    ),
)
