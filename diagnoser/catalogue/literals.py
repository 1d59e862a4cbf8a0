"""Literals that every match of a pattern contains: a text without them need not be searched.

    required(r"(?:Local|Remote) rank \\d+ is gone") == ("local rank ", "remote rank ")   # one of them, lower case

A literal is only reported when it is sound to rely on it; a pattern that is not understood has none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from diagnoser.catalogue.patterns import tree
from diagnoser.catalogue.search import normalize
from diagnoser.catalogue.trees import asks_for_digits
from diagnoser.digits import without_digits
from diagnoser.records import NamedTuple

MOST_ALTERNATIVES = 32
"""Literals that one pattern may ask for; beyond it the prefilter would cost more than it saves."""
MOST_DEMANDS = 4
SHORTEST_LITERAL = 3
LARGEST_CLASS = 4
"""Characters of a class such as `[345]` that is taken for alternatives."""


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


def numberless(pattern: str) -> tuple[str, ...]:
    """For a pattern that asks for certain digits: literals without digits, of which a text contains one that it would
    match with other digits. None for other patterns, and an empty one where there is nothing to rely on.

    Those of one or two characters are left out, for they stand in nearly every text.
    """
    try:
        if not asks_for_digits(tree(pattern)):
            return ()
    except (re.error, RecursionError, OverflowError, ImportError):
        return ("",)
    clauses = [tuple(map(without_digits, clause)) for clause in demands(pattern)]
    best = max(clauses, key=lambda clause: min(map(len, clause)), default=("",))
    return tuple(literal for literal in best if not literal or len(literal) >= SHORTEST_LITERAL)


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
