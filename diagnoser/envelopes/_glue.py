"""Takes apart two writers' texts that met on one line because the first wrote no line end.

A progress bar or a library's last words are followed at once by another process's record. Inside a logger's own
record nothing is taken apart: there the text may quote a log line, a request's prompt for example.
"""

from __future__ import annotations

import re
from functools import cache

from diagnoser.envelopes.vllm import CUSTOM, PROCESS, RECORD
from diagnoser.precompiled import compile_pattern

_REACH = 65536
"""Characters of a line in which a second text is looked for."""
_SHORTEST_HEAD = 24
"""Length of `INFO 03-14 10:20:30 a:1] `, the shortest prefix of a record."""


def split_glued(text: str) -> tuple[str, str] | None:
    """The text and the record that follows it on the same line; None when there is but one text."""
    if ".py:" not in text and " pid=" not in text:
        return None
    found = _glued().search(text, 1, _REACH)
    if found is None or any(text.count(quote, 0, found.start()) % 2 for quote in "'\"`"):
        return None
    return text[: found.start()], text[found.start() :]


def split_collapsed(text: str, body: str) -> list[str] | None:
    """The records of a log whose line ends a web form turned into blanks; None when the line is one record.

    The proof is that the line's own prefix, with its time and place, comes again in its body.
    """
    head = text[: len(text) - len(body)]
    if len(head) < _SHORTEST_HEAD or head not in body or not _record().search(head):
        return None
    starts = [found.start() for found in _record_and_writer().finditer(text)]
    ends = [*starts[1:], len(text)]
    parts = [text[start:end] for start, end in zip(starts, ends, strict=True)]
    return [*(part.rstrip(" ") for part in parts[:-1]), parts[-1]]


@cache
def _record() -> re.Pattern[str]:
    return compile_pattern(RECORD)


@cache
def _record_and_writer() -> re.Pattern[str]:
    return compile_pattern(rf"(?:{PROCESS} ){{0,12}}(?:{CUSTOM})?{RECORD}")


@cache
def _glued() -> re.Pattern[str]:
    # A bracket, a blank or an open quotation mark before it would make it a quoted log line.
    return compile_pattern(
        rf"(?<=[^\s'\"`(\[{{=\\,:])"
        rf"(?:(?:{PROCESS} ){{1,12}}(?:{RECORD}|(?=Traceback \(most recent))|(?<![A-Z_]){RECORD})"
    )
