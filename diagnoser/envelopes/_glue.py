"""Takes apart two writers' texts that met on one line because the first wrote no line end.

A progress bar or a library's last words are followed at once by another process's record. Inside a logger's own
record nothing is taken apart: there the text may quote a log line, a request's prompt for example.
"""

from __future__ import annotations

import re
from functools import cache

from diagnoser.envelopes.vllm import PROCESS, RECORD

_REACH = 65536
"""Characters of a line in which a second text is looked for."""


def split_glued(text: str) -> tuple[str, str] | None:
    """The text and the record that follows it on the same line; None when there is but one text."""
    if ".py:" not in text and " pid=" not in text:
        return None
    found = _glued().search(text, 1, _REACH)
    if found is None or any(text.count(quote, 0, found.start()) % 2 for quote in "'\"`"):
        return None
    return text[: found.start()], text[found.start() :]


@cache
def _glued() -> re.Pattern[str]:
    # A bracket, a blank or an open quotation mark before it would make it a quoted log line.
    return re.compile(
        rf"(?<=[^\s'\"`(\[{{=\\,:])"
        rf"(?:(?:{PROCESS} ){{1,12}}(?:{RECORD}|(?=Traceback \(most recent))|(?<![A-Z_]){RECORD})"
    )
