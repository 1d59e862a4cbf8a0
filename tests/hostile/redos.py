"""Looks for regular expressions whose time grows out of proportion: over the whole package and over every rule.

    python tests/hostile/redos.py            patterns of the package, then those of the rules

Each pattern is tried on texts that are made from it (they begin like a match, go on with what its repetitions like,
and never end like one) and on a few that hurt in general, each twice as long as the one before. What takes too long on
a line of the greatest length is named.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import diagnoser
from diagnoser.catalogue.backtracking import attacks
from diagnoser.catalogue.patterns import tree
from diagnoser.lazy import _LazyPattern

LONGEST_LINE = 64 * 1024
"""Characters: the reader cuts longer lines."""
MOST_SECONDS = 1.0
"""On one line of that length."""
_TRIAL = 0.02
_SHORT_LENGTHS = (16, 20, 24, 28, 32, 38, 46, 56, 70, 100)
"""Exponential time shows on these already."""
SHORT = {
    "diagnoser.fingerprints._VARIABLE": 2_000,
    "diagnoser.catalogue.loader._TOML_PLACE": 500,
    "diagnoser.catalogue.loader._HEADER": 2_000,
    "diagnoser.preflight.mooncake_sizes._VLLM": 100,
    "diagnoser.preflight.mooncake_sizes._OWN": 100,
}
"""Patterns that see no text longer than this many characters, whatever the log holds."""
_GENERAL = (
    " ",
    "\t",
    "a",
    "1",
    "a.",
    "1.",
    "/a",
    "- ",
    "\\",
    "'",
    '"',
    "(",
    "[",
    "{",
    "a b ",
    "a=1 ",
    ": ",
    "File ",
    "a|b ",
    "\x1b[",
)


class Slow(NamedTuple):
    """A pattern and the text that it is slow on."""

    where: str
    pattern: str
    text: str
    seconds: float
    """Foretold for the longest line."""


def package_patterns() -> Iterator[tuple[str, str, int]]:
    """Where, pattern and flags of every regular expression that a module of the package holds."""
    seen: set[tuple[str, int]] = set()
    for module in pkgutil.walk_packages(diagnoser.__path__, "diagnoser."):
        if module.name.endswith("__main__"):
            continue
        loaded = importlib.import_module(module.name)
        for name, value in vars(loaded).items():
            for pattern, flags in _patterns_in(value, 0):
                if (pattern, flags) not in seen:
                    seen.add((pattern, flags))
                    yield f"{module.name}.{name}", pattern, flags


def _patterns_in(value: Any, depth: int) -> Iterator[tuple[str, int]]:
    if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
        yield value.pattern, value.flags & ~re.UNICODE
    elif isinstance(value, _LazyPattern):
        yield value.pattern, value.flags
    elif type(value).__name__ == "Envelope":
        yield value.pattern, 0
    elif depth < 4 and isinstance(value, (tuple, list, frozenset, set)):
        for part in value:
            yield from _patterns_in(part, depth + 1)
    elif depth < 4 and isinstance(value, dict):
        for part in value.values():
            yield from _patterns_in(part, depth + 1)


def texts(pattern: str) -> Iterator[tuple[str, str]]:
    """A beginning and what is repeated after it."""
    try:
        parsed = tree(pattern)
        for attack in attacks(parsed, 400):
            yield "", attack[:-1]
    except Exception:  # what the stdlib can't take apart is tried with the general texts alone
        pass
    for pump in _GENERAL:
        yield "", pump


def is_searched(where: str) -> bool:
    """Whether the pattern is looked for anywhere in a text, not only at its start."""
    module, _, name = where.rpartition(".")
    package = Path(diagnoser.__file__).parent
    own = re.compile(rf"\b{re.escape(name)}\.(?:search|subn?|finditer|findall|split)\(")
    handed_on = re.compile(rf"[(\[{{,=] ?{re.escape(name)}[,)\]}}\n]|for \w+(?:, \w+)* in {re.escape(name)}\b")
    for path in package.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        imported = (
            path == package.parent.joinpath(*module.split(".")).with_suffix(".py") or f"from {module} import" in source
        )
        if imported and (own.search(source) or handed_on.search(source)):
            return True
    return False


def slow(where: str, pattern: str, flags: int) -> Slow | None:
    """The slowest of the texts when it takes too long, else None."""
    compiled = re.compile(pattern, flags)
    run = compiled.search if is_searched(where) else compiled.match
    worst: Slow | None = None
    for start, pump in dict.fromkeys(texts(pattern)):
        seconds = _foretold(run, start, pump, SHORT.get(where, LONGEST_LINE))
        if seconds > MOST_SECONDS and (worst is None or seconds > worst.seconds):
            worst = Slow(where, pattern, (start + pump)[:60], seconds)
    return worst


def _foretold(run: Callable[[str], object], start: str, pump: str, longest: int) -> float:
    """Seconds for a line of the greatest length, from shorter ones; without end where a short one takes long."""
    before = 0.0
    for length in (*_SHORT_LENGTHS, *(1_000 << step for step in range(7) if 1_000 << step <= longest)):
        text = (start + pump * (length // len(pump) + 1))[:length] + "\x00"
        took = _took(run, text)
        if took > _TRIAL:  # a second look: the machine may have been busy
            took = min(took, _took(run, text))
        if took > _TRIAL and length < 1_000:
            return float("inf")
        if took > _TRIAL:
            growth = took / before if before > 1e-4 else 4.0
            doublings = 0
            while length << doublings < longest:
                doublings += 1
            return took * max(growth, 1.0) ** doublings
        before = took
    return before


def _took(run: Callable[[str], object], text: str) -> float:
    started = time.process_time()
    run(text)
    return time.process_time() - started


def rule_patterns() -> Iterator[tuple[str, str, int]]:
    """The same for every pattern of every rule."""
    from diagnoser.catalogue import Catalogue
    from diagnoser.model import Condition

    def parts(condition: Condition) -> Iterator[str]:
        for value in (condition.message, condition.code, condition.frame, condition.any_frame, condition.log):
            if value is not None:
                yield value
        if condition.negate is not None:
            yield from parts(condition.negate)

    catalogue = Catalogue.of_directory(str(Path(diagnoser.__file__).parents[1] / "rules"))
    for rule in catalogue.rules.values():
        for condition in rule.matches:
            for pattern in parts(condition):
                yield rule.id, pattern, 0


def slow_rule(where: str, pattern: str) -> Slow | None:
    """The same by the engine that rules run on, which stops by itself: how long until then, at most."""
    import regex

    compiled = regex.compile(pattern, regex.V0)
    for start, pump in dict.fromkeys(texts(pattern)):
        text = (start + pump * (LONGEST_LINE // 4 // len(pump) + 1))[: LONGEST_LINE // 4] + "\x00"
        started = time.process_time()
        try:
            compiled.search(text, timeout=MOST_SECONDS)
        except TimeoutError:
            return Slow(where, pattern, (start + pump)[:60], time.process_time() - started)
    return None


def main() -> int:
    """0 when nothing is slow."""
    found = 0
    counts = [0, 0]
    for where, pattern, flags in package_patterns():
        counts[0] += 1
        if bad := slow(where, pattern, flags):
            found += 1
            print(f"{bad.where}: {bad.seconds:.1f} s on {bad.text!r}\n    {bad.pattern[:300]!r}", flush=True)
    for where, pattern, _ in rule_patterns():
        counts[1] += 1
        if bad := slow_rule(where, pattern):
            found += 1
            print(f"rule {bad.where}: {bad.seconds:.1f} s on {bad.text!r}\n    {bad.pattern[:300]!r}", flush=True)
    print(f"{counts[0]} patterns of the package, {counts[1]} of rules: {found} slow")
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
