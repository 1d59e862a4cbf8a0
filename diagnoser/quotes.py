"""Reads the error that a wrapper quotes: a message alone, a `repr`, or `Type: message`.

    Worker failed with error 'page table is empty', please check the stack trace above for the root cause
    Engine loop is not running. Inspect the stacktrace to find the original error: KeyError('blocks').

vLLM's wrappers carry `str(exc)` without the type; V0's carry `repr(exc)`; Ray's and torch's carry `Type: text`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from diagnoser.fingerprints import fingerprint
from diagnoser.lazy import lazy
from diagnoser.model import ExceptionInfo, Failure, Process, Rule
from diagnoser.parsers.lines import is_exception_line
from diagnoser.roles import Case

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


def quotations(cases: Sequence[Case], rules: Mapping[str, Rule], run_of: Callable[[int], int]) -> list[Failure]:
    """Failures that are known only from what a wrapper of the same run quotes; `run_of` tells the run of an order."""
    texts: dict[int, list[str]] = {}
    for case in cases:
        if case.failure.message:
            squeezed = " ".join(case.failure.message.split())
            texts.setdefault(run_of(case.failure.order), []).append(squeezed)
    result: list[Failure] = []
    seen: set[tuple[int, str]] = set()
    for case in cases:
        run = run_of(case.failure.order)
        for inner, where in _inner_texts(case, rules):
            info = quoted_exception(inner)
            if info is None or (run, inner) in seen or _is_known(info, texts.get(run, ()), case.failure):
                continue
            seen.add((run, inner))
            result.append(_quotation(case.failure, info, where))
    return result


def _inner_texts(case: Case, rules: Mapping[str, Rule]) -> Iterable[tuple[str, int | None]]:
    """What wrappers quote, and which exception of the case does; not the rest of their own record, which is matched as
    it stands."""
    for match in case.matches:
        if match.role == "wrapper" and rules[match.rule].points_to != "same-record":
            yield from ((text, match.exception) for name, text in match.captures if name.startswith("inner"))


def _is_known(info: ExceptionInfo, texts: Sequence[str], wrapper: Failure) -> bool:
    """True when the quoted error is one of the failures whose squeezed messages are `texts`, or empty."""
    squeezed = " ".join(info.message.split())
    if not squeezed:
        return True
    own = " ".join(wrapper.message.split())
    return any(text != own and (squeezed in text or (len(text) > 12 and text in squeezed)) for text in texts)


def _quotation(wrapper: Failure, info: ExceptionInfo, where: int | None) -> Failure:
    """The failure that is known only from what the wrapper quotes; it stands where the wrapper's own exception does."""
    own = wrapper.exceptions[where] if where is not None else None
    line = own.line if own is not None and own.line else wrapper.line
    placed = info._replace(line=line, end_line=max(line, own.end_line if own is not None else wrapper.end_line))
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
