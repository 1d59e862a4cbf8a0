"""Finds the few `log` patterns worth running on a text: those whose literals it holds.

Two ways that give the same answer. Building a multi-literal automaton for thousands of literals takes longer than a
small log takes as a whole, so a run starts with a table of four-character pieces and goes over to the automaton when
it has seen enough text to earn it back.
"""

from __future__ import annotations

from typing import Any

from diagnoser.catalogue.index import GRAM, Index

PAYS_AFTER = 20
"""Characters of text per literal after which the automaton pays: adding a literal takes 2 µs, a character 0.1 µs."""


class Prefilter:
    """The log patterns of one index."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._left = PAYS_AFTER * len(index.log_literals)
        self._automaton: Any = None
        self._plain = False
        self._last: tuple[str, tuple[int, ...]] = ("", ())

    def entries(self, normalized: str) -> tuple[int, ...]:
        """Numbers of the log patterns that may hold for a text (see `search.normalize`), in their order."""
        if self._last[0] == normalized and normalized:
            return self._last[1]
        index = self._index
        found = set(index.log_always)
        for literal in self._literals(normalized):
            found.update(index.log_owners[literal])
        entries = tuple(sorted(found))
        self._last = (normalized, entries)
        return entries

    def _literals(self, text: str) -> set[int]:
        """Numbers of the literals that stand in a text."""
        if self._automaton is not None:
            return set(self._automaton_hits(text))
        index = self._index
        self._left -= len(text)
        if self._left < 0 and not self._plain:
            self._build()
        grams = index.log_grams
        pieces = grams.keys() & {text[at : at + GRAM] for at in range(len(text) - GRAM + 1)}
        numbers = [number for piece in pieces for number in grams[piece]]
        numbers.extend(index.log_short)
        return {number for number in numbers if index.log_literals[number] in text}

    def _automaton_hits(self, text: str) -> list[int]:
        return [hit[0] for hit in self._automaton.find_matches_as_indexes(text, overlapping=True)]

    def _build(self) -> None:
        """Goes over to the automaton; without its library the table does."""
        self._plain = True
        if not self._index.log_literals:
            return
        try:
            from ahocorasick_rs import AhoCorasick, Implementation
        except ImportError:
            return
        self._automaton = AhoCorasick(self._index.log_literals, implementation=Implementation.ContiguousNFA)
