"""Labels of parallel launchers: `srun --label` (`3: text`), Open MPI (`[1,3]<stderr>:text`), pdsh (`node01: text`)."""

from __future__ import annotations

import re

from diagnoser.envelopes._base import DIGITS, LOWER, Envelope, Peeling


def peel_task_label(match: re.Match[str], peeling: Peeling) -> bool | None:
    """Read the task's number, which tells two writers apart, or the host."""
    mpi_task, task, host = match.groups()[1:]
    if host:
        peeling.host = host
    else:
        peeling.container = f"task {mpi_task or task}"
    peeling.text = peeling.text[match.end() :]
    return None


ENVELOPE = Envelope(
    name="task-label",
    kind="collector",
    order=70,
    heads=" " + DIGITS + LOWER + "[",
    needle=":",
    pattern=(
        r"(?P<key>)(?:\[\d{1,6},(\d{1,6})\](?:<std(?:out|err)>)?:(?: (?=(?:  ){0,8}(?:\S|$)))?|"
        r" {0,5}(\d{1,6}):(?: |$)|([a-z][a-z0-9-]{0,60}\d[a-z0-9.-]{0,100}):(?: |$))"
    ),
    peel=peel_task_label,
    confirm=True,
    samples=(
        "3: Traceback (most recent call last):",
        " 3: (EngineCore pid=43) ERROR 03-14 10:20:30 [core.py:842] boom",
        "[1,3]<stderr>:Traceback (most recent call last):",
        "node01: Traceback (most recent call last):",
    ),
)
