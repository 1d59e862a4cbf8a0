"""The runbook page of a rule: what a person reads before or after the crash, without any log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from diagnoser.catalogue import patterns
from diagnoser.catalogue.outline import outline, variants
from diagnoser.catalogue.rule import PATTERN_KEYS
from diagnoser.model import Condition, Remedy, Rule
from diagnoser.records import NamedTuple

SEVERITIES: Mapping[str, str] = {
    "config": "a setting of the deployment",
    "capacity": "not enough memory or devices",
    "environment": "the software or system it runs on",
    "hardware": "a device or link",
    "upstream-bug": "a defect in the serving software",
    "client": "what a client sends",
    "operator": "an operator's action",
}
"""Whose problem it is, in words."""
ROLES: Mapping[str, str] = {
    "cause": "This explains a failure.",
    "wrapper": "This only passes on a failure that happened elsewhere; its own text is never the cause.",
    "symptom": "This only follows from a failure elsewhere; it is never the cause.",
    "noise": "This looks like a failure but is none.",
}
POINTERS: Mapping[str, str] = {
    "worker": "a worker process",
    "engine-core": "the engine core process",
    "other-host": "another host",
    "native-line": "the line without a logger's prefix just before it",
    "same-record": "another place in the same log record",
}
KEYS: Mapping[str, str] = {
    "exception": "exception",
    "message": "message",
    "code": "raising line",
    "frame": "raising frame",
    "any_frame": "some frame",
    "log": "log",
}
"""What each key of a condition looks at, in words."""


class Signature(NamedTuple):
    """One way to recognise a rule: pairs of what is looked at and the pattern."""

    confidence: str
    parts: tuple[tuple[str, str], ...]


class Page(NamedTuple):
    """All that a runbook page says."""

    rule: Rule
    causes: tuple[str, ...]
    """Different wordings for different signatures."""
    steps: tuple[Remedy, ...]
    signatures: tuple[Signature, ...]
    versions: tuple[str, ...]
    before: tuple[str, ...]
    """Ids of rules that this one outranks."""
    after: tuple[str, ...]
    """Ids of rules that outrank this one."""
    example: str

    @property
    def source(self) -> str:
        """Where the fault lies, in words."""
        return SEVERITIES.get(self.rule.severity or "", "")


def page(rule: Rule, rules: Mapping[str, Rule]) -> Page:
    """The page of a rule; `rules` tells which others outrank it."""
    captures = [_names(condition) for condition in rule.matches]
    steps = tuple(
        Remedy(
            " Or: ".join(variants(remedy.do, captures)),
            outline(remedy.run) if remedy.run else None,
            " Or: ".join(variants(remedy.verify, captures)) if remedy.verify else None,
            " Or: ".join(variants(remedy.why, captures)) if remedy.why else None,
        )
        for remedy in rule.remedies
    )
    example = next((sample.log for sample in rule.samples if sample.expect == "match"), "")
    return Page(
        rule,
        variants(rule.cause, captures) if rule.cause else (),
        steps,
        tuple(_signature(condition) for condition in rule.matches),
        tuple(_versions(rule)),
        tuple(other for other in rule.outranks if other in rules),
        tuple(sorted(other.id for other in rules.values() if rule.id in other.outranks)),
        example.strip("\n"),
    )


def _names(condition: Condition) -> tuple[str, ...]:
    given = [pattern for key in PATTERN_KEYS if (pattern := getattr(condition, key))]
    return tuple(name for pattern in given for name in patterns.group_names(pattern))


def _signature(condition: Condition) -> Signature:
    parts = list(_parts(condition, ""))
    if condition.log and len(parts) > 1:
        where = "the same process, before it" if condition.near == "process" else "anywhere in the log"
        parts = [(f"{name} ({where})" if name == "log" else name, pattern) for name, pattern in parts]
    if condition.negate:
        parts += _parts(condition.negate, "but not ")
    return Signature(condition.confidence, tuple(parts))


def _parts(condition: Condition, prefix: str) -> Iterator[tuple[str, str]]:
    for key in PATTERN_KEYS:
        pattern = getattr(condition, key)
        if pattern:
            yield prefix + KEYS[key], pattern
    for name, wanted in condition.fact:
        yield prefix + "fact", f"{name} {wanted}" if wanted[:1] in "<>=!~" else f"{name} = {wanted}"


def _versions(rule: Rule) -> Iterator[str]:
    for package, wanted in rule.applies:
        yield f"{package} {wanted}"
    if rule.fixed_in:
        yield f"fixed in {rule.fixed_in}"
