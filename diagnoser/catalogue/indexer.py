"""Builds the compact form of a rule set. Only a run without a valid cache pays for this."""

from __future__ import annotations

import marshal
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from diagnoser.catalogue import patterns
from diagnoser.catalogue.index import GRAM, MARSHAL_VERSION, Candidate, Head, Index, Test
from diagnoser.catalogue.loader import Loaded
from diagnoser.catalogue.rule import PATTERN_KEYS, SUBJECT_KEYS
from diagnoser.catalogue.search import Pattern
from diagnoser.model import Condition, Rule


def build(loaded: Loaded) -> tuple[Index, bytes]:
    """The index of a rule set and the packed rules that it points into."""
    types: dict[str, list[Candidate]] = {}
    generic: list[Candidate] = []
    heads, bodies, chunks = [], [], []
    position = 0
    for number, rule in enumerate(loaded.rules):
        tests = tuple(_test(condition) for condition in rule.matches)
        head = Head(rule.id, rule.role, rule.outranks, rule.applies, rule.fixed_in, tuple(tuple(test) for test in tests))
        heads.append(marshal.dumps(tuple(head), MARSHAL_VERSION))
        for candidate, names in _candidates(number, rule.matches):
            for name in names or ():
                types.setdefault(name, []).append(candidate)
            if names is None:
                generic.append(candidate)
        body = marshal.dumps(_plain(rule), MARSHAL_VERSION)
        bodies.append((position, len(body)))
        chunks.append(body)
        position += len(body)
    index = Index(
        loaded.digest,
        tuple(rule.id for rule in loaded.rules),
        tuple(heads),
        {name: _pack(found) for name, found in types.items()},
        _pack(generic),
        *_log_parts(loaded.rules),
        tuple(bodies),
        tuple((error.path, error.problem, error.line, error.key) for error in loaded.errors),
    )
    return index, b"".join(chunks)


def _plain(value: Any) -> Any:
    """Named tuples as tuples, which is all that `marshal` takes."""
    return tuple(_plain(entry) for entry in value) if isinstance(value, tuple) else value


def _pack(found: Iterable[Candidate]) -> bytes:
    return marshal.dumps(tuple(tuple(candidate) for candidate in found), MARSHAL_VERSION)


def _test(condition: Condition) -> Test:
    """A condition with what can be worked out beforehand."""
    names = patterns.alternatives(condition.exception) if condition.exception else None
    given = [getattr(condition, key) for key in PATTERN_KEYS if getattr(condition, key)]
    literal = sum(min(map(len, patterns.required(pattern)), default=0) for pattern in given)
    return Test(
        condition.confidence,
        names,
        condition.exception,
        *(_pattern(getattr(condition, key)) for key in PATTERN_KEYS[1:]),
        condition.near,
        condition.fact,
        tuple(_test(condition.negate)) if condition.negate else None,
        len(given) + len(condition.fact) + (condition.negate is not None),
        literal,
    )


def _pattern(pattern: str | None) -> Pattern | None:
    """The literals that a pattern comes down to, or the pattern itself."""
    return (patterns.plain(pattern) or pattern) if pattern else None


def _candidates(number: int, conditions: Sequence[Condition]) -> Iterator[tuple[Candidate, tuple[str, ...] | None]]:
    """Each condition about an exception with the names it is filed under; None for the generic file."""
    for index, condition in enumerate(conditions):
        if not any(getattr(condition, key) for key in SUBJECT_KEYS):
            continue
        exception = condition.exception
        names = patterns.alternatives(exception) if exception else None
        needles = [patterns.required(pattern) if pattern else () for pattern in (condition.message, condition.code)]
        frame = max(
            (patterns.required(pattern) for pattern in (condition.frame, condition.any_frame) if pattern),
            key=lambda clause: min(map(len, clause), default=0),
            default=(),
        )
        by_type = patterns.required(exception) if exception and names is None else ()
        short = tuple(dict.fromkeys(name.rsplit(".", 1)[-1] for name in names)) if names is not None else None
        yield Candidate(number, index, by_type, *needles, frame), short


def _log_parts(rules: Sequence[Rule]) -> tuple[Any, ...]:
    """The fields of `Index` that find log conditions."""
    entries: list[tuple[int, int]] = []
    owners: dict[str, list[int]] = {}
    always: list[int] = []
    for number, rule in enumerate(rules):
        for index, condition in enumerate(rule.matches):
            for pattern, place in ((condition.log, index), (condition.negate and condition.negate.log, -1 - index)):
                if not pattern:
                    continue
                literals = patterns.required(pattern)
                for literal in literals:
                    owners.setdefault(literal, []).append(len(entries))
                if not literals:
                    always.append(len(entries))
                entries.append((number, place))
    texts = tuple(owners)
    grams, short = _grams(texts)
    return tuple(entries), texts, tuple(tuple(owners[text]) for text in texts), grams, short, tuple(always)


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
