"""Finds patterns that take time out of proportion on some text: by their shape, and by trying texts made to hurt.

    danger(r"(\\w+\\s*)+:") == "a repetition inside a repetition can split the same text in many ways: …"
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from diagnoser.catalogue.patterns import GROUP_AGAIN, tree

TRIAL_BUDGET = 0.1
"""Seconds of processor time that a pattern may take on one attack text; sane patterns take below a millisecond."""
ATTACK_LENGTH = 3_000
"""Characters of an attack text: a quadratic pattern stays inside the budget, a cubic or exponential one does not."""
MOST_ATTACKS = 48

_REPEATS = ("MAX_REPEAT", "MIN_REPEAT")
_UNBOUNDED = 1_000
"""A repetition that allows this many turns counts as endless."""
QUICK = 4_096
"""Characters of a text on which a pattern that is at worst quadratic can't take long, whatever the text is."""
MOST_PATHS = 128
"""Ways through a pattern that are looked at one by one."""
_MANY = 4
"""So many turns of something endless are as bad as endless turns to a text of any length."""


def danger(pattern: str, length: int = ATTACK_LENGTH) -> str | None:
    """Why a pattern must not be used on texts of up to so many characters, or None."""
    parsed = tree(pattern)
    shape = _nested(parsed)
    if shape:
        return shape
    slow = _slow_text(pattern, parsed, length)
    if slow is not None:
        return f"takes more than {TRIAL_BUDGET * 1000:.0f} ms on a text of {length} characters such as {slow!r}…"
    return None


def quick_length(pattern: str) -> int:
    """Length of texts on which a pattern can't take long; 0 when it may on any, or when the two modules differ on it.

    A pattern that can go on in several ways at n places takes time that grows with the power n + 1 of the text.
    """
    if not pattern.isascii() and re.search(r"\(\?\w*i", pattern):
        return 0  # the modules fold the case of some letters beyond ASCII differently
    parsed = tree(pattern)
    if any(GROUP_AGAIN in name for name in parsed.state.groupdict) or _nested(parsed) or _empty_turns(parsed):
        return 0
    places = max(_open_places(path) for path in _paths(parsed))
    return {0: QUICK, 1: QUICK, 2: 256, 3: 64}.get(places, 0)


def _empty_turns(parsed: Iterable[tuple[Any, Any]]) -> bool:
    """Whether a repetition may take turns that match nothing."""
    for op, value in parsed:
        name = str(op)
        if name in (*_REPEATS, "POSSESSIVE_REPEAT") and value[1] > 1 and value[2].getwidth()[0] == 0:
            return True
        if any(_empty_turns(part) for part in _parts(name, value)):
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
            ways = _paths(next(iter(_parts(name, value))))
        elif name in _REPEATS and tuple(value[:2]) == (0, 1):
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
        if name in (*_REPEATS, "POSSESSIVE_REPEAT"):
            if value[1] > 1:
                yield _Atom(frozenset(_characters(value[2])), True, False)
                inner = [atom for atom in _atoms(value[2], False) if atom.repeats]
                yield from inner
            else:
                yield from _atoms(value[2], surely and value[0] == 1)
        elif name in ("ASSERT", "ASSERT_NOT"):
            if any(atom.repeats for atom in _atoms(value[1], False)):
                yield _Atom(frozenset(_ALPHABET), True, False)
        elif name in ("GROUPREF", "GROUPREF_EXISTS"):
            yield _Atom(frozenset(_ALPHABET), True, False)
        elif name == "BRANCH":
            for branch in value[1]:
                yield from _atoms(branch, False)
        elif name in ("SUBPATTERN", "ATOMIC_GROUP"):
            yield from _atoms(next(iter(_parts(name, value))), surely)
        elif name != "AT":
            yield _Atom(frozenset(_characters([(op, value)])), False, surely)


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


def _nested(parsed: Iterable[tuple[Any, Any]], around: bool = False) -> str | None:
    """A repetition of something that itself repeats without a fixed end: `(a+)+`, `(\\w+\\s*)*`, `(a|aa)+`."""
    for op, value in parsed:
        name = str(op)
        if name in _REPEATS and (_endless(value) or (not around and value[1] >= _MANY)):
            inner = value[2]
            if around and _may_follow_itself(inner):
                return "a repetition inside a repetition splits the same text in many ways: use one, or a separator"
            found = _nested(inner, around=not _separated(inner))
            if found is None and _ambiguous_branch(inner):
                found = "the alternatives inside a repetition can start with the same character: factor it out"
        else:
            inside = around and name not in ("ATOMIC_GROUP", "POSSESSIVE_REPEAT")  # these never try another split
            found = next((text for part in _parts(name, value) if (text := _nested(part, inside))), None)
        if found:
            return found
    return None


def _endless(value: Sequence[Any]) -> bool:
    return int(value[1]) >= _UNBOUNDED


def _parts(name: str, value: Any) -> Iterator[Any]:
    """The pieces of an item that are sequences themselves."""
    if name == "SUBPATTERN":
        yield value[3]
    elif name == "BRANCH":
        yield from value[1]
    elif name in (*_REPEATS, "POSSESSIVE_REPEAT"):
        yield value[2]
    elif name in ("ASSERT", "ASSERT_NOT"):
        yield value[1]
    elif name == "ATOMIC_GROUP":
        yield value


def _may_follow_itself(inner: Any) -> bool:
    return bool(_characters(inner))


def _separated(inner: Any) -> bool:
    """Whether each turn of a repetition starts or ends with a literal that the rest of it can't match: `(?:,\\w+)*`."""
    items = list(inner)
    if len(items) == 1 and str(items[0][0]) == "SUBPATTERN":
        return _separated(items[0][1][3])
    for fixed, rest in ((items[:1], items[1:]), (items[-1:], items[:-1])):
        if fixed and str(fixed[0][0]) == "LITERAL" and rest and chr(fixed[0][1]) not in _characters(rest):
            return True
    return False


def _ambiguous_branch(inner: Any) -> bool:
    """Whether two alternatives directly inside a repetition can start with the same character."""
    for op, value in inner:
        if str(op) == "SUBPATTERN":
            if _ambiguous_branch(value[3]):
                return True
        elif str(op) == "BRANCH":
            starts = [_characters(list(branch)[:1]) for branch in value[1]]
            for number, first in enumerate(starts):
                if any(first & other for other in starts[number + 1 :]):
                    return True
    return False


_ALPHABET = [chr(code) for code in range(9, 127) if code not in range(14, 32)] + ["中"]
_BEYOND = {"中"}


def _characters(parsed: Iterable[tuple[Any, Any]]) -> set[str]:
    """Characters of a test alphabet that some item of a sequence can match."""
    found: set[str] = set()
    for op, value in parsed:
        name = str(op)
        if name == "LITERAL":
            found.add(_represented(value))
        elif name == "NOT_LITERAL":
            found |= set(_ALPHABET) - ({chr(value)} if value < 127 else set())
        elif name == "ANY":
            found |= set(_ALPHABET) - {"\n"}
        elif name == "IN":
            found |= _class(value)
        else:
            for part in _parts(name, value):
                found |= _characters(part)
    return found


def _class(members: Sequence[tuple[Any, Any]]) -> set[str]:
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
            found |= {character for character in _ALPHABET if value[0] <= ord(character) <= value[1]}
            found |= {_represented(value[1])}
        elif name == "CATEGORY":
            kind = str(value).removeprefix("CATEGORY_")
            wanted = kinds.get(kind.removeprefix("NOT_"), ".")
            inside = {character for character in _ALPHABET if re.match(wanted, character)}
            found |= set(_ALPHABET) - inside if kind.startswith("NOT_") else inside
    return (set(_ALPHABET) - found) | _BEYOND if negated else found


def _represented(code: int) -> str:
    """The character of the test alphabet that stands for this one: itself, or one for all beyond ASCII."""
    return chr(code) if chr(code) in _ALPHABET else "中"


def _slow_text(pattern: str, parsed: Any, length: int) -> str | None:
    """The start of an attack text on which the pattern takes too long."""
    import regex

    compiled = regex.compile(pattern, regex.V0)
    for attack in attacks(parsed, length):
        if _takes_long(compiled, attack) and _takes_long(compiled, attack):
            return attack[:40]
    return None


def _takes_long(compiled: Any, attack: str) -> bool:
    """Whether a search takes more than its budget; asked twice, as the machine may be busy with something else."""
    start = time.process_time()
    try:
        compiled.search(attack, timeout=TRIAL_BUDGET * 20)
    except TimeoutError:
        return True
    return time.process_time() - start > TRIAL_BUDGET


def attacks(parsed: Any, length: int = ATTACK_LENGTH) -> Iterator[str]:
    """Texts that start like a match, go on with what the repetitions like, and never end like one."""
    seen: set[str] = set()
    pumps = list(dict.fromkeys([*_pumps(parsed), "a", " ", "0", "("]))
    example = _example(parsed)
    # An engine gives up at once where a literal that it needs is absent, so these follow, out of place.
    tails = ("\x00", "\x00" + "\x00".join(example) + "\x00")
    for pump in pumps:
        for prefix in ("", example):
            for tail in tails:
                text = (prefix + pump * (length // max(1, len(pump))))[:length] + tail
                if text not in seen and len(seen) < MOST_ATTACKS:
                    seen.add(text)
                    yield text


def _pumps(parsed: Iterable[tuple[Any, Any]], before: str = "") -> Iterator[str]:
    """For each endless repetition a text that it takes again and again, alone and with what leads up to it."""
    start = before
    for op, value in parsed:
        name = str(op)
        if name in (*_REPEATS, "POSSESSIVE_REPEAT") and _endless(value):
            pump = _example(value[2]) or "a"
            yield pump
            if start:
                yield start[-40:] + pump
        for part in _parts(name, value):
            yield from _pumps(part, start)
        start += _example([(op, value)])


def _example(parsed: Iterable[tuple[Any, Any]]) -> str:
    """A short text that the items match, roughly."""
    text = ""
    for op, value in parsed:
        name = str(op)
        if name == "LITERAL":
            text += chr(value)
        elif name in ("ANY", "NOT_LITERAL"):
            text += "a"
        elif name == "IN":
            options = _class(value)
            text += next((character for character in "a0 -_.,:/" if character in options), min(options, default="a"))
        elif name == "SUBPATTERN":
            text += _example(value[3])
        elif name == "ATOMIC_GROUP":
            text += _example(value)
        elif name == "BRANCH":
            text += _example(value[1][0])
        elif name in (*_REPEATS, "POSSESSIVE_REPEAT"):
            text += _example(value[2]) * max(1, min(int(value[0]), 64))
    return text
