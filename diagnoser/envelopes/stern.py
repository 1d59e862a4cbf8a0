"""Names of pod and container before a line, as stern and `aws logs tail` print them."""

from __future__ import annotations

import re

from diagnoser.envelopes._base import DIGITS, LOWER, Envelope, Peeling


def peel_stern(match: re.Match[str], peeling: Peeling) -> bool | None:
    """Read pod and container."""
    names = match.group("key").split()
    peeling.pod = names[0]
    if len(names) > 1:
        peeling.container = names[1]
    peeling.text = peeling.text[match.end() :]
    return None


_NAME = r"[a-z0-9][a-z0-9.-]{0,100}"

ENVELOPE = Envelope(
    name="stern",
    kind="collector",
    order=60,
    heads=LOWER + DIGITS,
    needle=" ",
    pattern=(
        rf"(?P<key>(?=[a-z0-9.-]{{0,200}}\d){_NAME}-{_NAME} (?![0-9.]{{1,20}} ){_NAME}|"
        rf"{_NAME}(?:/[\w.-]{{1,100}}){{1,6}})(?: |$)"
    ),
    peel=peel_stern,
    confirm=True,
    repeats=3,
    samples=(
        "vllm-0 vllm ERROR 03-14 10:20:30 [core.py:842] boom",
        "ecs/vllm/0a1b2c (EngineCore pid=43) ERROR 03-14 10:20:30 [core.py:842] boom",
    ),
)
