"""What can be said of a pattern without running it: whether it is one, what it can match in full, and its groups.

Rule patterns are written in the common part of the stdlib's `re` and of the `regex` module.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

_GROUP = re.compile(r"((?<!\\)(?:\\\\)*)\(\?P<(\w+)>")
GROUP_AGAIN = "__again"
"""Marks the repeated names of groups in the stdlib's parse tree."""
_NOT_PORTABLE = re.compile(r"(?<!\\)(?:\\\\)*\{(?!\d*,?\d*\})")


def trouble(pattern: str) -> str | None:
    """Why a pattern can't be used, or None."""
    try:
        tree(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        return f"not a regular expression: {error}"
    brace = _outside_classes(pattern)
    if brace is not None:
        return f"write \\{{ for a literal brace (at {brace}): a bare one means approximate matching to the regex module"
    return None


@lru_cache(maxsize=256)
def tree(pattern: str) -> Any:
    """The stdlib's parse tree of a pattern; raises `re.error`."""
    import warnings
    from re import _parser  # type: ignore[attr-defined]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _parser.parse(_distinct_groups(pattern))


def _distinct_groups(pattern: str) -> str:
    """The pattern with repeated group names numbered: only the `regex` module lets alternatives share a name."""
    seen: dict[str, int] = {}

    def numbered(found: re.Match[str]) -> str:
        seen[found[2]] = number = seen.get(found[2], 0) + 1
        return found[0] if number == 1 else f"{found[1]}(?P<{found[2]}{GROUP_AGAIN}{number}>"

    return _GROUP.sub(numbered, pattern)


def _outside_classes(pattern: str) -> int | None:
    """Where the first bare brace stands that is no repetition; braces inside `[…]` are literals to both modules."""
    blanked = re.sub(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", lambda found: "_" * len(found[0]), pattern, flags=re.DOTALL)
    found = _NOT_PORTABLE.search(blanked)
    return found.end() - 1 if found else None


def alternatives(pattern: str) -> tuple[str, ...] | None:
    """Every text that an `exception` pattern can match in full, as written; None when they are not few.

    An unescaped dot between names is taken for a dot: that is what `zmq.error.ZMQError` means.
    """
    try:
        parsed = tree(pattern)
    except (re.error, RecursionError, OverflowError, ImportError):
        return None
    if parsed.state.flags & re.IGNORECASE:
        return None
    texts = _exact_texts(parsed, dots=True)
    return tuple(dict.fromkeys(texts)) if texts is not None else None


def plain(pattern: str) -> tuple[str, ...] | None:
    """The literals that searching for this pattern comes down to, case kept; None when it takes more than that."""
    try:
        parsed = tree(pattern)
    except (re.error, RecursionError, OverflowError, ImportError):
        return None
    if parsed.state.flags & ~re.UNICODE or parsed.state.groupdict:
        return None
    return _exact_texts(parsed, dots=False)


def group_names(pattern: str) -> tuple[str, ...]:
    """Names of the capturing groups."""
    return tuple(dict.fromkeys(name.split(GROUP_AGAIN)[0] for name in tree(pattern).state.groupdict))


def certain_groups(pattern: str) -> frozenset[str]:
    """Names of the groups that take part in every match."""
    parsed = tree(pattern)
    names = {number: name.split(GROUP_AGAIN)[0] for name, number in parsed.state.groupdict.items()}
    return frozenset(_taking_part(parsed, names))


def _taking_part(parsed: Iterable[tuple[Any, Any]], names: dict[int, str]) -> set[str]:
    """The groups that take part whenever this part of a pattern matches."""
    found: set[str] = set()
    for op, value in parsed:
        kind = str(op)
        if kind == "SUBPATTERN":
            found |= _taking_part(value[3], names) | ({names[value[0]]} if value[0] in names else set())
        elif kind == "ATOMIC_GROUP":
            found |= _taking_part(value, names)
        elif kind in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT") and value[0] > 0:
            found |= _taking_part(value[2], names)
        elif kind == "ASSERT":
            found |= _taking_part(value[1], names)
        elif kind == "BRANCH":
            found |= set.intersection(*(_taking_part(branch, names) for branch in value[1]))
    return found


def _exact_texts(parsed: Iterable[tuple[Any, Any]], *, dots: bool) -> tuple[str, ...] | None:
    """All texts that a pattern of literals, groups, alternatives and `?` can match; None for anything else."""
    texts = [""]
    for op, value in parsed:
        name = str(op)
        more: Sequence[str] | None = None
        if name == "LITERAL":
            more = [chr(value)]
        elif name == "ANY" and dots:
            more = ["."]
        elif name == "SUBPATTERN" and not value[1] and not value[2]:
            more = _exact_texts(value[3], dots=dots)
        elif name == "BRANCH":
            branches = [_exact_texts(branch, dots=dots) for branch in value[1]]
            more = None if None in branches else [text for branch in branches for text in branch or ()]
        elif name in ("MAX_REPEAT", "MIN_REPEAT") and dots and (value[0], value[1]) == (0, 1):
            inner = _exact_texts(value[2], dots=dots)
            more = None if inner is None else ["", *inner]
        if more is None or len(texts) * len(more) > 64:
            return None
        texts = [text + end for text in texts for end in more]
    return tuple(texts)
