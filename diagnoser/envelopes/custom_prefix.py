"""Any text before one of vLLM's records: VLLM_LOGGING_PREFIX without brackets, or a collector nobody has described yet.

Tried last. Quotation marks are excluded: a quoted log line is not a log line.
"""

from __future__ import annotations

import re

from diagnoser.envelopes._base import ANY_HEAD, LAST, Envelope, Peeling
from diagnoser.envelopes.vllm import CUSTOM, PROCESS, RECORD


def peel_custom_prefix(match: re.Match[str], peeling: Peeling) -> bool | None:
    """Take the text off; the record behind it says the rest."""
    if " pid=" in match.group():
        return False
    peeling.text = peeling.text[match.end() :]
    return None


ENVELOPE = Envelope(
    name="custom-prefix",
    kind="collector",
    order=LAST,
    heads=ANY_HEAD,
    needle=".py:",
    pattern=rf"[^'\"`]{{1,80}}?[ |>](?=(?:{PROCESS} ){{0,12}}(?:{CUSTOM})?{RECORD})",
    peel=peel_custom_prefix,
    samples=(
        "blue/replica 3 INFO 03-14 10:20:30 [core.py:842] ready",
        "prod> (EngineCore pid=43) ERROR 03-14 10:20:30 [core.py:842] boom",
    ),
)
