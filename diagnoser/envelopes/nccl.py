"""NCCL's lines, written from C into the process's standard output: `host:pid:tid [gpu] NCCL WARN text`."""

from __future__ import annotations

import re

from diagnoser.envelopes._base import WORD, Envelope, Peeling, level_name
from diagnoser.model import Process


def peel_nccl(match: re.Match[str], peeling: Peeling) -> bool | None:
    """Read host, pid, level and site; `NCCL WARN` stays in the text, for it says who speaks."""
    time, host, pid, site, level = match.groups()
    peeling.speak(Process(pid=int(pid), host=host))
    peeling.time = time or peeling.time
    peeling.site = site
    peeling.level = level_name(level) or "INFO"
    peeling.prefixed = peeling.done = True
    peeling.text = peeling.text[match.start(5) - len("NCCL ") :]
    return None


ENVELOPE = Envelope(
    name="nccl",
    kind="record",
    order=20,
    heads=WORD + "[",
    needle=" NCCL ",
    pattern=(
        r"(?:\[?(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?)\]? )?"
        r"([\w.-]{1,253}):(\d{1,10}):\d{1,10} \[-?\d{1,3}\] "
        r"(?:([\w./-]{1,200}:\d{1,6}) )?NCCL (WARN|INFO|TRACE|ERROR|CALL|ABORT|VERSION)\b"
    ),
    peel=peel_nccl,
    samples=(
        "node-a:77:78 [0] NCCL WARN Cuda failure 'out of memory'",
        "node-a:77:77 [3] NCCL INFO Bootstrap : Using eth0:192.0.2.7<0>",
        "[2025-03-14 10:20:30] node-a:77:78 [0] transport/net_ib.cc:1234 NCCL WARN NET/IB : Got completion from peer",
        "node-a:77:77 [0] init.cc:943 NCCL WARN Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 53000",
    ),
)
