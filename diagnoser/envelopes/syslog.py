"""syslog and `journalctl`: `Mar 14 10:20:30 host unit[77]: text`, with ISO times too."""

from __future__ import annotations

import re

from diagnoser.envelopes._base import SYSTEM_UNITS, Envelope, Peeling
from diagnoser.processes import parse_process_name


def peel_syslog(match: re.Match[str], peeling: Peeling) -> bool | None:
    """Read time, host and unit.

    The unit's pid is that of the process which opened the stream, not of the writer: it only tells two units apart.
    """
    time, host, unit, pid = match.groups()
    if pid is None and time[0].isdigit() and unit not in SYSTEM_UNITS:
        return False  # many a sentence begins with two words and holds a colon
    peeling.time, peeling.host = time, host
    if unit in SYSTEM_UNITS:
        peeling.speak(parse_process_name(unit))
        peeling.prefixed = True
    else:
        peeling.container = f"{unit}[{pid}]" if pid else unit
    peeling.text = peeling.text[match.end() :]
    return None


ENVELOPE = Envelope(
    name="syslog",
    kind="collector",
    order=20,
    heads="JFMASOND0123456789",
    needle=": ",
    pattern=(
        r"((?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]?\d \d\d:\d\d:\d\d(?:\.\d{1,6})?"
        r"|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)) "
        r"([A-Za-z0-9][\w.-]{0,100}) ([A-Za-z][\w./@:-]{0,80}?)(?:\[(\d{1,10})\])?:(?: |$)"
    ),
    peel=peel_syslog,
    samples=(
        "Mar 14 10:20:30 host-a bash[77]: Traceback (most recent call last):",
        "Mar  4 10:20:30 host-a vllm[77]:   File \"x.py\", line 1, in f",
        "2025-03-14T10:20:30+0100 host-a kernel: Out of memory: Killed process 77 (python3)",
    ),
)
