"""Records of a parent program that logs its child's output line by line, each line as a message of its own.

    2026-03-14 10:20:30,123 - __main__ - INFO - (EngineCore_DP0 pid=43) ERROR 03-14 10:20:30 [core.py:842] boom
    2026-03-14 10:20:30,123 - __main__ - INFO -   File "/opt/venv/lib/python3.12/site-packages/pkg/a.py", line 3, in f

Level and logger are the parent's and say nothing about the text, so such a record counts as a collector. A logger is
known for one that passes lines on once a message of its was a record of vLLM or the frame of a traceback: no program
logs those one by one for itself.
"""

from __future__ import annotations

import re

from diagnoser.envelopes._base import DIGITS, FOREIGN, Envelope, Peeling

_TIME = r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"
_VLLM_TIME = r"(?:\d{4}-)?\d\d-\d\d \d\d:\d\d:"
_LEVEL = r"(?:DEBUG|INFO|WARNING|ERROR)"
_LOGGER = r"[A-Za-z_][\w./-]{0,100}"


def peel_forwarded(match: re.Match[str], peeling: Peeling) -> bool | None:
    """Read the time only."""
    peeling.time = match.group("time")
    peeling.text = peeling.text[match.end() :]
    return None


ENVELOPE = Envelope(
    name="forwarded",
    kind="collector",
    # Before python_logging.py, which claims the same lines.
    order=39,
    heads=DIGITS + "DIWE",
    pattern=(
        rf"(?P<time>{_TIME})?"
        rf"(?P<key> - (?:{_LOGGER} - {_LEVEL}|{_LEVEL}(?: - {_LOGGER})?) - (?:\[{_LOGGER}\] )?"
        rf"| (?:\[{_LEVEL}\]|{_LEVEL}:?) (?!{_VLLM_TIME})(?:\[{_LOGGER}\] |{_LOGGER}: )?"
        rf"|{_LEVEL}:{_LOGGER}:)"
    ),
    peel=peel_forwarded,
    confirm=True,
    shown_by=FOREIGN,
    samples=(
        "2026-03-14 10:20:30,123 - __main__ - INFO - ERROR 03-14 10:20:30 [core.py:515] boom",
        "2026-03-14 10:20:30,123 - INFO - (EngineCore_DP0 pid=43) ERROR 03-14 10:20:30 [core.py:842] boom",
        "2026-03-14 10:20:30,123 - INFO - [container] (EngineCore pid=43) INFO 03-14 10:20:30 [core.py:842] boom",
        '2026-03-14 10:20:30,123 INFO [acme.runner]   File "/opt/venv/lib/python3.12/site-packages/a.py", line 3, in f',
        "INFO:acme.runner:(APIServer pid=41) INFO 03-14 10:20:30 [launcher.py:37] Available routes are:",
    ),
)
