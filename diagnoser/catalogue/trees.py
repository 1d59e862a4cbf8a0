"""The shape of patterns: what their items can match, and repetitions that could take time without end."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

REPEATS = ("MAX_REPEAT", "MIN_REPEAT")
_UNBOUNDED = 1_000
"""A repetition that allows this many turns counts as endless."""
_MANY = 4
"""So many turns of something endless are as bad as endless turns to a text of any length."""
ALPHABET = [chr(code) for code in range(9, 127) if code not in range(14, 32)] + ["中"]
"""Characters that stand for all: those of ASCII and one for the rest."""
_BEYOND = {"中"}
_DIGITS = set("0123456789")


def nested(parsed: Iterable[tuple[Any, Any]], around: bool = False) -> str | None:
    """A repetition of something that itself repeats without a fixed end: `(a+)+`, `(\\w+\\s*)*`, `(a|aa)+`."""
    for op, value in parsed:
        name = str(op)
        if name in REPEATS and (endless(value) or (not around and value[1] >= _MANY)):
            inner = value[2]
            if around and _may_follow_itself(inner):
                return "a repetition inside a repetition splits the same text in many ways: use one, or a separator"
            found = nested(inner, around=not _separated(inner))
            if found is None and _ambiguous_branch(inner):
                found = "the alternatives inside a repetition can start with the same character: factor it out"
        else:
            inside = around and name not in ("ATOMIC_GROUP", "POSSESSIVE_REPEAT")  # these never try another split
            found = next((text for part in parts(name, value) if (text := nested(part, inside))), None)
        if found:
            return found
    return None


def endless(value: Sequence[Any]) -> bool:
    """Whether a repetition, given as its least and most turns and its item, has no end to speak of."""
    return int(value[1]) >= _UNBOUNDED


def parts(name: str, value: Any) -> Iterator[Any]:
    """The pieces of an item that are sequences themselves."""
    if name == "SUBPATTERN":
        yield value[3]
    elif name == "BRANCH":
        yield from value[1]
    elif name in (*REPEATS, "POSSESSIVE_REPEAT"):
        yield value[2]
    elif name in ("ASSERT", "ASSERT_NOT"):
        yield value[1]
    elif name == "ATOMIC_GROUP":
        yield value


def _may_follow_itself(inner: Any) -> bool:
    return bool(characters(inner))


def _separated(inner: Any) -> bool:
    """Whether each turn of a repetition starts or ends with a literal that the rest of it can't match: `(?:,\\w+)*`."""
    items = list(inner)
    if len(items) == 1 and str(items[0][0]) == "SUBPATTERN":
        return _separated(items[0][1][3])
    for fixed, rest in ((items[:1], items[1:]), (items[-1:], items[:-1])):
        if fixed and str(fixed[0][0]) == "LITERAL" and rest and chr(fixed[0][1]) not in characters(rest):
            return True
    return False


def _ambiguous_branch(inner: Any) -> bool:
    """Whether two alternatives directly inside a repetition can start with the same character."""
    for op, value in inner:
        if str(op) == "SUBPATTERN":
            if _ambiguous_branch(value[3]):
                return True
        elif str(op) == "BRANCH":
            starts = [characters(list(branch)[:1]) for branch in value[1]]
            for number, first in enumerate(starts):
                if any(first & other for other in starts[number + 1 :]):
                    return True
    return False


def characters(parsed: Iterable[tuple[Any, Any]]) -> set[str]:
    """Characters of a test alphabet that some item of a sequence can match."""
    found: set[str] = set()
    for op, value in parsed:
        name = str(op)
        if name == "LITERAL":
            found.add(_represented(value))
        elif name == "NOT_LITERAL":
            found |= set(ALPHABET) - ({chr(value)} if value < 127 else set())
        elif name == "ANY":
            found |= set(ALPHABET) - {"\n"}
        elif name == "IN":
            found |= members_of(value)
        else:
            for part in parts(name, value):
                found |= characters(part)
    return found


def members_of(members: Sequence[tuple[Any, Any]]) -> set[str]:
    """Characters of the test alphabet in a class such as `[\\w.]`."""
    found: set[str] = set()
    negated = False
    kinds = {"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w"}
    for op, value in members:
        name = str(op)
        if name == "NEGATE":
            negated = True
        elif name == "LITERAL":
            found.add(_represented(value))
        elif name == "RANGE":
            found |= {character for character in ALPHABET if value[0] <= ord(character) <= value[1]}
            found |= {_represented(value[1])}
        elif name == "CATEGORY":
            kind = str(value).removeprefix("CATEGORY_")
            wanted = kinds.get(kind.removeprefix("NOT_"), ".")
            inside = {character for character in ALPHABET if re.match(wanted, character)}
            found |= set(ALPHABET) - inside if kind.startswith("NOT_") else inside
    return (set(ALPHABET) - found) | _BEYOND if negated else found


def asks_for_digits(parsed: Iterable[tuple[Any, Any]]) -> bool:
    r"""Whether some item of a sequence matches certain digits only: `79`, `[45]\d\d`, but not `\d+`."""
    for op, value in parsed:
        name = str(op)
        if name in ("LITERAL", "NOT_LITERAL"):
            if chr(value) in _DIGITS:
                return True
        elif name == "IN":
            if 0 < len(members_of(value) & _DIGITS) < len(_DIGITS):
                return True
        elif any(asks_for_digits(part) for part in parts(name, value)):
            return True
    return False


def _represented(code: int) -> str:
    """The character of the test alphabet that stands for this one: itself, or one for all beyond ASCII."""
    return chr(code) if chr(code) in ALPHABET else "中"
