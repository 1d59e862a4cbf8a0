"""The report as the formats for people show it: short names for inputs, and no text longer than anybody would read.

JSON alone holds everything at full length; what is cut here says so in its place.
"""

from __future__ import annotations

from typing import Any

from diagnoser.model import Remedy, Report
from diagnoser.render._plain import cut_middle

_LIMITS = {
    "message": 40_000,
    "text": 40_000,
    "notes": 8_000,
    "cause": 8_000,
    "code": 4_000,
    "do": 4_000,
    "why": 4_000,
    "verify": 4_000,
    "what": 2_000,
    "value": 2_000,
    "run": 4_000,
    "check": 4_000,
    "name": 300,
    "role": 300,
    "host": 300,
    "pod": 300,
    "container": 300,
    "type": 300,
    "function": 300,
    "fingerprint": 100,
    "rule": 200,
    "time": 100,
}
"""Characters of a text by the name of its field."""
_LIMIT = 1_000
"""Characters of any other text."""


def prepared(report: Report) -> Report:
    """The report with inputs named by the shortest end of their path that tells them apart, and with long texts cut.

    `report.sources` keeps the names as given.
    """
    names = short_names([source.name for source in report.sources])
    result: Report = _changed(report._replace(sources=()), names, "")
    return result._replace(sources=_changed(report.sources, {}, ""))


def short_names(names: list[str]) -> dict[str, str]:
    """Each name and the shortest end of it, in whole path components, that no other name shares."""
    ends: dict[str, int] = {}
    for name in dict.fromkeys(names):
        for end in _ends(name):
            ends[end] = ends.get(end, 0) + 1
    return {name: next((end for end in _ends(name) if end and ends[end] == 1), name) for name in names}


def _ends(name: str) -> list[str]:
    parts = name.split("/")
    return ["/".join(parts[-count:]) for count in range(1, min(len(parts), 8) + 1)]


def _changed(value: Any, names: dict[str, str], field: str) -> Any:
    """The value with its sources renamed and its texts cut; the same object where nothing changes."""
    if isinstance(value, str):
        if field == "source":
            value = names.get(value, value)
        limit = _LIMITS.get(field, _LIMIT)
        return value if len(value) <= limit else cut_middle(value, limit)
    if not isinstance(value, tuple) or not value:
        return value
    if isinstance(value, Remedy) and value.run and len(value.run) > _LIMITS["run"]:
        # Half a command is worse than none.
        value = value._replace(
            run=None, do=f"{value.do[:3000]} (The command is too long to show; the JSON report has it.)"
        )
    fields = getattr(value, "_fields", None) or (field,) * len(value)
    changed = [_changed(part, names, name) for name, part in zip(fields, value, strict=True)]
    if all(old is new for old, new in zip(value, changed, strict=True)):
        return value
    return value._make(changed) if hasattr(value, "_make") else tuple(changed)
