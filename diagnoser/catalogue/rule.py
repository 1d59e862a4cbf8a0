"""The shape of a rule file: which keys there are, what they may hold, and how they become a `Rule`.

A rule file is TOML:

    id    = "parallel-kv-heads-not-divisible"
    title = "KV heads do not divide across the tensor-parallel ranks"
    …

`read_rule` collects every error of a file, each with its key; the loader adds the line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, get_args

from diagnoser.model import (
    CONFIDENCES,
    Condition,
    Impact,
    Reference,
    Remedy,
    Role,
    Rule,
    Sample,
    Severity,
    Status,
)
from diagnoser.records import NamedTuple

PATTERN_KEYS = ("exception", "message", "code", "frame", "any_frame", "log")
"""The keys of a `[[match]]` that hold a regular expression."""
SUBJECT_KEYS = PATTERN_KEYS[:-1]
"""Those that look at an exception; a condition with none of them is about a log record."""
NEAR = ("process", "anywhere")
POINTS_TO = ("worker", "engine-core", "other-host", "native-line", "same-record")
FORBIDDEN_IN_NOT = ("confidence", "not")

TEXT_KEYS = ("id", "title", "role", "family", "severity", "status", "fetch", "points_to", "impact", "cause", "check")
LIST_KEYS = ("outranks", "match", "remedy", "reference", "sample")
RULE_KEYS = (*TEXT_KEYS, *LIST_KEYS, "applies", "fixed_in")
CHOICES: Mapping[str, tuple[str, ...]] = {
    "role": get_args(Role),
    "severity": get_args(Severity),
    "status": get_args(Status),
    "impact": get_args(Impact),
    "points_to": POINTS_TO,
}
CONDITION_KEYS = ("confidence", *PATTERN_KEYS, "near", "fact", "not")
REMEDY_KEYS = Remedy._fields
REFERENCE_KEYS = Reference._fields
SAMPLE_KEYS = Sample._fields
EXPECTATIONS = ("match", "no-match")
REQUIRED = ("id", "title", "role", "family", "match")


class Problem(NamedTuple):
    """Something wrong in a rule file, at a key such as `match[0].message`."""

    key: str
    text: str


class RuleReader:
    """Turns the tables of one rule file into a `Rule`, noting every problem on the way."""

    def __init__(self, table: Mapping[str, Any], check_pattern: Callable[[str], str | None]) -> None:
        self.table = table
        self.check_pattern = check_pattern
        self.problems: list[Problem] = []

    def note(self, key: str, text: str) -> None:
        """Remember a problem."""
        self.problems.append(Problem(key, text))

    def read(self) -> Rule | None:
        """The rule, or None when `problems` says why there is none."""
        self.refuse_unknown("", self.table, RULE_KEYS)
        for key in REQUIRED:
            if key not in self.table:
                self.note(key, "is missing")
        applies, fixed_in = self.read_applies()
        texts = {key: self.text(key, self.table, CHOICES.get(key)) for key in TEXT_KEYS}
        rule = Rule(
            id=texts["id"] or "",
            title=texts["title"] or "",
            role=texts["role"] or "cause",  # type: ignore[arg-type]
            family=texts["family"] or "",
            severity=texts["severity"],  # type: ignore[arg-type]
            status=texts["status"] or "draft",  # type: ignore[arg-type]
            matches=tuple(self.condition(key, entry) for key, entry in self.tables("match")),
            cause=(texts["cause"] or "").strip("\n"),
            remedies=tuple(self.remedy(key, entry) for key, entry in self.tables("remedy")),
            references=tuple(self.reference(key, entry) for key, entry in self.tables("reference")),
            samples=tuple(self.sample(key, entry) for key, entry in self.tables("sample")),
            outranks=self.outranks(),
            fetch=texts["fetch"],
            points_to=texts["points_to"],
            impact=texts["impact"],  # type: ignore[arg-type]
            applies=applies,
            fixed_in=fixed_in,
            check=texts["check"],
        )
        return None if self.problems else rule

    def refuse_unknown(self, prefix: str, table: Mapping[str, Any], known: tuple[str, ...]) -> None:
        """Note every key that has no meaning here, with the nearest one that has."""
        for key in table:
            if key not in known:
                self.note(prefix + key, f"unknown key{_nearest(key, known)}")

    def text(
        self, key: str, table: Mapping[str, Any], choices: tuple[str, ...] | None = None, prefix: str = ""
    ) -> str | None:
        """The text at a key; an empty text counts as none."""
        value = table.get(key)
        if value is None:
            return None
        if not isinstance(value, str):
            self.note(prefix + key, f"expected a text, found {_kind(value)}")
            return None
        if choices is not None and value not in choices:
            self.note(prefix + key, f"{value!r} is none of {', '.join(choices)}")
            return None
        return value or None

    def tables(self, key: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Each `[[key]]` with its place, such as `match[0]`."""
        entries = self.table.get(key, [])
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            self.note(key, f"expected [[{key}]] tables")
            return
        if key == "match" and key in self.table and not entries:
            self.note(key, "needs at least one [[match]]")
        for number, entry in enumerate(entries):
            yield f"{key}[{number}]", entry

    def read_applies(self) -> tuple[tuple[tuple[str, str], ...], str | None]:
        """The version ranges and the version that brought the fix."""
        applies = self.table.get("applies", {})
        if not isinstance(applies, dict):
            self.note("applies", f"expected a table, found {_kind(applies)}")
            return (), None
        fixed_in = self.text("fixed_in", applies, prefix="applies.") or self.text("fixed_in", self.table)
        pairs = []
        for package in applies:
            if package != "fixed_in":
                wanted = self.text(package, applies, prefix="applies.")
                if wanted:
                    pairs.append((package, wanted))
        return tuple(pairs), fixed_in

    def outranks(self) -> tuple[str, ...]:
        """The ids that this rule goes before."""
        value = self.table.get("outranks", [])
        if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
            self.note("outranks", "expected a list of rule ids")
            return ()
        return tuple(value)

    def condition(self, prefix: str, table: Mapping[str, Any]) -> Condition:
        """One `[[match]]`."""
        self.refuse_unknown(f"{prefix}.", table, CONDITION_KEYS)
        confidence = self.text("confidence", table, CONFIDENCES, f"{prefix}.") or "certain"
        condition = self.keys(prefix, table)._replace(confidence=confidence)  # type: ignore[arg-type]
        if not any(getattr(condition, key) for key in PATTERN_KEYS):
            self.note(prefix, f"needs at least one of {', '.join(PATTERN_KEYS)}")
        negated = table.get("not")
        if negated is None:
            return condition
        if not isinstance(negated, dict) or not negated:
            self.note(f"{prefix}.not", "expected a table such as { message = '…' }")
            return condition
        self.refuse_unknown(f"{prefix}.not.", negated, tuple(k for k in CONDITION_KEYS if k not in FORBIDDEN_IN_NOT))
        refused = self.keys(f"{prefix}.not", negated)
        if "near" not in negated:
            refused = refused._replace(near=condition.near)
        return condition._replace(negate=refused)

    def keys(self, prefix: str, table: Mapping[str, Any]) -> Condition:
        """The keys that a condition and its `not` share."""
        found: dict[str, str | None] = {}
        for key in PATTERN_KEYS:
            found[key] = pattern = self.text(key, table, prefix=f"{prefix}.")
            trouble = self.check_pattern(pattern) if pattern else None
            if trouble:
                self.note(f"{prefix}.{key}", trouble)
        near = self.text("near", table, NEAR, f"{prefix}.") or "process"
        return Condition(**found, near=near, fact=self.fact(f"{prefix}.fact", table.get("fact", {})))  # type: ignore[arg-type]

    def fact(self, prefix: str, table: object) -> tuple[tuple[str, str], ...]:
        """Pairs of fact name and comparison; numbers and booleans are taken as their text."""
        if not isinstance(table, dict):
            self.note(prefix, f"expected a table such as {{ tensor_parallel_size = '>1' }}, found {_kind(table)}")
            return ()
        pairs = []
        for name, value in table.items():
            if isinstance(value, bool):
                pairs.append((name, "true" if value else "false"))
            elif isinstance(value, str | int | float):
                pairs.append((name, str(value)))
                trouble = self.check_pattern(value[1:]) if isinstance(value, str) and value.startswith("~") else None
                if trouble:
                    self.note(f"{prefix}.{name}", trouble)
            else:
                self.note(f"{prefix}.{name}", f"expected a text, a number or a boolean, found {_kind(value)}")
        return tuple(pairs)

    def remedy(self, prefix: str, table: Mapping[str, Any]) -> Remedy:
        """One `[[remedy]]`."""
        self.refuse_unknown(f"{prefix}.", table, REMEDY_KEYS)
        texts = [self.text(key, table, prefix=f"{prefix}.") for key in REMEDY_KEYS]
        if "do" not in table:
            self.note(f"{prefix}.do", "is missing")
        return Remedy(texts[0] or "", *texts[1:])

    def reference(self, prefix: str, table: Mapping[str, Any]) -> Reference:
        """One `[[reference]]`."""
        self.refuse_unknown(f"{prefix}.", table, REFERENCE_KEYS)
        url = self.text("url", table, prefix=f"{prefix}.")
        if not url:
            self.note(f"{prefix}.url", "is missing")
        return Reference(self.text("title", table, prefix=f"{prefix}.") or url or "", url or "")

    def sample(self, prefix: str, table: Mapping[str, Any]) -> Sample:
        """One `[[sample]]`."""
        self.refuse_unknown(f"{prefix}.", table, SAMPLE_KEYS)
        for key in SAMPLE_KEYS:
            if key not in table:
                self.note(f"{prefix}.{key}", "is missing")
        expect = self.text("expect", table, EXPECTATIONS, f"{prefix}.") or "match"
        return Sample(expect, self.text("log", table, prefix=f"{prefix}.") or "")  # type: ignore[arg-type]


def _kind(value: object) -> str:
    """The TOML name of a value's type."""
    names = {bool: "a boolean", int: "a number", float: "a number", str: "a text", list: "a list", dict: "a table"}
    return names.get(type(value), f"a {type(value).__name__}")


def _nearest(word: str, known: tuple[str, ...]) -> str:
    """A hint at the key that was probably meant."""
    import difflib

    close = difflib.get_close_matches(word, known, n=1)
    return f"; did you mean {close[0]}?" if close else f"; known are {', '.join(known)}"
