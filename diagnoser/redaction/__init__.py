"""Secrets out of a report, once, before anything is rendered.

    >>> redact(report).redactions
    (('hf-token', 1),)

Every text of the report is looked through, wherever it stands. Equal secrets become equal placeholders such as
`[redacted:hf-token:1]`, numbered in the order in which a reader meets them, so that a report still shows that two
places hold the same value. A value that is a secret in one place (`--api-key …`) is hidden in all others too.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from diagnoser.lazy import lazy
from diagnoser.model import Fact, Frame, Report
from diagnoser.redaction.tokens import Span, find_secrets, may_be_secret_name

_MOST_KNOWN = 200
"""Different secrets that are looked for everywhere else in the report."""
_SHORTEST_KNOWN = 8


def redact(report: Report, *, hosts: bool = False) -> Report:
    """The report without secrets; `redactions` says how many different ones of which kind were hidden.

    `hosts` also hides IP addresses, host, pod and container names, and the user names in paths.
    """
    redactor = Redactor()
    clean: Report = redactor.walk(report, redactor.text)
    known = redactor.known_elsewhere()
    if known:
        clean = redactor.walk(clean, known)
    if hosts:
        from diagnoser.redaction.hosts import Hosts, named_hosts

        found = Hosts(named_hosts(clean))
        clean = redactor.walk(clean, lambda text, code: redactor.replace(text, found.find(text, code=code)))
    counts = redactor.counts()
    return clean._replace(redactions=counts) if counts else clean


class Redactor:
    """Gives out placeholders and remembers which value got which."""

    def __init__(self) -> None:
        self.placeholders: dict[str, str] = {}
        self.kinds: dict[str, int] = {}
        self.seen: dict[tuple[str, bool], str] = {}

    def placeholder(self, value: str, kind: str) -> str:
        """The placeholder of that value; the kind of its first appearance stays."""
        if value not in self.placeholders:
            self.kinds[kind] = self.kinds.get(kind, 0) + 1
            self.placeholders[value] = f"[redacted:{kind}:{self.kinds[kind]}]"
        return self.placeholders[value]

    def counts(self) -> tuple[tuple[str, int], ...]:
        """How many different values of each kind were hidden, by kind."""
        return tuple(sorted(self.kinds.items()))

    def replace(self, text: str, spans: list[Span]) -> str:
        """The text with placeholders in the place of the spans."""
        if not spans:
            return text
        pieces, at = [], 0
        for span in spans:
            pieces += [text[at : span.start], self.placeholder(text[span.start : span.end], span.kind)]
            at = span.end
        return "".join([*pieces, text[at:]])

    def text(self, text: str, code: bool) -> str:
        """The text without secrets."""
        key = (text, code)
        if key not in self.seen:
            self.seen[key] = self.replace(text, find_secrets(text, code=code))
        return self.seen[key]

    def known_elsewhere(self) -> Callable[[str, bool], str] | None:
        """Replaces the secrets that are known by now where nothing else tells that they are secrets."""
        values = [value for value in self.placeholders if _tells_itself(value)][:_MOST_KNOWN]
        if not values:
            return None
        pattern = lazy("|".join(re.escape(value) for value in sorted(values, key=len, reverse=True)))
        return lambda text, code: pattern.sub(lambda match: self.placeholders[match.group()], text)

    def walk(self, value: Any, change: Callable[[str, bool], str], code: bool = False) -> Any:
        """The value with every text in it changed; what holds no changed text stays the same object."""
        if type(value) is str:
            return change(value, code)
        if not isinstance(value, tuple):
            return value
        if isinstance(value, Frame):
            changed = [self.walk(part, change, part is value.code) for part in value]
        elif len(value) == 2 and type(value[0]) is str and change == self.text and may_be_secret_name(value[0]):
            changed = [value[0], self.named(*value)]
        else:
            changed = [self.walk(part, change, code) for part in value]
        if all(old is new for old, new in zip(value, changed, strict=True)):
            return value
        return type(value)._make(changed) if hasattr(value, "_make") else tuple(changed)

    def named(self, name: str, value: Any) -> Any:
        """The value of a pair whose first part may be a name that says it is a secret (a capture, an input, a fact)."""
        from diagnoser.redaction.names import is_harmless, is_secret_name

        if not is_secret_name(name):
            return self.walk(value, self.text)
        if isinstance(value, Fact):
            return value._replace(value=self.named(name, value.value))
        if type(value) is not str or is_harmless(value):
            return value
        changed = self.text(value, False)
        return changed if changed != value else self.placeholder(value, "secret")


def _tells_itself(value: str) -> bool:
    """True for secrets that can't be mistaken for an ordinary word, so that they may be hidden wherever they stand."""
    if len(value) < _SHORTEST_KNOWN:
        return False
    return any(char.isdigit() for char in value) and any(char.isalpha() for char in value)
