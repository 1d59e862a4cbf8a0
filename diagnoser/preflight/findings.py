"""Short ways to write the four kinds of findings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from diagnoser.model import Finding, Remedy

Inputs = Mapping[str, object]
Steps = Iterable[Remedy | str | None]


def ok(check: str, title: str, inputs: Inputs | None = None, message: str = "") -> Finding:
    """Nothing to do; `message` says what is worth knowing all the same."""
    return Finding("ok", check, title, None, message, _pairs(inputs))


def error(check: str, rule: str, title: str, message: str, inputs: Inputs | None = None, steps: Steps = ()) -> Finding:
    """The launch would fail, or the requests would; `rule` explains the crash."""
    return Finding("error", check, title, rule, message, _pairs(inputs), _remedies(steps))


def warning(
    check: str, rule: str | None, title: str, message: str, inputs: Inputs | None = None, steps: Steps = ()
) -> Finding:
    """It may fail, or do something else than expected."""
    return Finding("warning", check, title, rule, message, _pairs(inputs), _remedies(steps))


def skipped(check: str, title: str, missing: str) -> Finding:
    """Not checked; `missing` names the input and how to give it."""
    return Finding("skipped", check, title, missing=missing)


def _pairs(inputs: Inputs | None) -> tuple[tuple[str, str], ...]:
    return tuple((name, _shown(value)) for name, value in (inputs or {}).items() if value is not None)


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, list | tuple):
        return ", ".join(str(item) for item in value)
    return str(value)


def _remedies(steps: Steps) -> tuple[Remedy, ...]:
    return tuple(step if isinstance(step, Remedy) else Remedy(step) for step in steps if step)
