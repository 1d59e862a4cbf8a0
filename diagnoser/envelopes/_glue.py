"""Takes apart two writers' texts that met on one line because the first wrote no line end.

A progress bar or a library's last words are followed at once by another process's record. Inside a logger's own
record nothing is taken apart: there the text may quote a log line, a request's prompt for example.
"""

from __future__ import annotations

import re
from functools import cache

from diagnoser.envelopes.vllm import PROCESS, RECORD

_START = re.compile(r"[\s\[({<]*(?:DEBUG|INFO|WARNING|ERROR|CRITICAL)\b")
_REACH = 65536


@cache
def _glued() -> re.Pattern[str]:
    return re.compile(rf"(?<=[^\s'\"`(\[{{=\\])(?:(?:{PROCESS} ){{1,12}}(?:{RECORD}|(?=Traceback \(most recent))|(?<!\w){RECORD}|(?<=[a-z]){RECORD})")


def split_glued(text: str) -> list[str]:
    """The texts that stand on this line, the line alone when it is one text."""
    if (".py:" not in text and " pid=" not in text) or _START.match(text):
        return [text]
    found = _glued().search(text, 1, _REACH)
    if found is None or _has_record(text, found.start()):
        return [text]
    return [text[: found.start()], text[found.start() :]]


@cache
def _record() -> re.Pattern[str]:
    return re.compile(RECORD)


def _has_record(text: str, end: int) -> bool:
    """True when the text before is a logger's record itself."""
    return _record().search(text, 0, end) is not None
