"""Builds the compact form of a rule set. Only a run without a valid cache pays for this."""

from __future__ import annotations

import marshal
from binascii import crc32
from collections.abc import Iterator, Sequence
from typing import Any

from diagnoser.caching import MARSHAL_VERSION
from diagnoser.catalogue import patterns
from diagnoser.catalogue.drawers import Candidate, filed, pack
from diagnoser.catalogue.index import GRAM, Head, Index, Place, Test, places
from diagnoser.catalogue.literals import demands, numberless, required
from diagnoser.catalogue.loader import Loaded
from diagnoser.catalogue.quickness import QUICK, quick_length
from diagnoser.catalogue.rule import PATTERN_KEYS, SUBJECT_KEYS
from diagnoser.catalogue.search import ENGINE, Pattern
from diagnoser.model import Condition, Rule


def build(loaded: Loaded, directory: str) -> tuple[Index, bytes]:
    """The index of the rules of a directory, and the packed parts that it points into."""
    types: dict[str, list[Candidate]] = {}
    generic: list[Candidate] = []
    parts = _Parts()
    heads, bodies = [], []
    for number, rule in enumerate(loaded.rules):
        tests = tuple(_test(condition) for condition in rule.matches)
        packed = tuple(tuple(test) for test in tests)
        head = Head(rule.id, rule.role, rule.outranks, rule.applies, rule.fixed_in, packed)
        heads.append(parts.add(marshal.dumps(tuple(head), MARSHAL_VERSION)))
        for candidate, names in _candidates(number, rule.matches):
            for name in names or ():
                types.setdefault(name, []).append(candidate)
            if names is None:
                generic.append(candidate)
        path = rule.path.removeprefix(directory).lstrip("/\\").replace("\\", "/")
        bodies.append(parts.add(marshal.dumps(_plain(rule._replace(path=path)), MARSHAL_VERSION)))
    entries, owners, always = _log_patterns(loaded.rules)
    literals = tuple(owners)
    grams, short_literals = _grams(literals)
    index = Index(
        digest=loaded.digest,
        ids="\n".join(rule.id for rule in loaded.rules),
        heads=places(heads),
        bodies=places(bodies),
        types={name: parts.add(pack(filed(found), MARSHAL_VERSION)) for name, found in types.items()},
        generic=parts.add(pack(filed(generic), MARSHAL_VERSION)),
        log_entries=entries,
        log_literals=literals,
        log_owners=tuple(tuple(owners[literal]) for literal in literals),
        log_grams=grams,
        log_short=short_literals,
        log_always=always,
        log_numberless=_numberless(loaded.rules),
        errors=tuple((error.path, error.problem, error.line, error.key) for error in loaded.errors),
    )
    return index, b"".join(parts.chunks)


class _Parts:
    """Packed parts in a row."""

    def __init__(self) -> None:
        self.chunks: list[bytes] = []
        self.length = 0

    def add(self, part: bytes) -> Place:
        """Appends a part; its place."""
        place = (self.length, len(part), crc32(part))
        self.chunks.append(part)
        self.length += len(part)
        return place


def _plain(value: Any) -> Any:
    """Named tuples as tuples, which is all that `marshal` takes."""
    return tuple(_plain(entry) for entry in value) if isinstance(value, tuple) else value


def _test(condition: Condition) -> Test:
    """A condition with what can be worked out beforehand."""
    names = patterns.alternatives(condition.exception) if condition.exception else None
    given = [getattr(condition, key) for key in PATTERN_KEYS if getattr(condition, key)]
    literal = sum(min(map(len, required(pattern)), default=0) for pattern in given)
    return Test(
        condition.confidence,
        names,
        _searched(condition.exception) if condition.exception else None,
        _pattern(condition.message),
        _pattern(condition.code),
        _pattern(condition.frame),
        _pattern(condition.any_frame),
        _pattern(condition.log),
        condition.near,
        condition.fact,
        tuple(_test(condition.negate)) if condition.negate else None,
        len(given) + len(condition.fact) + (condition.negate is not None),
        literal,
    )


def _pattern(pattern: str | None) -> Pattern | None:
    """The cheapest form of a pattern that is searched for."""
    return (patterns.plain(pattern) or _searched(pattern)) if pattern else None


def _searched(pattern: str) -> Pattern:
    """A pattern that takes an engine; one that may take long with what tells that it need not run."""
    limit = quick_length(pattern)
    return (ENGINE, pattern, limit) if limit >= QUICK else (ENGINE, pattern, limit, *demands(pattern))


def _candidates(number: int, conditions: Sequence[Condition]) -> Iterator[tuple[Candidate, tuple[str, ...] | None]]:
    """Each condition about an exception with the names it is filed under; None for the generic file."""
    for index, condition in enumerate(conditions):
        if not any(getattr(condition, key) for key in SUBJECT_KEYS):
            continue
        exception = condition.exception
        names = patterns.alternatives(exception) if exception else None
        needles = [required(pattern) if pattern else () for pattern in (condition.message, condition.code)]
        frame = max(
            (required(pattern) for pattern in (condition.frame, condition.any_frame) if pattern),
            key=lambda clause: min(map(len, clause), default=0),
            default=(),
        )
        by_type = required(exception) if exception and names is None else ()
        short = tuple(dict.fromkeys(name.rsplit(".", 1)[-1] for name in names)) if names is not None else None
        yield Candidate(number, index, needles[0], needles[1], frame, by_type), short


def _log_patterns(
    rules: Sequence[Rule],
) -> tuple[tuple[tuple[int, int], ...], dict[str, list[int]], tuple[int, ...]]:
    """All log patterns, the literals that they ask for with their patterns, and the patterns without literals."""
    entries: list[tuple[int, int]] = []
    owners: dict[str, list[int]] = {}
    always: list[int] = []
    for number, rule in enumerate(rules):
        for index, condition in enumerate(rule.matches):
            for pattern, place in ((condition.log, index), (condition.negate and condition.negate.log, -1 - index)):
                if not pattern:
                    continue
                literals = required(pattern)
                for literal in literals:
                    owners.setdefault(literal, []).append(len(entries))
                if not literals:
                    always.append(len(entries))
                entries.append((number, place))
    return tuple(entries), owners, tuple(always)


def _numberless(rules: Sequence[Rule]) -> tuple[str, ...]:
    """What texts contain that a log pattern may match once their digits are others; see `literals.numberless`."""
    patterns = [
        pattern
        for rule in rules
        for condition in rule.matches
        for pattern in (condition.log, condition.negate and condition.negate.log)
        if pattern
    ]
    return tuple(dict.fromkeys(literal for pattern in patterns for literal in numberless(pattern)))


def _grams(literals: Sequence[str]) -> tuple[dict[str, tuple[int, ...]], tuple[int, ...]]:
    """Files each literal under the piece of it that the fewest literals share."""
    pieces = [{text[at : at + GRAM] for at in range(len(text) - GRAM + 1)} for text in literals]
    counts: dict[str, int] = {}
    for found in pieces:
        for piece in found:
            counts[piece] = counts.get(piece, 0) + 1
    grams: dict[str, list[int]] = {}
    short = []
    for number, found in enumerate(pieces):
        if found:
            grams.setdefault(min(sorted(found), key=lambda piece: counts[piece]), []).append(number)
        else:
            short.append(number)
    return {piece: tuple(numbers) for piece, numbers in grams.items()}, tuple(short)
