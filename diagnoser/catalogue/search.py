"""Runs rule patterns: compiled when first needed, bounded in time, never able to stop a diagnosis.

A pattern that comes down to plain literals is looked up as text, without a regular expression engine.
"""

from time import perf_counter
from typing import Any

from diagnoser.records import NamedTuple

BUDGET = 0.2
"""Seconds that one pattern may take on one text; beyond it the pattern counts as not found."""
MOST_TIMEOUTS = 3
"""A pattern that ran out of time this often is not tried again."""
LONGEST_TEXT = 1 << 18
"""Characters of a text that are searched; messages beyond it are cut in the middle."""


Pattern = str | tuple[Any, ...]
"""A regular expression as it is; or the literals that searching for it comes down to; or, behind `ENGINE`, an
expression, the length of texts on which it can't take long, and what a text must contain for it (one literal of each
further entry).

On texts of that length it runs in the stdlib's engine, which knows no time limit but need not be loaded.
"""
ENGINE = ""


def expression(pattern: Pattern) -> str:
    """The regular expression of a pattern that is not down to literals."""
    return pattern if isinstance(pattern, str) else str(pattern[1])

_CASE_TWINS = str.maketrans({"\u212a": "k", "\u017f": "s", "\u0130": "i", "\u0131": "i"})
"""Letters beyond ASCII that match an ASCII letter when case is ignored."""


def normalize(text: str) -> str:
    """The text in the form that literals are looked up in: lower case, Unicode twins of ASCII letters folded."""
    return text.lower() if text.isascii() else text.translate(_CASE_TWINS).lower()


class Hit(NamedTuple):
    """Where a pattern was found and what its named groups hold."""

    start: int
    end: int
    groups: tuple[tuple[str, str], ...] = ()


class Searcher:
    """Compiled patterns and what went wrong with them."""

    def __init__(self) -> None:
        self._compiled: dict[str, Any] = {}
        self._quick: dict[str, Any] = {}
        self._slow: dict[str, int] = {}
        self.timeouts: dict[str, int] = {}
        """Patterns that ran out of time, with how often."""

    def search(self, pattern: Pattern, text: str) -> Hit | None:
        """The first place where a pattern holds."""
        if len(text) > LONGEST_TEXT:
            text = text[: LONGEST_TEXT // 2] + "\n" + text[-LONGEST_TEXT // 2 :]
        if isinstance(pattern, str):
            return self._bounded(pattern, text, full=False)
        if pattern[0] != ENGINE:
            return _find(pattern, text)
        if len(pattern) > 3:
            normalized = normalize(text)
            if not all(any(literal in normalized for literal in clause) for clause in pattern[3:]):
                return None
        return self._quick_or_bounded(pattern, text, full=False)

    def full(self, pattern: Pattern, text: str) -> Hit | None:
        """A match of the whole text."""
        if isinstance(pattern, str):
            return self._bounded(pattern, text, full=True)
        return self._quick_or_bounded(pattern, text, full=True)

    def _quick_or_bounded(self, pattern: tuple[Any, ...], text: str, *, full: bool) -> Hit | None:
        """In the engine that is there already, where that can't take long."""
        expressed: str = pattern[1]
        if len(text) > pattern[2] or self._slow.get(expressed, 0) >= MOST_TIMEOUTS:
            return self._bounded(expressed, text, full=full)
        compiled = self._quick.get(expressed)
        if compiled is None:
            from diagnoser.precompiled import compile_pattern

            compiled = self._quick[expressed] = compile_pattern(expressed)
        start = perf_counter()
        found = compiled.fullmatch(text) if full else compiled.search(text)
        if perf_counter() - start > BUDGET:
            self._slow[expressed] = self._slow.get(expressed, 0) + 1
        return _hit(found)

    def _bounded(self, pattern: str, text: str, *, full: bool) -> Hit | None:
        """Any pattern, with a limit on its time."""
        compiled = self._compiled.get(pattern)
        if compiled is None:
            import regex

            compiled = self._compiled[pattern] = regex.compile(pattern, regex.V0)
        if self.timeouts.get(pattern, 0) >= MOST_TIMEOUTS:
            return None
        try:
            found = compiled.fullmatch(text, timeout=BUDGET) if full else compiled.search(text, timeout=BUDGET)
        except TimeoutError:
            self.timeouts[pattern] = self.timeouts.get(pattern, 0) + 1
            return None
        return _hit(found)


def _hit(found: Any) -> Hit | None:
    """Either engine's match in our form."""
    if found is None:
        return None
    named = tuple((name, value) for name, value in found.groupdict().items() if value is not None)
    return Hit(found.start(), found.end(), named)


def _find(literals: tuple[str, ...], text: str) -> Hit | None:
    """The earliest literal; of two at one place the one that stands first in the pattern, as an alternation would."""
    best: Hit | None = None
    for literal in literals:
        at = text.find(literal)
        if at >= 0 and (best is None or at < best.start):
            best = Hit(at, at + len(literal))
    return best
