"""The `Catalogue`: all rules of a run, from every directory, behind one small interface."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import count, repeat

from diagnoser.catalogue import drawers
from diagnoser.catalogue import index as compact
from diagnoser.catalogue.index import Head, Test
from diagnoser.catalogue.matcher import Held, contradicted, holds, ordered
from diagnoser.catalogue.prefilter import Prefilter
from diagnoser.catalogue.search import Pattern, Searcher, normalize
from diagnoser.catalogue.shelf import Shelf, read_shelf
from diagnoser.catalogue.store import open_shelf, prebuilt
from diagnoser.catalogue.subjects import (
    Context,
    LogHit,
    RecordHit,
    own_text,
    subjects,
)
from diagnoser.digits import without_digits
from diagnoser.errors import RuleError, RuleErrors
from diagnoser.model import Facts, Failure, LogRecord, Match, Rule

MOST_DRAWERS = 4_096
"""Unpacked drawers that are kept: a log may name exceptions without end."""


class Rules(Mapping[str, Rule]):
    """All rules by id; each is read when it is first asked for."""

    def __init__(self, shelves: Sequence[Shelf], where: Mapping[str, tuple[int, int]]) -> None:
        self._shelves, self._where = shelves, where
        self._read: dict[str, Rule] = {}

    def __getitem__(self, key: str) -> Rule:
        if key not in self._read:
            shelf, number = self._where[key]
            self._read[key] = self._shelves[shelf].rule(number)
        return self._read[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._where)

    def __len__(self) -> int:
        return len(self._where)


class Catalogue:
    """The rules of a run; `rules` holds them by id and `errors` what could not be loaded."""

    def __init__(self, shelves: Sequence[Shelf], errors: Sequence[RuleError] = ()) -> None:
        self._shelves = tuple(shelves)
        self._searcher = Searcher()
        self._prefilters = tuple(Prefilter(shelf.table) for shelf in self._shelves)
        self._heads: tuple[dict[int, Head], ...] = tuple({} for _ in self._shelves)
        self._drawers: dict[tuple[int, str | None], drawers.Drawer] = {}
        self._where: dict[str, tuple[int, int]] = {}
        self._hidden: set[tuple[int, int]] = set()
        found = [error for shelf in self._shelves for error in compact.errors(shelf.table)]
        for number, shelf in enumerate(self._shelves):
            own = dict(zip(shelf.ids, zip(repeat(number), count()), strict=False))
            for rule_id in sorted(own.keys() & self._where.keys()):
                position = own.pop(rule_id)[1]
                self._hidden.add((number, position))
                path = shelf.rule(position).path
                found.append(RuleError(path, f"{rule_id} is already defined elsewhere", line=1, key="id"))
            self._where.update(own)
        self.rules: Mapping[str, Rule] = Rules(self._shelves, self._where)
        self.errors: tuple[RuleError, ...] = (*errors, *found)

    @classmethod
    def load(
        cls, directories: Sequence[str] = (), *, builtin: bool = True, packs: bool = False, strict: bool = False
    ) -> Catalogue:
        """The rules that come with the tool, then installed packs, then those of `directories` (folders or files).

        A rule that can't be used is left out and named in `errors`; with `strict` RuleErrors is raised instead.
        """
        shelves: list[Shelf] = []
        errors: list[RuleError] = []
        if builtin:
            shelves.append(_builtin())
        if packs:
            from diagnoser.catalogue.packs import installed_packs

            found, errors = installed_packs()
            shelves.extend(open_shelf(pack.directory, installed=True) for pack in found)
        shelves.extend(open_shelf(os.path.abspath(directory)) for directory in directories)
        catalogue = cls(shelves, errors)
        if strict and catalogue.errors:
            raise RuleErrors(catalogue.errors)
        return catalogue

    @classmethod
    def of_directory(cls, directory: str) -> Catalogue:
        """The rules of one directory, read from its files and nothing else."""
        return cls([read_shelf(directory)])

    @property
    def digest(self) -> str:
        """`sha256:…` over all rule files; equal for equal rules, wherever they lie."""
        if len(self._shelves) == 1:
            return self._shelves[0].table.digest
        import hashlib

        joined = "\n".join(sorted(shelf.table.digest for shelf in self._shelves))
        return f"sha256:{hashlib.sha256(joined.encode()).hexdigest()}"

    @property
    def timeouts(self) -> Mapping[str, int]:
        """Patterns that took too long on some text and were counted as not found, with how often."""
        return self._searcher.timeouts

    def may_hit(self, text: str) -> bool:
        """Whether a text holds the literals of any `log` condition; False means that `scan` would find nothing."""
        normalized = normalize(text)
        return any(prefilter.entries(normalized) for prefilter in self._prefilters)

    def asks_for_numbers(self, text: str) -> bool:
        """Whether a `log` condition may hold for the text, or cease to hold, once its numbers are others."""
        plain = without_digits(normalize(text))
        return any(literal in plain for shelf in self._shelves for literal in shelf.table.log_numberless)

    def scan(self, text: str) -> tuple[LogHit, ...]:
        """The `log` conditions that hold for the text of a log record, which may have several lines."""
        hits = []
        normalized = normalize(text)
        for number, (shelf, prefilter) in enumerate(zip(self._shelves, self._prefilters, strict=True)):
            for entry in prefilter.entries(normalized):
                rule, place = shelf.table.log_entries[entry]
                if (number, rule) in self._hidden:
                    continue
                head = self._head(number, rule)
                pattern = _log_pattern(head, place)
                if pattern is not None and self._searcher.search(pattern, text) is not None:
                    hits.append(LogHit(head.id, place))
        return tuple(hits)

    def stands_alone(self, hit: LogHit) -> bool:
        """Whether a record with this hit is itself a failure: its condition asks for nothing but a log record."""
        if hit.condition_index < 0:
            return False
        return self._test(hit).alone

    def role(self, rule_id: str) -> str:
        """The role of a rule, without reading all of it."""
        return self._head(*self._where[rule_id]).role

    def match(
        self,
        failure: Failure,
        facts: Facts,
        logs: Mapping[LogHit, Sequence[RecordHit]],
        *,
        record_text: str = "",
        records: Sequence[LogRecord] = (),
    ) -> list[Match]:
        """Every rule that holds for a failure, best first; one match per rule and exception.

        `record_text` is the whole text of the failure's own log record, where it is more than `header` and `text`.
        With `records`, those that the failure was read from, evidence names the very line that holds it.
        """
        context = Context(failure, facts, logs, own_text(failure, record_text), self._searcher, records)
        best: dict[tuple[str, int | None], tuple[Head, Held, Match]] = {}
        for number in range(len(self._shelves)):
            for head, held, exception in self._holding(number, context):
                key = (head.id, exception)
                if key not in best or held.rank < best[key][1].rank:
                    match = Match(head.id, head.role, held.confidence, held.captures, held.evidence, exception)  # type: ignore[arg-type]
                    best[key] = (head, held, match)
        return ordered(list(best.values()))

    def _holding(self, shelf: int, context: Context) -> Iterator[tuple[Head, Held, int | None]]:
        """The conditions of one directory that hold."""
        for subject in subjects(context.failure):
            short = subject.type.rsplit(".", 1)[-1] if subject.type else None
            texts = normalize(subject.message), normalize(subject.code), normalize(subject.type or "")
            untyped = context.failure.quoted and short is None
            names = list(self._shelves[shelf].table.types) if untyped else [short] if short else []
            likely = (
                pair
                for name in (*names, None)
                for pair in drawers.likely(self._drawer(shelf, name), *texts, subject.normalized_places)
            )
            for rule, index in dict.fromkeys(likely):
                head = self._applying(shelf, rule, context.facts)
                held = head and holds(head, index, Test(*head.conditions[index]), subject, context)
                if head and held:
                    yield head, held, subject.position
        if context.text:
            yield from self._holding_alone(shelf, context)

    def _holding_alone(self, shelf: int, context: Context) -> Iterator[tuple[Head, Held, int | None]]:
        """The lone `log` conditions of one directory that hold for the failure's own record."""
        for entry in self._prefilters[shelf].entries(normalize(context.text)):
            rule, index = self._shelves[shelf].table.log_entries[entry]
            head = self._applying(shelf, rule, context.facts) if index >= 0 else None
            test = Test(*head.conditions[index]) if head else None
            if head and test and test.alone:
                held = holds(head, index, test, None, context)
                if held:
                    yield head, held, None

    def _drawer(self, shelf: int, name: str | None) -> drawers.Drawer:
        """The candidates filed under an exception's name, or (None) under no name."""
        found = self._drawers.get((shelf, name))
        if found is None:
            found = self._shelves[shelf].drawer(name)
            if len(self._drawers) < MOST_DRAWERS:
                self._drawers[shelf, name] = found
        return found

    def _applying(self, shelf: int, rule: int, facts: Facts) -> Head | None:
        """A rule's head, unless the rule is hidden or the log states a version that it does not apply to."""
        if (shelf, rule) in self._hidden:
            return None
        head = self._head(shelf, rule)
        return None if contradicted(head, facts) else head

    def _head(self, shelf: int, rule: int) -> Head:
        """A rule's head, unpacked once."""
        heads = self._heads[shelf]
        if rule not in heads:
            heads[rule] = self._shelves[shelf].head(rule)
        return heads[rule]

    def _test(self, hit: LogHit) -> Test:
        return Test(*self._head(*self._where[hit.rule_id]).conditions[hit.condition_index])


def _log_pattern(head: Head, place: int) -> Pattern | None:
    """The `log` pattern of a condition, or of its `not`."""
    test = Test(*head.conditions[place if place >= 0 else -1 - place])
    return test.log if place >= 0 else (Test(*test.negate).log if test.negate else None)


def _builtin() -> Shelf:
    """The rules that come with the tool: packed beside the package in a wheel, next to it in a checkout."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    shipped = f"{package}/_rules"
    if os.path.isdir(shipped):
        return prebuilt(f"{package}/_rules.bin", shipped) or open_shelf(shipped, installed=True)
    return open_shelf(f"{os.path.dirname(package)}/rules")
