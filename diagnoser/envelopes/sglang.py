"""SGLang's records: the ranks of the writing scheduler stand beside the time, `[2025-03-14 10:20:30 DP0 TP2] text`."""

from __future__ import annotations

import re

from diagnoser.envelopes._base import Envelope, Peeling
from diagnoser.processes import parse_process_name


def peel_sglang(match: re.Match[str], peeling: Peeling) -> bool | None:
    """Read time and ranks."""
    peeling.time = match.group(1)
    peeling.speak(parse_process_name(match.group(2)))
    peeling.prefixed = peeling.done = True
    peeling.text = peeling.text[match.end() :]
    return None


ENVELOPE = Envelope(
    name="sglang",
    kind="record",
    order=20,
    heads="[",
    needle="] ",
    pattern=(
        r"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d{1,6})?) "
        r"((?:(?:ATTN_|MOE_)?(?:DP|TP|PP|EP|CP)\d{1,5} ?){1,6})(?<! )\](?: |$)"
    ),
    peel=peel_sglang,
    samples=(
        "[2025-03-14 10:20:30 TP2] Scheduler hit an exception: Traceback (most recent call last):",
        "[2025-03-14 10:20:30 DP1 TP0 EP1] Capture cuda graph begin.",
    ),
)
