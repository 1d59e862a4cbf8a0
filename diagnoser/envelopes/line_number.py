"""Line numbers that editors and pagers put before every line: `less -N`, `cat -n`, `nl`.

404 (RayWorkerWrapper pid=77) ERROR 03-14 10:20:30 worker_base.py:575] Traceback (most recent call last):
405 (RayWorkerWrapper pid=77) ERROR 03-14 10:20:30 worker_base.py:575]   File "/opt/venv/a.py", line 3, in load
"""

from __future__ import annotations

import re

from diagnoser.envelopes._base import DIGITS, HEADER_OR_FOREIGN, Envelope, Peeling


def peel_line_number(match: re.Match[str], peeling: Peeling) -> bool | None:
    """Take the number off; it says nothing of the writer."""
    peeling.text = peeling.text[match.end() :]
    return None


ENVELOPE = Envelope(
    name="line-number",
    kind="collector",
    order=75,
    heads=" " + DIGITS,
    pattern=r"(?P<key>) {0,7}\d{1,7}[ \t](?=\S| {2,40}\S)",
    peel=peel_line_number,
    confirm=True,
    shown_by=HEADER_OR_FOREIGN,
    samples=(
        "    404 (EngineCore pid=43) ERROR 03-14 10:20:30 [core.py:842] boom",
        "   17\tTraceback (most recent call last):",
        '  405   File "/opt/venv/lib/python3.12/site-packages/pkg/a.py", line 3, in load',
    ),
)
