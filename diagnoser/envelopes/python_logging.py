"""Records of Python's `logging` in the formats that people configure, and of Rust's `tracing`, which look alike.

A level word is what makes a record; a logger's name is taken off only where it stands apart from the message.
"""

from __future__ import annotations

import re

from diagnoser.envelopes._base import DIGITS, Envelope, Peeling, level_name

_TIME = r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?: ?(?:Z|[+-]\d\d:?\d\d))?"
_ASCTIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d{3})?"
_VLLM_TIME = r"(?:\d{4}-)?\d\d-\d\d \d\d:\d\d:"
_LEVEL = r"(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL|FATAL)"
_LOGGER = r"[A-Za-z_][\w./-]{0,100}(?::\w{1,60}){0,2}"


def peel_python_logging(match: re.Match[str], peeling: Peeling) -> bool | None:
    """Read time, level and logger."""
    groups = match.groupdict()
    # The regular expression names the same part of its alternatives a_time, b_time, …
    for key, value in groups.items():
        if value is None:
            continue
        part = key[2:]
        if part == "time":
            peeling.time = value
        elif part == "level":
            peeling.level = level_name(value)
        else:
            peeling.site = value
    peeling.prefixed = peeling.done = True
    peeling.text = peeling.text[match.end() :]
    return None


_DASHED = (
    rf"(?P<a_time>{_TIME}) - (?:(?P<a_level>{_LEVEL}) - (?:(?P<a_site>{_LOGGER}) - )?|"
    rf"(?P<b_site>{_LOGGER}) - (?P<b_level>{_LEVEL}) - )"
)
_SPACED = (
    rf"(?:(?P<c_time>{_TIME}) {{1,4}}(?:\[(?P<c_level>{_LEVEL})\]|(?P<j_level>{_LEVEL})) {{1,6}}(?!{_VLLM_TIME})|"
    # With a colon only after asctime: after a collector's time it is the text that begins with a level.
    rf"(?P<k_time>{_ASCTIME}) (?P<k_level>{_LEVEL}): {{1,6}})"
    r"(?:\[(?P<c_site>[A-Za-z_][\w./:-]{1,100})\] |"
    r"(?P<d_site>(?![\w.]{1,200}(?:Error|Exception|Warning|Exit|Interrupt)\b)"
    r"[a-z_]\w{0,60}(?:(?:\.|::)\w{1,60}){1,8}): )?"
)
_BRACKETED = (
    rf"\[(?P<e_time>{_TIME})\] ?(?:\[\d{{1,10}}\] )?(?:(?P<e_site>[a-z_][\w.]{{1,150}}): )?\[(?P<e_level>{_LEVEL})\] "
    rf"(?:\[(?P<f_site>[\w./]{{1,100}}:\d{{1,6}}(?::\w{{1,80}})?)\] )?"
    rf"|\[(?P<g_time>{_ASCTIME})\] (?P<g_level>{_LEVEL})(?: in (?P<g_site>[\w.]{{1,100}}))?: {{1,8}}"
)
_DEFAULT = r"(?P<h_level>DEBUG|INFO|WARNING|ERROR|CRITICAL):(?P<h_site>[A-Za-z_][\w.]{0,150}):"
_LEVEL_FIRST = rf"(?P<i_level>{_LEVEL}) (?P<i_time>{_TIME}) (?:\[(?P<i_site>[\w./]{{1,100}}:\d{{1,6}})\] )?"

ENVELOPE = Envelope(
    name="python-logging",
    kind="record",
    order=40,
    heads=DIGITS + "[DIWECTF",
    pattern="|".join((_DASHED, _SPACED, _BRACKETED, _DEFAULT, _LEVEL_FIRST)),
    peel=peel_python_logging,
    samples=(
        "2025-03-14 10:20:30,123 - pkg.mod - ERROR - boom",
        "2025-03-14 10:20:30,123 - INFO - autotuner.py:256 - tuning",
        "2025-03-14 10:20:30,123 ERROR [pkg.mod] boom",
        "2025-03-14 10:20:30,123 ERROR boom",
        "2025-03-14 10:20:30 ERROR: boom",
        "2025-03-14T10:20:30.123456Z  WARN pkg_runtime::component: boom",
        "[2025-03-14 10:20:30,123] [INFO] [real_accelerator.py:110:get_accelerator] ready",
        "[2025-03-14 10:20:30,123] torch.distributed.elastic.multiprocessing.api: [ERROR] failed (exitcode: 1)",
        "[2025-03-14 10:20:30 +0000] [77] [ERROR] Exception in worker process",
        "[2025-03-14 10:20:30,123] ERROR in app: boom",
        "ERROR:pkg.mod:boom",
        "ERROR 2025-03-14 10:20:30,123 boom",
    ),
)
