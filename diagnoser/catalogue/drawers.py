"""Conditions filed so that a failure touches few of them: by exception name, then by a literal that must be in a text.

Most conditions ask for a literal of the message; looking for it costs a twentieth of trying the condition.
"""

import marshal
from collections.abc import Callable, Iterator
from typing import Any

from diagnoser.records import NamedTuple

FIELDS = ("message", "code", "frame", "type")
"""The texts of a failure that literals are looked up in, the most telling first."""


class Candidate(NamedTuple):
    """A condition that a failure may meet, and what its texts must contain for that (one of each, if any)."""

    rule: int
    condition: int
    message: tuple[str, ...]
    code: tuple[str, ...]
    frame: tuple[str, ...]
    type: tuple[str, ...]


class Drawer(NamedTuple):
    """The candidates of one exception name. Each stands under one of its demands; the others are checked after it."""

    candidates: tuple[bytes, ...] = ()
    """Each packed by itself, as few of them are looked at."""
    literals: tuple[tuple[str, ...], ...] = ((), (), (), ())
    """Per field: the literals that lead to a candidate."""
    owners: tuple[tuple[int, ...], ...] = ((), (), (), ())
    """Per field: for each literal, the number of its candidate."""
    rest: tuple[int, ...] = ()
    """Candidates that ask for no literal at all."""


def filed(found: list[Candidate]) -> Drawer:
    """A drawer with these candidates."""
    candidates: list[tuple[Any, ...]] = [tuple(candidate) for candidate in found]
    literals: list[list[str]] = [[] for _ in FIELDS]
    owners: list[list[int]] = [[] for _ in FIELDS]
    rest = []
    for number, candidate in enumerate(candidates):
        field = next((place for place in range(len(FIELDS)) if candidate[2 + place]), None)
        if field is None:
            rest.append(number)
            continue
        for literal in candidate[2 + field]:
            literals[field].append(literal)
            owners[field].append(number)
    return Drawer(
        tuple(marshal.dumps(candidate, 2) for candidate in candidates),
        tuple(map(tuple, literals)),
        tuple(map(tuple, owners)),
        tuple(rest),
    )


def pack(drawer: Drawer, version: int) -> bytes:
    """A drawer as bytes."""
    return marshal.dumps(tuple(drawer), version)


def unpack(packed: bytes) -> Drawer:
    """A drawer from its bytes."""
    return Drawer(*marshal.loads(packed))


def likely(drawer: Drawer, message: str, code: str, kind: str, places: Callable[[], str]) -> Iterator[tuple[int, int]]:
    """Rule number and condition index of each candidate whose literals stand in these normalized texts."""
    found = set(drawer.rest)
    texts = [message, code, places() if drawer.literals[2] else "", kind]
    for text, literals, owners in zip(texts, drawer.literals, drawer.owners, strict=True):
        if text and literals:
            found.update([owner for literal, owner in zip(literals, owners, strict=True) if literal in text])
    for number in sorted(found):
        candidate = marshal.loads(drawer.candidates[number])
        if candidate[4] and not texts[2]:
            texts[2] = places()
        if all(not clause or _holds(clause, text) for clause, text in zip(candidate[2:], texts, strict=True)):
            yield candidate[0], candidate[1]


def _holds(clause: Any, text: str) -> bool:
    return any(literal in text for literal in clause)
