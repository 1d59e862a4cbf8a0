"""Numbers in brackets before every line: launchers that pass their workers' output on (`[0] text`, `[1] [0] text`)."""

from __future__ import annotations

import re

from diagnoser.envelopes._base import HEADER_OR_FOREIGN, Envelope, Peeling


def peel_numbered_label(match: re.Match[str], peeling: Peeling) -> bool | None:
    """Read the numbers, which tell two writers apart."""
    peeling.container = f"task {match.group('key').strip()}"
    peeling.text = peeling.text[match.end() :]
    return None


ENVELOPE = Envelope(
    name="numbered-label",
    kind="collector",
    order=66,
    heads="[",
    needle="] ",
    # A shell reports its jobs as `[1] 4242`, so the label counts only once a known text has followed it.
    pattern=r"(?P<key>(?:\[\d{1,5}\] ){1,3})",
    peel=peel_numbered_label,
    confirm=True,
    shown_by=HEADER_OR_FOREIGN,
    samples=(
        "[0] Traceback (most recent call last):",
        '[1] [0]   File "/opt/venv/lib/python3.12/site-packages/pkg/a.py", line 3, in load',
    ),
)
