"""Programs that start vLLM and label what it prints: `time [Info] (Process) text`, `vLLM STDOUT: text`."""

from __future__ import annotations

import re

from diagnoser.envelopes._base import DIGITS, Envelope, Peeling


def peel_process_log(match: re.Match[str], peeling: Peeling) -> bool | None:
    """Read the time; level and name are the starting program's."""
    peeling.time = match.group(1) or peeling.time
    peeling.text = peeling.text[match.end() :]
    return None


ENVELOPE = Envelope(
    name="process-log",
    kind="collector",
    order=20,
    heads=DIGITS + "vV",
    pattern=(
        r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d{1,6})?) "
        r"\[(?:Info|Error|Warn|Warning|Debug)\] \([A-Za-z]\w{0,30}\)(?: |$)"
        r"|(?:vLLM|vllm|VLLM) (?:STDOUT|STDERR|stdout|stderr):(?: |$)"
    ),
    peel=peel_process_log,
    samples=(
        "2025-03-14 10:20:30.604 [Info] (Process) Traceback (most recent call last):",
        "vLLM STDOUT: ERROR 03-14 10:20:30 [core.py:842] boom",
    ),
)
