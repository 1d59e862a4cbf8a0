"""Fills the texts of rules with what was read from a log.

    render("Use one of {{ heads | divisors | list_join }}.", {"heads": "12"}) == "Use one of 1, 2, 3, 4, 6 or 12."

A text that needs a value which is not there gives None. Values are data: template syntax in a value stays text.
Texts that only insert values and ask whether they are there are filled right here, with the same result; loading
the full template engine would take longer than diagnosing a small log.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from diagnoser.catalogue.filters import FILTERS, LONGEST_OUTPUT, LONGEST_TEMPLATE, Missing, command_word, shown
from diagnoser.lazy import lazy

_PATH = r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*"
_TERM = rf"(?:not\s+)?{_PATH}"
_TOKEN = lazy(
    rf"\{{\{{\s*(?P<value>{_PATH}(?:\s*\|\s*[a-z_]+)*)\s*\}}\}}"
    rf"|\{{%\s*(?P<word>if|elif)\s+(?P<test>{_TERM}(?:\s+(?:and|or)\s+{_TERM})*)\s*%\}}"
    r"|\{%\s*(?P<end>else|endif)\s*%\}",
    re.ASCII,
)
_OF_ANOTHER_KIND = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What filters raise that got another kind of value than they can use, or not as many as they need."""
_RESERVED = frozenset(
    {"true", "false", "none", "True", "False", "None", "not", "and", "or", "in", "is", "if", "else"}
    | {"self", "loop", "super", "caller", "varargs", "kwargs", "range", "min", "max"}
    | FILTERS.keys()
)

Value = tuple[tuple[str, ...], tuple[str, ...]]
"""A path of names and the filters behind it."""
Test = tuple[tuple[tuple[bool, tuple[str, ...]], ...], ...]
"""Alternatives of paths that must all be true; False before a path negates it."""
Part = str | Value | list[tuple[Test, list[Any]]]
"""Plain text, a value to insert, or the branches of an `if` (a branch without test is the `else`)."""

_simple: dict[str, list[Part] | None] = {}
_engines: dict[bool, Any] = {}
_compiled: dict[tuple[bool, str], Any] = {}


class _Absent:
    """What an unknown name stands for."""

    stands_for_nothing = True


_ABSENT = _Absent()


def render(text: str, variables: Mapping[str, Any], *, command: bool = False) -> str | None:
    """The text with its values, or None when one is missing or the text is no usable template.

    In a `command` each value must be quoted by the text (`| shq`) or need no quoting.
    """
    if "{{" not in text and "{%" not in text and "{#" not in text:
        return text
    if len(text) > LONGEST_TEMPLATE:
        return None
    parts = _simple.get(text, _ABSENT)
    if isinstance(parts, _Absent):
        parts = _simple[text] = simple_parts(text)
    if parts is None:
        return render_fully(text, variables, command=command)
    try:
        filled = "".join(_fill(parts, variables, command=command))
    except (Missing, *_OF_ANOTHER_KIND):
        return None
    return filled if len(filled) <= LONGEST_OUTPUT else None


def render_fully(text: str, variables: Mapping[str, Any], *, command: bool = False) -> str | None:
    """The same through the full template engine."""
    from jinja2 import TemplateError

    from diagnoser.catalogue.sandbox import RuleEnvironment

    engine = _engines.get(command)
    if engine is None:
        engine = _engines[command] = RuleEnvironment(command=command)
    try:
        template = _compiled.get((command, text))
        if template is None:
            template = _compiled[command, text] = engine.prepare(text)
        filled: str = engine.fill(template, variables)
    except (TemplateError, Missing, RecursionError, *_OF_ANOTHER_KIND):
        return None
    return filled


def simple_parts(text: str) -> list[Part] | None:
    """The text taken apart, or None when it needs the full engine."""
    if "\r" in text:  # the engine rewrites line ends
        return None
    parts: list[Part] = []
    open_blocks: list[list[tuple[Test, list[Any]]]] = []
    position = 0
    while True:
        target = open_blocks[-1][-1][1] if open_blocks else parts
        at = _next_tag(text, position)
        if at < 0:
            target.append(text[position:])
            return None if open_blocks else parts
        target.append(text[position:at])
        token = _TOKEN.match(text, at)
        if token is None or not _place(token, target, open_blocks):
            return None
        position = token.end()


def _place(token: re.Match[str], target: list[Any], open_blocks: list[list[tuple[Test, list[Any]]]]) -> bool:
    """Adds what a tag stands for; False when that takes the full engine."""
    if token["value"]:
        path, *filters = re.split(r"\s*\|\s*", token["value"])
        names = tuple(path.split("."))
        if names[0] in _RESERVED or not all(name in FILTERS for name in filters):
            return False
        target.append((names, tuple(filters)))
        return True
    if token["word"]:
        test = _test(token["test"])
        if test is None or (token["word"] == "elif" and not _may_go_on(open_blocks)):
            return False
        if token["word"] == "if":
            block: list[tuple[Test, list[Any]]] = [(test, [])]
            target.append(block)
            open_blocks.append(block)
        else:
            open_blocks[-1].append((test, []))
        return True
    if not open_blocks or (token["end"] == "else" and not _may_go_on(open_blocks)):
        return False
    if token["end"] == "else":
        open_blocks[-1].append(((), []))
    else:
        open_blocks.pop()
    return True


def _may_go_on(open_blocks: list[list[tuple[Test, list[Any]]]]) -> bool:
    """Whether an `if` is open that has had no `else`."""
    return bool(open_blocks) and open_blocks[-1][-1][0] != ()


def _next_tag(text: str, position: int) -> int:
    found = [at for opening in ("{{", "{%", "{#") if (at := text.find(opening, position)) >= 0]
    return min(found, default=-1)


def _test(text: str) -> Test | None:
    """A condition of names joined by `and`, `or` and `not`; None when a name has a meaning of its own."""
    alternatives = []
    for alternative in re.split(r"\s+or\s+", text):
        terms = []
        for term in re.split(r"\s+and\s+", alternative):
            words = term.split()
            names = tuple(words[-1].split("."))
            if names[0] in _RESERVED:
                return None
            terms.append((len(words) == 1, names))
        alternatives.append(tuple(terms))
    return tuple(alternatives)


def _fill(parts: Sequence[Part], variables: Mapping[str, Any], *, command: bool) -> list[str]:
    """The filled parts; raises Missing."""
    filled: list[str] = []
    for part in parts:
        if isinstance(part, str):
            filled.append(part)
        elif isinstance(part, tuple):
            value = _look_up(part[0], variables)
            for name in part[1]:
                value = FILTERS[name](value)
            filled.append(command_word(value) if command else str(shown(value)))
        else:
            for test, inner in part:
                if not test or _true(test, variables):
                    filled.extend(_fill(inner, variables, command=command))
                    break
    return filled


def _true(test: Test, variables: Mapping[str, Any]) -> bool:
    return any(all(bool(_present(names, variables)) is wanted for wanted, names in terms) for terms in test)


def _present(names: tuple[str, ...], variables: Mapping[str, Any]) -> Any:
    value = _look_up(names, variables)
    return False if value is _ABSENT else value


def _look_up(names: tuple[str, ...], variables: Mapping[str, Any]) -> Any:
    """The value at a path of names through mappings."""
    value: Any = variables
    for name in names:
        value = value[name] if isinstance(value, Mapping) and name in value else _ABSENT
    return value
