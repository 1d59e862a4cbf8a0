"""Xinference's records: `time logger pid LEVEL [address=…, pid=…] text`."""

from __future__ import annotations

import re

from diagnoser.envelopes._base import DIGITS, Envelope, Peeling, level_name
from diagnoser.model import Process


def peel_xinference(match: re.Match[str], peeling: Peeling) -> bool | None:
    """Read time, logger, level, and the pid of the actor's process, or else that of the logging one."""
    time, logger, pid, level, address, actor_pid = match.groups()
    peeling.time, peeling.site, peeling.level = time, logger, level_name(level)
    peeling.speak(Process(pid=int(actor_pid or pid), host=address))
    peeling.prefixed = peeling.done = True
    peeling.text = peeling.text[match.end() :]
    return None


ENVELOPE = Envelope(
    name="xinference",
    kind="record",
    order=20,
    heads=DIGITS,
    pattern=(
        r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}) ([a-z_]\w{0,60}(?:\.\w{1,60}){1,8}) (\d{1,10}) "
        r"(DEBUG|INFO|WARNING|ERROR|CRITICAL) {1,6}"
        r"(?:\[address=([^\s,\]]{1,80}), pid=(\d{1,10})\] )?"
    ),
    peel=peel_xinference,
    samples=(
        "2025-03-14 10:20:30,123 pkg.mod 1 ERROR [address=192.0.2.1:1, pid=9] boom",
        "2025-03-14 10:20:30,123 xinference.core.worker 77 WARNING  text",
    ),
)
