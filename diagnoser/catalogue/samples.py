"""Runs the samples of rules: each matching sample must match, each near miss must not, and for the right reason.

- **matrix**: on the failure that a sample of cause rule A is about, another cause rule B may hold only when one of the
  two outranks the other;
- **mutation**: without the lines that the match rests on, it must be gone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from diagnoser.catalogue.linter import ordered
from diagnoser.catalogue.loader import key_lines
from diagnoser.errors import RuleError
from diagnoser.model import Failure, Match, Rule, Sample
from diagnoser.records import NamedTuple

MOST_MUTATIONS = 8
"""Rounds of dropping lines: a sample may show one error several times."""

Matched = list[tuple[Failure, list[Match]]]
FailuresOf = Callable[[str], Matched]
"""Gives every failure in a text with all its matches."""


class Outcome(NamedTuple):
    """What testing some rules came to."""

    rules: int
    samples: int
    errors: tuple[RuleError, ...]


def check(
    rules: Mapping[str, Rule], wanted: Iterable[str], failures_of: FailuresOf, *, mutate: bool = True
) -> Outcome:
    """Tests the wanted rules; `rules` holds all that are in force."""
    errors: list[RuleError] = []
    tested = samples = 0
    for rule_id in sorted(wanted):
        rule = rules[rule_id]
        tested += 1
        samples += len(rule.samples)
        lines: dict[str, int] | None = None
        for number, sample in enumerate(rule.samples):
            for problem in _sample(rule, sample, rules, failures_of, mutate=mutate):
                lines = _lines(rule.path) if lines is None else lines
                key = f"sample[{number}]"
                errors.append(RuleError(rule.path, problem, line=lines.get(f"{key}.log", lines.get(key)), key=key))
    return Outcome(tested, samples, tuple(errors))


def cross(rules: Mapping[str, Rule], mine: Iterable[str], failures_of: FailuresOf) -> tuple[RuleError, ...]:
    """The matrix the other way round: which of `mine` hold on the samples of all other rules without an order."""
    own = frozenset(mine)
    errors = []
    for rule in rules.values():
        if rule.id in own or rule.role != "cause":
            continue
        for number, sample in enumerate(rule.samples):
            if sample.expect == "match":
                for other in _rivals(rule, failures_of(sample.log), rules):
                    if other in own:
                        problem = f"also holds on sample[{number}] of {rule.id}; say which outranks the other"
                        errors.append(RuleError(rules[other].path, problem, line=1))
    return tuple(dict.fromkeys(errors))


def _sample(
    rule: Rule, sample: Sample, rules: Mapping[str, Rule], failures_of: FailuresOf, *, mutate: bool
) -> Iterator[str]:
    """What is wrong with one sample."""
    found = failures_of(sample.log)
    if sample.expect == "no-match":
        held = next((match for match in _matches(rule.id, found)), None)
        if held is not None:
            yield f"must not match, but does{_because(held)}"
        return
    if not any(_matches(rule.id, found)):
        yield f"must match, but does not; {_summary(found)}"
        return
    if rule.role == "cause":
        for other in _rivals(rule, found, rules):
            yield f"{other} holds here too and neither outranks the other"
    if mutate:
        survivor = _survivor(rule.id, sample.log, found, failures_of)
        if survivor is not None:
            yield survivor


def _matches(rule_id: str, found: Matched) -> Iterator[Match]:
    return (match for _, matches in found for match in matches if match.rule == rule_id)


def _rivals(rule: Rule, found: Matched, rules: Mapping[str, Rule]) -> list[str]:
    """Cause rules that hold on the same exception as the rule, without an order between them."""
    rivals: set[str] = set()
    for _, matches in found:
        own = [match.exception for match in matches if match.rule == rule.id]
        for match in matches:
            if match.role != "cause" or match.rule == rule.id or not own:
                continue
            same = None in own or match.exception is None or match.exception in own
            if same and not ordered(rule.id, match.rule, rules):
                rivals.add(match.rule)
    return sorted(rivals)


def _survivor(rule_id: str, log: str, found: Matched, failures_of: FailuresOf) -> str | None:
    """Why the match does not hang on the lines that it names, or None when it is gone without them."""
    lines = log.split("\n")
    alive = set(range(1, len(lines) + 1))
    for _ in range(MOST_MUTATIONS):
        cited = {evidence.line for match in _matches(rule_id, found) for evidence in match.evidence}
        # Line numbers of a shortened text lead back to those of the whole one.
        order = sorted(alive)
        dropped = {order[line - 1] for line in cited if 0 < line <= len(order)}
        if not dropped:
            return "holds without naming a line of the sample"
        alive -= dropped
        found = failures_of("\n".join(lines[line - 1] for line in sorted(alive)))
        if not any(_matches(rule_id, found)):
            return None
    return f"still matches after {MOST_MUTATIONS} rounds of dropping the lines that it rests on"


def _because(match: Match) -> str:
    """The line that a match rests on."""
    first = next(iter(match.evidence), None)
    return f": line {first.line}, {first.text.strip()[:120]!r}" if first else ""


def _summary(found: Sequence[tuple[Failure, list[Match]]]) -> str:
    """What was found in a sample instead."""
    if not found:
        return "no failure was found in it"
    parts = []
    for failure, matches in found[:3]:
        head = (failure.type or failure.kind) + (f": {failure.message.splitlines()[0][:80]}" if failure.message else "")
        parts.append(f"{head} [{', '.join(match.rule for match in matches[:3]) or 'no rule'}]")
    return "found: " + "; ".join(parts)


def _lines(path: str) -> dict[str, int]:
    try:
        with open(path, encoding="utf-8") as stream:
            return key_lines(stream.read())
    except (OSError, UnicodeDecodeError):
        return {}
