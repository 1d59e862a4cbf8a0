"""No regular expression of the package takes out of proportion on a line of the greatest length."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import pytest
from hostile import redos

from diagnoser.catalogue.patterns import tree
from diagnoser.catalogue.trees import REPEATS, parts

PATTERNS = list(redos.package_patterns())


def test_there_is_something_to_look_at() -> None:
    assert len(PATTERNS) > 150


@pytest.mark.parametrize("part", range(4))
def test_package_patterns_stay_linear(part: int) -> None:
    slow = [found for where, pattern, flags in PATTERNS[part::4] if (found := redos.slow(where, pattern, flags))]

    assert [(found.where, found.text, round(found.seconds, 1)) for found in slow] == []


def splits(parsed: Iterable[tuple[Any, Any]]) -> bool:
    """Whether a repetition takes turns of nothing but another one, `(?:[^()]{1,80}|x){0,8}`: the same text can be split
    among the turns in many ways, all of which are tried where the rest does not match."""
    for op, value in parsed:
        name = str(op)
        if name in REPEATS and value[1] > 2 and any(map(_only_repeats, _turns(list(value[2])))):
            return True
        if any(splits(part) for part in parts(name, value)):
            return True
    return False


def _turns(items: list[tuple[Any, Any]]) -> list[list[tuple[Any, Any]]]:
    if len(items) == 1 and str(items[0][0]) == "SUBPATTERN":
        return _turns(list(items[0][1][3]))
    if len(items) == 1 and str(items[0][0]) == "BRANCH":
        return [turn for branch in items[0][1][1] for turn in _turns(list(branch))]
    return [items]


def _only_repeats(items: list[tuple[Any, Any]]) -> bool:
    return len(items) == 1 and str(items[0][0]) in REPEATS and items[0][1][0] < items[0][1][1]


@pytest.mark.parametrize("pattern", [r"(?:[^()]{1,80}|\([^()]{0,80}\)){0,8}x", r"(?:\w+)*x", r"a(?:(?:b|c{1,9}))+x"])
def test_repetitions_of_repetitions_are_found(pattern: str) -> None:
    assert splits(tree(pattern))


def test_package_patterns_repeat_nothing_that_repeats() -> None:
    assert [where for where, pattern, _ in PATTERNS if splits(tree(pattern))] == []


@pytest.mark.parametrize("pattern", [r"\s*x", r"(a|aa)+$", r"\w+=\d", r"^\s*\{?\s*y"])
def test_the_detector_finds_slow_patterns(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redos, "is_searched", lambda where: True)

    assert redos.slow("a.b", pattern, 0) is not None


def test_the_detector_passes_linear_patterns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redos, "is_searched", lambda where: True)

    assert redos.slow("a.b", r"(?<!\w)\w{1,80}=\d", 0) is None
    assert redos.slow("a.b", r"^abc \d{1,9}$", re.MULTILINE) is None
