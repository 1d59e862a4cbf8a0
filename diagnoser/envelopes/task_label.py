"""Task numbers of parallel launchers: `srun --label` (`3: text`), Open MPI (`[1,3]<stderr>:text`)."""

from __future__ import annotations

import re

from diagnoser.envelopes._base import DIGITS, Envelope, Peeling


def peel_task_label(match: re.Match[str], peeling: Peeling) -> bool | None:
    """Read the task's number, which tells two writers apart."""
    peeling.container = f"task {match.group(2) or match.group(3)}"
    peeling.text = peeling.text[match.end() :]
    return None


ENVELOPE = Envelope(
    name="task-label",
    kind="collector",
    order=70,
    heads=" " + DIGITS + "[",
    needle=":",
    pattern=(
        r"(?P<key>)(?:\[\d{1,6},(\d{1,6})\](?:<std(?:out|err)>)?:(?: (?=(?:  ){0,8}(?:\S|$)))?|"
        r" {0,5}(\d{1,6}):(?: |$))"
    ),
    peel=peel_task_label,
    confirm=True,
    samples=(
        "3: Traceback (most recent call last):",
        " 3: (EngineCore pid=43) ERROR 03-14 10:20:30 [core.py:842] boom",
        "[1,3]<stderr>:Traceback (most recent call last):",
    ),
)
