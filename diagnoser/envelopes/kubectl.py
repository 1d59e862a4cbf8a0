"""`kubectl logs --prefix`: `[pod/name/container] text`; `--timestamps` adds a time, which comes off by itself."""

from __future__ import annotations

import re

from diagnoser.envelopes._base import Envelope, Peeling


def peel_kubectl(match: re.Match[str], peeling: Peeling) -> bool | None:
    """Read pod and container."""
    peeling.pod, peeling.container = match.groups()
    peeling.text = peeling.text[match.end() :]
    return None


ENVELOPE = Envelope(
    name="kubectl",
    kind="collector",
    order=5,
    heads="[",
    needle="/",
    pattern=r"\[pod/([\w.-]{1,253})/([\w.-]{1,63})\](?: |$)",
    peel=peel_kubectl,
    samples=(
        "[pod/vllm-0/vllm] (EngineCore pid=43) ERROR 03-14 10:20:30 [core.py:842] boom",
        "[pod/vllm-0/vllm] 2025-03-14T10:20:30.123456789Z   File \"x.py\", line 1, in f",
    ),
)
