"""Lines of a block, and what an exception line looks like."""

import re
from collections.abc import Sequence

from diagnoser.lazy import lazy
from diagnoser.records import NamedTuple

HEADER = "Traceback (most recent call last)"
CAUSE_SENTENCE = "The above exception was the direct cause of the following exception"
CONTEXT_SENTENCE = "During handling of the above exception, another exception occurred"
MAX_CHAIN = 64
"""Exceptions kept of one block; the oldest and the newest halves stay when there are more."""
MAX_MESSAGE = 64 * 1024
"""Characters kept of one message."""

_TYPE = r"(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*"
EXCEPTION_LINE = lazy(rf"^(?P<type>{_TYPE}(?:\([\w.]+\))?)(?:: ?(?P<message>.*))?$", re.DOTALL)
_ERROR_LIKE = lazy(
    r"(?:Error|Exception|Warning|Exit|Interrupt|Iteration|Group|Failed|Failure|Timeout|Violation|Fault|Dead|Died|Cancelled|Stop\w{0,40}|Unavailable)$"
)
_WORDS = frozenset(
    {
        "Error",
        "Warning",
        "Failed",
        "Failure",
        "Timeout",
        "Fault",
        "Exit",
        "Group",
        "Dead",
        "Died",
        "Cancelled",
        "Unavailable",
        "Stop",
        "Stopped",
        "Stopping",
    }
)
"""Words that end type names and also begin sentences."""


class Line(NamedTuple):
    """One body of a block and where it stands."""

    body: str
    number: int


def is_exception_line(body: str) -> bool:
    """True when the line, outside any block, reads `SomeError` or `pkg.SomeError: text`."""
    found = EXCEPTION_LINE.match(body)
    if not found:
        return False
    name = found["type"].split("(", 1)[0].rsplit(".", 1)[-1]
    return bool(_ERROR_LIKE.search(name)) and name[:1].isupper() and not name.endswith("Warning") and name not in _WORDS


def exception_line(lines: Sequence[Line], at: int, stop: int) -> tuple[str | None, list[str]]:
    """Type and message lines of the exception that ends a traceback."""
    body = lines[at].body.strip(" |") if lines[at].body.lstrip().startswith("|") else lines[at].body.strip()
    found = EXCEPTION_LINE.match(body)
    rest = [lines[index].body for index in range(at + 1, stop)]
    if not found or not type_like(found["type"], found["message"]):
        return None, [body, *rest]
    first = found["message"] or ""
    while rest and not rest[-1].strip():
        rest.pop()
    return found["type"], [first, *rest]


def type_like(name: str, message: str | None) -> bool:
    """True when the word that ends a traceback reads like an exception's name."""
    short = name.split("(", 1)[0].rsplit(".", 1)[-1]
    if _ERROR_LIKE.search(short):
        return True
    return "." in name or (short[:1].isupper() and (message is None or bool(message))) or short[:1] == "_"
