"""Line numbers of `grep -n`, with the file's name where several were searched: `14633:text`, `a.log:14633:text`."""

from __future__ import annotations

import re

from diagnoser.envelopes._base import WORD, Envelope, Peeling


def peel_grep(match: re.Match[str], peeling: Peeling) -> bool | None:
    """Read the file's name: lines of two files are two writers'."""
    file = match.group(2) or match.group(3)
    if file:
        peeling.container = file
    peeling.text = peeling.text[match.end() :]
    return None


_FILE = r"[\w./-]{1,200}\.(?:log|txt|out|err)"

ENVELOPE = Envelope(
    name="grep",
    kind="collector",
    order=60,
    heads=WORD + "./",
    pattern=(
        rf"(?P<key>)(?!\d{{4}}-\d\d-\d\d|\d\d:\d\d:)(?:({_FILE}):(?:\d{{1,9}}:)?|({_FILE})-\d{{1,9}}-|\d{{1,9}}[:-])"
    ),
    peel=peel_grep,
    confirm=True,
    samples=(
        "14633:ERROR 03-14 10:20:30 [core.py:842] boom",
        "a.log:14633:Traceback (most recent call last):",
        "a.log-14634-  File \"x.py\", line 1, in f",
    ),
)
