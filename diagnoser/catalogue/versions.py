"""Versions as logs print them, compared without a packaging library.

`0.21.0rc1.dev3+g1234.cpu` < `0.21.0rc2` < `0.21.0` < `0.21.0.post1` < `0.21.1`. What follows a plus sign says how it
was built and does not take part.
"""

from __future__ import annotations

import re

from diagnoser.lazy import lazy

_VERSION = lazy(
    r"v?(\d+(?:\.\d+)*)(?:[-._]?(a|alpha|b|beta|c|rc|pre|preview)[-._]?(\d*))?"
    r"(?:[-._]?(post|rev|r)[-._]?(\d*))?(?:[-._]?(dev)[-._]?(\d*))?(?:\+\S*)?$",
    re.IGNORECASE,
)
_RANGE = lazy(r"\s*(>=|<=|==|!=|>|<|=)?\s*([^\s,]+)\s*$")
_STAGES = {"a": 1, "alpha": 1, "b": 2, "beta": 2, "c": 3, "rc": 3, "pre": 3, "preview": 3}

_UNTAGGED = ("0.1.dev", "0.0.0.dev")
"""What setuptools-scm prints for a checkout without tags: it says nothing of how old the code is."""

Version = tuple[tuple[int, ...], int, int, int, int]
"""Release numbers without trailing zeros, stage, stage number, post number, dev number; ordered as a tuple."""


def version(text: str) -> Version | None:
    """The version in order-able form; None for a text that is none."""
    text = text.strip()
    found = _VERSION.match(text)
    if not found or text.startswith(_UNTAGGED):
        return None
    release, stage, stage_number, post, post_number, dev, dev_number = found.groups()
    numbers = [int(part) for part in release.split(".")]
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers.pop()
    rank = _STAGES[stage.lower()] if stage else (0 if dev and not post else 4)
    after = int(post_number or 0) + 1 if post else 0
    before = int(dev_number or 0) if dev else 1 << 60
    return tuple(numbers), rank, int(stage_number or 0), after, before


def compare(left: str, right: str) -> int | None:
    """-1, 0 or 1 as `left` is older than, equal to or newer than `right`; None when either is no version."""
    first, second = version(left), version(right)
    if first is None or second is None:
        return None
    return (first > second) - (first < second)


def within(text: str, wanted: str) -> bool | None:
    """Whether a version lies in a range such as `>=0.6,<0.12`; None when that can't be told."""
    for part in wanted.split(","):
        found = _RANGE.match(part)
        if not found:
            return None
        order = compare(text, found[2])
        if order is None:
            return None
        if not _holds(order, found[1] or "=="):
            return False
    return True


def _holds(order: int, operator: str) -> bool:
    """Whether an order satisfies a comparison sign."""
    return {
        ">=": order >= 0,
        "<=": order <= 0,
        "==": order == 0,
        "=": order == 0,
        "!=": order != 0,
        ">": order > 0,
        "<": order < 0,
    }[operator]


def fact_holds(value: str | int | float | bool, comparison: str) -> bool:
    """Whether a fact satisfies a rule's comparison: `>1`, `>=0.21`, `==auto`, `!=x`, `~regex` or the plain value."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if comparison.startswith("~"):
        return re.search(comparison[1:], text) is not None
    if isinstance(value, int | float) and not isinstance(value, bool) and _number_holds(float(value), comparison):
        return True
    sign = re.match(r"(>=|<=|==|!=|>|<)\s*", comparison)
    if sign is None:
        return _same(text, comparison)
    wanted = comparison[sign.end() :]
    if sign[1] == "==":
        return _same(text, wanted)
    if sign[1] == "!=" and "," not in wanted:
        return not _same(text, wanted)
    return not isinstance(value, int | float) and within(text, comparison) is True


def _number_holds(value: float, comparison: str) -> bool:
    """Whether a number lies in a range such as `>0.85` or `>=2,<8`."""
    for part in comparison.split(","):
        found = _RANGE.match(part)
        try:
            wanted = float(found[2]) if found else None
        except ValueError:
            wanted = None
        if found is None or wanted is None or not _holds((value > wanted) - (value < wanted), found[1] or "=="):
            return False
    return True


def _same(text: str, wanted: str) -> bool:
    """Equal as text, as a boolean in either spelling, or as a number or version."""
    if text == wanted:
        return True
    if {text.lower(), wanted.lower()} <= {"true", "false"}:
        return text.lower() == wanted.lower()
    return compare(text, wanted) == 0
