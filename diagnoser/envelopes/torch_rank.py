"""The rank that torch (`[rank1]: `) and torchrun's tee (`[default1]:`) put before a line."""

from __future__ import annotations

import re

from diagnoser.envelopes._base import Envelope, Peeling
from diagnoser.model import Process
from diagnoser.processes import parse_process_name


def peel_rank(match: re.Match[str], peeling: Peeling) -> bool | None:
    """Read the rank; a process id in brackets may stand before it."""
    pid, rank, role = match.groups()
    if pid:
        peeling.speak(Process(pid=int(pid)))
    peeling.speak(parse_process_name(rank or role))
    peeling.prefixed = True
    peeling.text = peeling.text[match.end() :]
    return None


ENVELOPE = Envelope(
    name="torch-rank",
    kind="process",
    order=20,
    heads="[",
    needle="]:",
    # torch's own hook prints a blank after the colon; its loggers and torchrun's tee print none.
    pattern=r"(?:\[(\d{1,10})\] )?\[(?:(rank\d{1,6})\]: ?|((?:default|trainer|worker)\d{1,6})\]:)",
    peel=peel_rank,
    samples=(
        "[rank0]: Traceback (most recent call last):",
        "[rank0]:   File \"x.py\", line 1, in f",
        "[rank1]:[W314 10:20:30.123456 TCPStore.cpp:125] [c10d] recvValue failed",
        "[80746] [rank0]: boom",
        "[default0]:Traceback (most recent call last):",
    ),
)
