"""The compact form of a rule set: plain data that is quick to load and touches only the rules that a failure needs.

What is looked up for every failure lies open (exception names, literals of log conditions); everything else is packed
in parts that are read and unpacked when they are needed. The form holds texts, numbers, tuples and dicts only, so
reading a damaged or forged one can give a wrong answer but can't run anything.
"""

import marshal
from collections.abc import Sequence
from typing import Any

from diagnoser.caching import MARSHAL_VERSION
from diagnoser.catalogue.search import Pattern
from diagnoser.errors import RuleError
from diagnoser.model import Condition, Confidence, Reference, Remedy, Rule, Sample
from diagnoser.records import NamedTuple

FORMAT = 8
"""Raise it whenever the compact form changes."""
GRAM = 4
"""Characters of the text pieces by which literals are found."""

Place = tuple[int, int, int]
"""Where a packed part starts, how long it is, and its checksum."""
PLACE_BYTES = 12


class Index(NamedTuple):
    """The open part. `marshal` stores it as a plain tuple in this order."""

    digest: str
    ids: str
    """The rules' ids, one a line."""
    heads: bytes
    """Per rule: the place of its `Head`, in `PLACE_BYTES`."""
    bodies: bytes
    """Per rule: the place of the whole `Rule`, in `PLACE_BYTES`."""
    types: dict[str, Place]
    """Exception name without module: the place of its `Drawer`."""
    generic: Place
    """The `Drawer` of conditions that name no exception, or not by a few names."""
    log_entries: tuple[tuple[int, int], ...]
    """Per log pattern: rule number and condition index; the index of a `not` is written as -1 - index."""
    log_literals: tuple[str, ...]
    log_owners: tuple[tuple[int, ...], ...]
    """Per literal: the log patterns that ask for it."""
    log_grams: dict[str, tuple[int, ...]]
    """A rare piece of each literal: the literals that hold it."""
    log_short: tuple[int, ...]
    """Literals that are shorter than a piece."""
    log_always: tuple[int, ...]
    """Log patterns without literals."""
    log_numberless: tuple[str, ...]
    """Of the log patterns that ask for certain digits: literals, without digits, that such a text contains."""
    errors: tuple[tuple[str, str, int | None, str | None], ...]


class Head(NamedTuple):
    """What matching needs of a rule."""

    id: str
    role: str
    outranks: tuple[str, ...]
    applies: tuple[tuple[str, str], ...]
    fixed_in: str | None
    conditions: tuple[tuple[Any, ...], ...]
    """Each a `Test` as a plain tuple."""


class Test(NamedTuple):
    """A `Condition` ready to be tried."""

    confidence: Confidence
    names: tuple[str, ...] | None
    """The exception names, where the pattern comes down to a few."""
    exception: Pattern | None
    message: Pattern | None
    code: Pattern | None
    frame: Pattern | None
    any_frame: Pattern | None
    log: Pattern | None
    near: str
    fact: tuple[tuple[str, str], ...]
    negate: tuple[Any, ...] | None
    """The `not`, itself a `Test` as a plain tuple."""
    keys: int
    """How many keys were given, a `not` counting as one."""
    literal: int
    """Length of the literals that the condition asks for."""

    @property
    def alone(self) -> bool:
        """True when the log record itself is the failure."""
        others = (self.exception, self.message, self.code, self.frame, self.any_frame)
        return self.log is not None and not any(others)


def dump(index: Index) -> bytes:
    """The open part as bytes."""
    return marshal.dumps(tuple(index), MARSHAL_VERSION)


def restore(packed: bytes) -> Index:
    """The open part from its bytes; raises ValueError, EOFError or TypeError for anything else."""
    found = marshal.loads(packed)
    if not isinstance(found, tuple) or len(found) != len(Index._fields):
        raise ValueError("not a catalogue index")
    return Index(*found)


def place(table: bytes, number: int) -> Place:
    """One entry of `heads` or `bodies`."""
    at = number * PLACE_BYTES
    start, length, checksum = (int.from_bytes(table[here : here + 4], "little") for here in (at, at + 4, at + 8))
    return start, length, checksum


def places(found: Sequence[Place]) -> bytes:
    """Places as `heads` and `bodies` hold them."""
    return b"".join(number.to_bytes(4, "little") for entry in found for number in entry)


def head(packed: bytes) -> Head:
    """One head from its bytes."""
    return Head(*marshal.loads(packed))


def errors(index: Index) -> tuple[RuleError, ...]:
    """The errors met when the rules were read."""
    return tuple(RuleError(path, problem, line=line, key=key) for path, problem, line, key in index.errors)


def rule(packed: bytes) -> Rule:
    """One rule from its packed form."""
    found = Rule(*marshal.loads(packed))
    return found._replace(
        matches=tuple(_condition(entry) for entry in found.matches),
        remedies=tuple(Remedy(*entry) for entry in found.remedies),
        references=tuple(Reference(*entry) for entry in found.references),
        samples=tuple(Sample(*entry) for entry in found.samples),
    )


def _condition(entry: Sequence[Any]) -> Condition:
    found = Condition(*entry)
    return found._replace(negate=_condition(found.negate)) if found.negate else found
