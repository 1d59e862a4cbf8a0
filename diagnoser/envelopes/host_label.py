"""The host before every line, as pdsh, clush and parallel ssh print it: `node01: text`."""

from __future__ import annotations

import re

from diagnoser.envelopes._base import LOWER, Envelope, Peeling


def peel_host_label(match: re.Match[str], peeling: Peeling) -> bool | None:
    """Read the host."""
    peeling.host = match.group("key")
    peeling.text = peeling.text[match.end() :]
    return None


ENVELOPE = Envelope(
    name="host-label",
    kind="collector",
    order=70,
    heads=LOWER,
    needle=": ",
    pattern=r"(?P<key>[a-z][a-z-]{0,60}\d[a-z0-9.-]{0,100}):(?: |$)",
    peel=peel_host_label,
    confirm=True,
    samples=("node01: Traceback (most recent call last):", "gpu-12.example.org: (EngineCore pid=43) text"),
)
