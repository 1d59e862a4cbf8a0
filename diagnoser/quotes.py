"""Reads the error that a wrapper quotes: a message alone, a `repr`, or `Type: message`.

    Worker failed with error 'page table is empty', please check the stack trace above for the root cause
    Engine loop is not running. Inspect the stacktrace to find the original error: KeyError('blocks').

vLLM's wrappers carry `str(exc)` without the type; V0's carry `repr(exc)`; Ray's and torch's carry `Type: text`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from diagnoser.fingerprints import fingerprint
from diagnoser.lazy import lazy
from diagnoser.model import ExceptionInfo, Failure, Process
from diagnoser.parsers.lines import is_exception_line

_REPR = lazy(r"^(?P<type>(?:\w+\.)*[A-Z]\w*)\((?P<arguments>.*)\)[.,]?$", re.DOTALL)
_LITERAL = lazy(r"""^(?P<quote>['"])(?P<text>.*)(?P=quote),?$""", re.DOTALL)


def quoted_exception(text: str) -> ExceptionInfo | None:
    """The exception that the text describes; None when it says nothing."""
    text = text.strip().removesuffix(", please check the stack trace above for the root cause").strip()
    if not text or text in ("None", "''", '""'):
        return None
    found = _REPR.match(text)
    if found and (found["type"].endswith(("Error", "Exception")) or "." in found["type"]):
        literal = _LITERAL.match(found["arguments"].strip())
        return ExceptionInfo(found["type"], _unescape(literal["text"]) if literal else found["arguments"])
    first = text.split("\n", 1)[0]
    if is_exception_line(first):
        name, _, message = text.partition(":")
        return ExceptionInfo(name.strip(), message.strip())
    return ExceptionInfo(None, text)


def _unescape(text: str) -> str:
    return text.replace("\\n", "\n").replace("\\'", "'").replace('\\"', '"')


def is_known(info: ExceptionInfo, texts: Sequence[str], wrapper: Failure) -> bool:
    """True when the quoted error is one of the failures whose squeezed messages are `texts`, or empty."""
    squeezed = " ".join(info.message.split())
    if not squeezed:
        return True
    own = " ".join(wrapper.message.split())
    return any(text != own and (squeezed in text or (len(text) > 12 and text in squeezed)) for text in texts)


def quotation(wrapper: Failure, info: ExceptionInfo) -> Failure:
    """The failure that is known only from what the wrapper quotes."""
    placed = info._replace(line=wrapper.line, end_line=wrapper.line)
    return Failure(
        "exception",
        Process(),
        wrapper.source,
        wrapper.line,
        wrapper.end_line,
        wrapper.order,
        wrapper.time,
        wrapper.level,
        None,
        "",
        (placed,),
        -1,
        fingerprint=fingerprint("exception", info.type, info.message, ()),
        quoted=True,
    )
