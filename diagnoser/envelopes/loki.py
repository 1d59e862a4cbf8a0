"""Grafana Loki's `logcli`: `time {app="vllm", pod="vllm-0"} text`."""

from __future__ import annotations

import re

from diagnoser.envelopes._base import DIGITS, Envelope, Peeling
from diagnoser.lazy import lazy

_LABEL = lazy(r'(\w{1,60})="([^"]{0,253})"')


def peel_loki(match: re.Match[str], peeling: Peeling) -> bool | None:
    """Read time and labels."""
    peeling.time = match.group(1)
    labels = dict(_LABEL.findall(match.group(2)))
    peeling.pod = labels.get("pod") or labels.get("pod_name") or peeling.pod
    peeling.container = labels.get("container") or labels.get("container_name") or peeling.container
    peeling.host = labels.get("node_name") or labels.get("host") or labels.get("hostname") or peeling.host
    peeling.text = peeling.text[match.end() :]
    return None


ENVELOPE = Envelope(
    name="loki",
    kind="collector",
    order=20,
    heads=DIGITS,
    needle="{",
    pattern=(
        r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)?) "
        r'\{(\w{1,60}="[^"]{0,253}"(?:, ?\w{1,60}="[^"]{0,253}"){0,30})\}(?: |\t|$)'
    ),
    peel=peel_loki,
    samples=('2025-03-14T10:20:30Z {app="vllm", pod="vllm-0"} Traceback (most recent call last):',),
)
