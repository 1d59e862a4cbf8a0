"""What can be said of a pattern without running it.

Rule patterns are written in the common part of the stdlib's `re` and of the `regex` module. Every match of a
pattern must contain certain literals; a text without them need not be searched:

    required(r"(?:Local|Remote) rank \\d+ is gone") == ("local rank ", "remote rank ")   # one of them, lower case

A literal is only reported when it is sound to rely on it; a pattern that is not understood has none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from diagnoser.catalogue.search import normalize

MOST_ALTERNATIVES = 32
"""Literals that one pattern may ask for; beyond it the prefilter would cost more than it saves."""
MOST_DEMANDS = 4
SHORTEST_LITERAL = 3
LARGEST_CLASS = 4
"""Characters of a class such as `[345]` that is taken for alternatives."""

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


class _Found(NamedTuple):
    """What a part of a pattern says of the text it matches."""

    exact: tuple[str, ...] | None
    """All texts it can match, where these are few; None otherwise."""
    clauses: tuple[tuple[str, ...], ...] = ()
    """Of each clause at least one literal is contained."""


_NOTHING = _Found(("",))
_ANYTHING = _Found(None)


@lru_cache(maxsize=4096)
def required(pattern: str) -> tuple[str, ...]:
    """Normalized literals of which every match contains at least one; empty when there are none to rely on."""
    try:
        found = _sequence(tree(pattern))
    except (re.error, RecursionError, OverflowError, ImportError):
        return ()
    return max((clause for clause in _clauses(found) if _usable(clause)), key=_worth, default=())


def demands(pattern: str) -> tuple[tuple[str, ...], ...]:
    """All that `required` could choose from: of each, a match contains at least one literal. The best come first."""
    try:
        found = _sequence(tree(pattern))
    except (re.error, RecursionError, OverflowError, ImportError):
        return ()
    usable = dict.fromkeys(clause for clause in _clauses(found) if _usable(clause) or _telling(clause))
    return tuple(sorted(usable, key=_worth, reverse=True)[:MOST_DEMANDS])


def surest_literal(pattern: str) -> int:
    """Length of the literal that a match contains at the least, by the strictest of the pattern's demands.

    A character beyond ASCII counts twice: three Chinese characters say more than four letters.
    """
    try:
        found = _sequence(tree(pattern))
    except (re.error, RecursionError, OverflowError, ImportError):
        return 0
    weights = [[len(t) + sum(not c.isascii() for c in t) for t in clause] for clause in _clauses(found) if clause]
    return max(map(min, weights), default=0)


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


def _sequence(parsed: Iterable[tuple[Any, Any]]) -> _Found:
    """What items that follow each other say together: exact texts are joined as long as they stay few."""
    clauses: list[tuple[str, ...]] = []
    run: tuple[str, ...] = ("",)
    whole = True
    for op, value in parsed:
        kind = str(op)
        if kind == "LITERAL" and 0x20 <= value < 0x7F:
            character = chr(value).lower()
            run = tuple([text + character for text in run])
            continue
        found = _item(kind, value)
        if found.exact is not None and len(run) * len(found.exact) <= MOST_ALTERNATIVES:
            run = tuple(dict.fromkeys(start + end for start in run for end in found.exact))
            continue
        clauses.append(run)
        clauses.extend(found.clauses)
        whole = False
        run = found.exact if found.exact is not None else ("",)
    if whole:
        return _Found(run, tuple(clauses))
    clauses.append(run)
    return _Found(None, tuple(clause for clause in clauses if _usable(clause) or _telling(clause)))


def _item(name: str, value: Any) -> _Found:
    """What one item says."""
    if name == "LITERAL":
        return _literal([value])
    if name == "IN":
        return _literal([part for _, part in value]) if _only_literals(value) else _ANYTHING
    if name in ("AT", "ASSERT", "ASSERT_NOT"):
        return _NOTHING
    if name == "SUBPATTERN":
        return _sequence(value[3])
    if name == "ATOMIC_GROUP":
        return _sequence(value)
    if name == "BRANCH":
        return _branches([_sequence(branch) for branch in value[1]])
    if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        least, most, inner = value
        return _repeat(least, most, _sequence(inner))
    return _ANYTHING


def _only_literals(members: Sequence[tuple[Any, Any]]) -> bool:
    return all(str(kind) == "LITERAL" for kind, _ in members)


def _literal(codes: Sequence[int]) -> _Found:
    """A character, or a small class such as `[Aa]` or `[345]`."""
    folded = tuple(dict.fromkeys(normalize(chr(code)) for code in codes))
    # Beyond ASCII only characters without case are kept: folding them is not the same in every context.
    plain_ones = all(chr(code).isascii() or chr(code).lower() == chr(code).upper() for code in codes)
    return _Found(folded) if plain_ones and len(folded) <= LARGEST_CLASS else _ANYTHING


def _branches(found: Sequence[_Found]) -> _Found:
    """One of several: exact when all are, otherwise one clause that takes the best of each."""
    if all(branch.exact is not None for branch in found):
        texts = tuple(dict.fromkeys(text for branch in found for text in branch.exact or ()))
        if len(texts) <= MOST_ALTERNATIVES:
            return _Found(texts)
    joined: list[str] = []
    for branch in found:
        best = max((clause for clause in _clauses(branch) if _usable(clause)), key=_worth, default=None)
        if best is None:
            return _ANYTHING
        joined.extend(best)
    return _Found(None, (tuple(dict.fromkeys(joined)),))


def _repeat(least: int, most: int, inner: _Found) -> _Found:
    """An item that is repeated."""
    if (least, most) == (1, 1):
        return inner
    if (least, most) == (0, 1) and inner.exact is not None:
        return _Found(tuple(dict.fromkeys(("", *inner.exact))))
    if least == 0:
        return _ANYTHING
    return _Found(None, (*inner.clauses, *([inner.exact] if inner.exact else [])))


def _clauses(found: _Found) -> list[tuple[str, ...]]:
    """All that is known to be contained; exact texts are one more clause."""
    return [*found.clauses, *([found.exact] if found.exact else [])]


def _usable(clause: tuple[str, ...]) -> bool:
    return 0 < len(clause) <= MOST_ALTERNATIVES and all(len(text) >= SHORTEST_LITERAL for text in clause)


def _telling(clause: tuple[str, ...]) -> bool:
    """Short, but of characters that words do not have, such as `>=`."""
    return 0 < len(clause) <= MOST_ALTERNATIVES and all(len(t) >= 2 and not any(map(str.isalnum, t)) for t in clause)


def _worth(clause: tuple[str, ...]) -> float:
    """Longer literals and fewer of them filter better, and characters beyond ASCII are rare in logs."""
    return min(min(len(text) + 2 * sum(map(_is_rare, text)), 24) for text in clause) - 0.6 * (len(clause) - 1)


def _is_rare(character: str) -> bool:
    return not character.isascii()
