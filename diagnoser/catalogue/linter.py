"""What must not get into the catalogue: patterns that are too general or too slow, texts that can't be filled, gaps.

Works on rules that already load; what a loader refuses is not repeated here. Nothing is run on logs, see `samples`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from diagnoser.catalogue import patterns
from diagnoser.catalogue.backtracking import ATTACK_LENGTH, danger
from diagnoser.catalogue.literals import required, surest_literal
from diagnoser.catalogue.loader import key_lines
from diagnoser.catalogue.rule import PATTERN_KEYS
from diagnoser.catalogue.search import LONGEST_TEXT
from diagnoser.catalogue.versions import version, within
from diagnoser.errors import RuleError
from diagnoser.model import Condition, Rule

SHORTEST_LITERAL = 4
LONGEST_TITLE = 100

_EVERYWHERE = frozenset(
    {
        "Exception", "BaseException", "RuntimeError", "ValueError", "AssertionError", "TypeError", "KeyError",
        "OSError", "AttributeError", "IndexError", "NotImplementedError", "SystemExit", "ImportError", "Error",
        "IOError",
        "ConnectionError", "TimeoutError", "LookupError", "ArithmeticError", "EnvironmentError",
    }
)  # fmt: skip
"""Exceptions that say nothing by their name alone."""
_SCOPE = frozenset({"facts", "failure"})
_TRIALS = ("8", "8.5", "x")
"""Values that a sentence is tried with; one of them must do."""
LONGEST_TRIAL = {"exception": 200, "frame": 400, "any_frame": 400, "code": 1_000}
"""Characters that a key's texts have at most, where these are few; its patterns are tried on texts of that length."""
_STEPS = ("do", "run", "verify", "why")

Note = tuple[str, str]
"""Key and problem."""


def lint(rules: Mapping[str, Rule], wanted: Iterable[str] | None = None) -> list[RuleError]:
    """Every problem of the wanted rules (all by default), in the order of their files."""
    errors: list[RuleError] = []
    for rule_id in sorted(rules if wanted is None else wanted):
        rule = rules[rule_id]
        notes = [note for check in _CHECKS for note in check(rule)]
        notes.extend(_order(rule, rules))
        if notes:
            lines = _lines(rule.path)
            errors.extend(RuleError(rule.path, text, line=_line(lines, key), key=key) for key, text in notes)
    return errors


def _general(rule: Rule) -> Iterator[Note]:
    """Conditions that would hold for far too much."""
    for key, condition in _conditions(rule):
        names = patterns.alternatives(condition.exception) if condition.exception else None
        others = [pattern for name, pattern in _patterns(condition) if name != "exception"]
        literal = max(map(surest_literal, others), default=0)
        typed = condition.exception and (names or required(condition.exception))
        if not typed and literal < SHORTEST_LITERAL:
            yield key, f"too general: names neither an exception type nor a literal of {SHORTEST_LITERAL} characters"
        elif typed and names and _EVERYWHERE.issuperset(names) and not _says_more(condition):
            yield key, f"too general: every {' or '.join(names)} would match"


def _says_more(condition: Condition) -> bool:
    """Whether a condition asks for something beside the exception's name; a `fact` or a `not` alone is not enough."""
    return any(pattern for key, pattern in _patterns(condition) if key != "exception")


def _slow(rule: Rule) -> Iterator[Note]:
    """Patterns that an unlucky text could keep busy."""
    for key, condition in _conditions(rule):
        for part, some in ((key, condition), (f"{key}.not", condition.negate)):
            for name, pattern in _patterns(some) if some else ():
                found = danger(pattern, LONGEST_TRIAL.get(name, ATTACK_LENGTH))
                if found:
                    yield f"{part}.{name}", f"too slow: {found}"


def _compiles(rule: Rule) -> Iterator[Note]:
    """Patterns that the `regex` module reads otherwise than the stdlib does."""
    import regex

    for key, condition in _conditions(rule):
        for name, pattern in _patterns(condition):
            try:
                regex.compile(pattern, regex.V0)
            except regex.error as error:
                yield f"{key}.{name}", f"not a regular expression to the regex module: {error}"


def _complete(rule: Rule) -> Iterator[Note]:
    """What a rule of its role must have."""
    if rule.role == "cause":
        for key, value in (("severity", rule.severity), ("cause", rule.cause), ("remedy", rule.remedies)):
            if not value:
                yield key, "is missing (cause rules need it)"
    quotes = any("inner" in patterns.group_names(p) for _, c in _conditions(rule) for _, p in _patterns(c))
    if rule.role == "wrapper" and not rule.points_to and not quotes:
        yield "points_to", "is missing (wrapper rules need it, or a named group `inner` around the quoted error)"
    expectations = [sample.expect for sample in rule.samples]
    for wanted, what in (("match", "a sample that matches"), ("no-match", "a near miss that must not match")):
        if wanted not in expectations:
            yield "sample", f"is missing: {what} (expect = {wanted!r})"
    for number, sample in enumerate(rule.samples):
        if not sample.log.strip():
            yield f"sample[{number}].log", "is empty"


def _wording(rule: Rule) -> Iterator[Note]:
    """Titles and references."""
    if len(rule.title) > LONGEST_TITLE:
        yield "title", f"longer than {LONGEST_TITLE} characters"
    if rule.title.endswith("."):
        yield "title", "is a headline: no full stop at its end"
    for key, text in _all_texts(rule):
        if text and "TODO" in text:
            yield key, "is still to be written"
    for number, reference in enumerate(rule.references):
        if not re.fullmatch(r"https://[^\s/]+\.[^\s]+", reference.url):
            yield f"reference[{number}].url", f"{reference.url!r} is no https:// address"


def _versions(rule: Rule) -> Iterator[Note]:
    """Version ranges that can't be compared."""
    for package, wanted in rule.applies:
        if within("1.0", wanted) is None:
            yield f"applies.{package}", f"{wanted!r} is no version range such as '>=0.6,<0.12'"
    if rule.fixed_in and version(rule.fixed_in) is None:
        yield "applies.fixed_in", f"{rule.fixed_in!r} is no version"


def _places(rule: Rule) -> Iterator[Note]:
    """Files and folders: a rule lies in the folder of its family."""
    folder = os.path.basename(os.path.dirname(rule.path))
    root = os.path.basename(os.path.dirname(os.path.dirname(rule.path)))
    if root in ("rules", "_rules") and folder != rule.family:
        yield "family", f"{rule.family!r} is not the folder that the file lies in ({folder!r})"


def _texts(rule: Rule) -> Iterator[Note]:
    """Templates: syntax, names, and whether each sentence can be filled whatever alternative held."""
    from diagnoser.catalogue import sandbox
    from diagnoser.catalogue.templates import render

    captures = [_captures(condition) for condition in rule.matches]
    known = _SCOPE.union(*(names for names, _ in captures))
    for key, text in _templates(rule):
        trouble = sandbox.unknown_syntax(text)
        if trouble:
            yield key, f"not a template that rules may use: {trouble}"
            continue
        unknown = sorted(sandbox.variables_of(text) - known)
        if unknown:
            names = ", ".join(sorted(known))
            yield key, f"unknown variable {', '.join(unknown)}: no [[match]] captures it; known are {names}"
        elif not key.endswith(".run"):
            for number, (_, certain) in enumerate(captures):
                if all(render(text, _dummies(certain, value)) is None for value in _TRIALS):
                    advice = "put {% if … %} around what may be missing"
                    yield key, f"can't be filled when match[{number}] held alone: {advice}"
                    break
        if key.endswith(".run") and (quoted := _quoted_values(text)):
            yield key, f"{quoted} stands inside quotes: let `| shq` quote the whole word instead"


def _order(rule: Rule, rules: Mapping[str, Rule]) -> Iterator[Note]:
    """`outranks`: ids that exist, no circles, no two cause rules with one and the same condition."""
    for other in rule.outranks:
        if other not in rules:
            yield "outranks", f"there is no rule {other!r}"
    if rule.id in _above(rule.id, rules):
        yield "outranks", f"goes in a circle: {rule.id} is outranked by what it outranks"
    if rule.role != "cause":
        return
    for key, condition in _conditions(rule):
        for rival in rules.values():
            if rival.role != "cause" or rival.id <= rule.id or not any(_same(condition, c) for c in rival.matches):
                continue
            if not ordered(rule.id, rival.id, rules):
                yield key, f"is also a condition of {rival.id}: say which rule outranks the other"


def ordered(first: str, second: str, rules: Mapping[str, Rule]) -> bool:
    """Whether one of two rules outranks the other, directly or through others."""
    return second in _above(first, rules) or first in _above(second, rules)


def _above(rule_id: str, rules: Mapping[str, Rule]) -> set[str]:
    """Everything that a rule outranks, directly or through others."""
    found: set[str] = set()
    waiting = list(rules[rule_id].outranks) if rule_id in rules else []
    while waiting:
        other = waiting.pop()
        if other not in found:
            found.add(other)
            waiting.extend(rules[other].outranks if other in rules else ())
    return found


def _same(left: Condition, right: Condition) -> bool:
    return left._replace(confidence="certain") == right._replace(confidence="certain")


def _conditions(rule: Rule) -> Iterator[tuple[str, Condition]]:
    for number, condition in enumerate(rule.matches):
        yield f"match[{number}]", condition


def _patterns(condition: Condition) -> list[tuple[str, str]]:
    return [(key, pattern) for key in PATTERN_KEYS if (pattern := getattr(condition, key))]


def _captures(condition: Condition) -> tuple[frozenset[str], frozenset[str]]:
    """Names that a condition captures, and those among them that it always captures."""
    given = [pattern for _, pattern in _patterns(condition)]
    names = frozenset(name for pattern in given for name in patterns.group_names(pattern))
    return names, frozenset(name for pattern in given for name in patterns.certain_groups(pattern))


def _all_texts(rule: Rule) -> Iterator[tuple[str, str | None]]:
    """Every text that a report can show, with its key."""
    yield from (("title", rule.title), ("cause", rule.cause), ("fetch", rule.fetch))
    for number, remedy in enumerate(rule.remedies):
        yield from ((f"remedy[{number}].{name}", getattr(remedy, name)) for name in _STEPS)


def _templates(rule: Rule) -> Iterator[tuple[str, str]]:
    """Every text with template syntax, with its key."""
    for key, text in _all_texts(rule):
        if text and any(opening in text for opening in ("{{", "{%", "{#")):
            yield key, text


def _dummies(names: Iterable[str], value: str) -> Mapping[str, object]:
    """Values for a trial: what is always captured, and nothing else."""
    failure = {"type": "X", "message": "", "process": "", "host": "", "rank": "", "pid": ""}
    return {**dict.fromkeys(names, value), "facts": {}, "failure": failure}


def _quoted_values(run: str) -> str | None:
    """The first text value that a command puts inside quotes of its own, where quoting can't protect it."""
    quote = ""
    position = 0
    while position < len(run):
        character = run[position]
        tag = re.match(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", run[position:], re.DOTALL)
        if tag:
            if quote and tag[0].startswith("{{") and re.search(r"\|\s*shq\b", tag[0]):
                return tag[0]
            position += tag.end()
            continue
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        position += 2 if character == "\\" and quote != "'" else 1
    return None


def _lines(path: str) -> dict[str, int]:
    try:
        with open(path, encoding="utf-8") as stream:
            return key_lines(stream.read(LONGEST_TEXT))
    except (OSError, UnicodeDecodeError):
        return {}


def _line(lines: Mapping[str, int], key: str) -> int | None:
    """The line of a key, or of the table around it."""
    parts: Sequence[str] = key.split(".")
    return next((lines[name] for n in range(len(parts), 0, -1) if (name := ".".join(parts[:n])) in lines), 1)


_CHECKS: tuple[Callable[[Rule], Iterator[Note]], ...] = (
    _general,
    _compiles,
    _slow,
    _complete,
    _wording,
    _versions,
    _places,
    _texts,
)
