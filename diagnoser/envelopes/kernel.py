"""The kernel's ring buffer (`dmesg`, with or without `-T`): out-of-memory kills, segfaults, Xid errors."""

from __future__ import annotations

import re

from diagnoser.envelopes._base import Envelope, Peeling
from diagnoser.processes import parse_process_name


def peel_kernel(match: re.Match[str], peeling: Peeling) -> bool | None:
    """Read the time; the kernel is the writer."""
    peeling.time = (match.group(1) or match.group(2)).strip()
    peeling.speak(parse_process_name("kernel"))
    peeling.prefixed = peeling.done = True
    peeling.text = peeling.text[match.end() :]
    return None


ENVELOPE = Envelope(
    name="kernel",
    kind="record",
    order=20,
    heads="[<",
    pattern=(
        r"(?:<\d{1,3}>)?\[(?:( {0,6}\d{1,8}\.\d{6})|"
        r"((?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} [ \d]?\d \d\d:\d\d:\d\d \d{4}))\](?: |$)"
    ),
    peel=peel_kernel,
    samples=(
        "[12345.678901] Out of memory: Killed process 77 (python3) total-vm:1kB",
        "[Fri Mar 14 10:20:30 2025] NVRM: Xid (PCI:0000:53:00): 79, pid=77, GPU has fallen off the bus.",
    ),
)
