"""Which patterns can't take long whatever a text holds, so that they may run without a time limit.

    quick_length(r"wants (?P<n>\\d+) of") == QUICK
    quick_length(r"(a+)+b") == 0
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from diagnoser.catalogue.patterns import GROUP_AGAIN, tree
from diagnoser.catalogue.trees import ALPHABET, REPEATS, characters, nested, parts
from diagnoser.records import NamedTuple

QUICK = 4_096
"""Characters of a text on which a pattern that is at worst quadratic can't take long, whatever the text is."""
MOST_PATHS = 128
"""Ways through a pattern that are looked at one by one."""


def quick_length(pattern: str) -> int:
    """Length of texts on which a pattern can't take long; 0 when it may on any, or when the two modules differ on it.

    A pattern that can go on in several ways at n places takes time that grows with the power n + 1 of the text.
    """
    if not pattern.isascii() and re.search(r"\(\?\w*i", pattern):
        return 0  # the modules fold the case of some letters beyond ASCII differently
    parsed = tree(pattern)
    if any(GROUP_AGAIN in name for name in parsed.state.groupdict) or nested(parsed) or _empty_turns(parsed):
        return 0
    places = max(_open_places(path) for path in _paths(parsed))
    return {0: QUICK, 1: QUICK, 2: 256, 3: 64}.get(places, 0)


def _empty_turns(parsed: Iterable[tuple[Any, Any]]) -> bool:
    """Whether a repetition may take turns that match nothing."""
    for op, value in parsed:
        name = str(op)
        if name in (*REPEATS, "POSSESSIVE_REPEAT") and value[1] > 1 and value[2].getwidth()[0] == 0:
            return True
        if any(_empty_turns(part) for part in parts(name, value)):
            return True
    return False


class _Atom(NamedTuple):
    """One item of a pattern laid out flat."""

    characters: frozenset[str]
    repeats: bool
    surely: bool
    """True for a character that every match has here."""


def _paths(parsed: Iterable[tuple[Any, Any]]) -> list[list[_Atom]]:
    """The ways through a pattern's alternatives, each as items in a row; when there are too many, one row of all."""
    items = list(parsed)
    paths: list[list[_Atom]] = [[]]
    for op, value in items:
        name = str(op)
        if name == "BRANCH":
            ways = [way for branch in value[1] for way in _paths(branch)]
        elif name in ("SUBPATTERN", "ATOMIC_GROUP"):
            ways = _paths(next(iter(parts(name, value))))
        elif name in REPEATS and tuple(value[:2]) == (0, 1):
            ways = [[], *_paths(value[2])]
        else:
            ways = [list(_atoms([(op, value)]))]
        if len(paths) * len(ways) > MOST_PATHS:
            return [list(_atoms(items))]
        paths = [path + way for path in paths for way in ways]
    return paths


def _atoms(parsed: Iterable[tuple[Any, Any]], surely: bool = True) -> Iterator[_Atom]:
    """The items of a pattern in a row; alternatives follow each other, none of them sure."""
    for op, value in parsed:
        name = str(op)
        if name in (*REPEATS, "POSSESSIVE_REPEAT"):
            if value[1] > 1:
                yield _Atom(frozenset(characters(value[2])), True, False)
                inner = [atom for atom in _atoms(value[2], False) if atom.repeats]
                yield from inner
            else:
                yield from _atoms(value[2], surely and value[0] == 1)
        elif name in ("ASSERT", "ASSERT_NOT"):
            if any(atom.repeats for atom in _atoms(value[1], False)):
                yield _Atom(frozenset(ALPHABET), True, False)
        elif name in ("GROUPREF", "GROUPREF_EXISTS"):
            yield _Atom(frozenset(ALPHABET), True, False)
        elif name == "BRANCH":
            for branch in value[1]:
                yield from _atoms(branch, False)
        elif name in ("SUBPATTERN", "ATOMIC_GROUP"):
            yield from _atoms(next(iter(parts(name, value))), surely)
        elif name != "AT":
            yield _Atom(frozenset(characters([(op, value)])), False, surely)


def _open_places(atoms: Sequence[_Atom]) -> int:
    """Repetitions that may end at several places because what follows can start with what they repeat.

    A second one counts with each that lets it run again and again over the same text.
    """
    count = 0
    for number, atom in enumerate(atoms):
        if atom.repeats and _is_open(atom, atoms[number + 1 :]):
            count += 1 + _runs_again(atom, atoms[number + 1 :])
    return count


def _is_open(atom: _Atom, rest: Sequence[_Atom]) -> bool:
    for other in rest:
        if other.characters & atom.characters:
            return True
        if other.surely:
            return False
    return False


def _runs_again(atom: _Atom, rest: Sequence[_Atom]) -> bool:
    """Whether a later repetition can go over the same text for every end of this one: nothing sure keeps them apart."""
    for number, other in enumerate(rest):
        if other.surely and not other.characters & atom.characters:
            return False
        between = rest[:number]
        apart = any(one.surely and not one.characters & other.characters for one in between)
        if other.repeats and other.characters & atom.characters and not apart:
            return True
    return False
