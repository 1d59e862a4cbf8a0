"""A label in brackets before every line: a collector's pod, or VLLM_LOGGING_PREFIX, which stands before records only.

The two look alike, so the label is not taken for the writer: raw tracebacks without it come from the same process.
"""

from __future__ import annotations

import re

from diagnoser.envelopes._base import Envelope, Peeling


def peel_bracket_label(match: re.Match[str], peeling: Peeling) -> bool | None:
    """Take the label off."""
    peeling.text = peeling.text[match.end() :]
    return None


ENVELOPE = Envelope(
    name="bracket-label",
    kind="collector",
    order=65,
    heads="[",
    needle="] ",
    pattern=r"(?P<key>\[[A-Za-z][\w./:@-]{0,100}(?: [\w./:@-]{1,60}){0,2}\])(?: |$)",
    peel=peel_bracket_label,
    confirm=True,
    samples=(
        "[vllm-0] (EngineCore pid=43) text",
        "[pod-7f9c decode-0] (EngineCore pid=43) ERROR 03-14 10:20:30 [core.py:842] boom",
    ),
)
