"""Short names for inputs: `worker.log:126` is read faster than the path from the root of the disk."""

from __future__ import annotations

from typing import Any

from diagnoser.model import Report


def with_short_sources(report: Report) -> Report:
    """The report with each source named by the shortest end of its path that tells it apart.

    `report.sources` itself keeps the names as given.
    """
    names = short_names([source.name for source in report.sources])
    if all(name == short for name, short in names.items()):
        return report
    return report._replace(
        incidents=_renamed(report.incidents, names),
        facts=tuple((name, _renamed(fact, names)) for name, fact in report.facts),
    )


def short_names(names: list[str]) -> dict[str, str]:
    """Each name and the shortest end of it, in whole path components, that no other name shares."""
    ends: dict[str, int] = {}
    for name in dict.fromkeys(names):
        parts = name.split("/")
        for count in range(1, min(len(parts), 8) + 1):
            end = "/".join(parts[-count:])
            ends[end] = ends.get(end, 0) + 1
    short = {}
    for name in dict.fromkeys(names):
        parts = name.split("/")
        choices = ("/".join(parts[-count:]) for count in range(1, min(len(parts), 8) + 1))
        short[name] = next((end for end in choices if end and ends[end] == 1), name)
    return short


def _renamed(value: Any, names: dict[str, str]) -> Any:
    """The value with the `source` of everything in it renamed."""
    if not isinstance(value, tuple) or not value:
        return value
    if hasattr(value, "_replace"):
        changes: dict[str, Any] = {}
        for field in value._fields:  # type: ignore[attr-defined]
            part = getattr(value, field)
            if field == "source":
                changes[field] = names.get(part, part)
            elif isinstance(part, tuple):
                changes[field] = _renamed(part, names)
        return value._replace(**changes)
    return tuple(_renamed(part, names) for part in value)
