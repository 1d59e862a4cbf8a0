"""No regular expression of the package takes out of proportion on a line of the greatest length."""

from __future__ import annotations

import re

import pytest
from hostile import redos

from diagnoser.catalogue.patterns import tree
from diagnoser.catalogue.trees import nested

PATTERNS = list(redos.package_patterns())


def test_there_is_something_to_look_at() -> None:
    assert len(PATTERNS) > 150


@pytest.mark.parametrize("part", range(4))
def test_package_patterns_stay_linear(part: int) -> None:
    slow = [found for where, pattern, flags in PATTERNS[part::4] if (found := redos.slow(where, pattern, flags))]

    assert [(found.where, found.text, round(found.seconds, 1)) for found in slow] == []


REVIEWED = {
    "diagnoser.catalogue.draft._VARYING",
    "diagnoser.catalogue.templates._TOKEN",
    "diagnoser.envelopes.custom_prefix.ENVELOPE",
    "diagnoser.envelopes.vllm.ENVELOPE",
    "diagnoser.processes._SCHEDULER",
}
"""Here what repeats is told apart by more than its first characters."""


def test_package_patterns_repeat_nothing_that_repeats() -> None:
    found = {}
    for where, pattern, _ in PATTERNS:
        if problem := nested(list(tree(pattern))):
            found[where] = problem
    assert {where: problem for where, problem in found.items() if where not in REVIEWED} == {}


@pytest.mark.parametrize("pattern", [r"\s*x", r"(a|aa)+$", r"\w+=\d", r"^\s*\{?\s*y"])
def test_the_detector_finds_slow_patterns(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redos, "is_searched", lambda where: True)

    assert redos.slow("a.b", pattern, 0) is not None


def test_the_detector_passes_linear_patterns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redos, "is_searched", lambda where: True)

    assert redos.slow("a.b", r"(?<!\w)\w{1,80}=\d", 0) is None
    assert redos.slow("a.b", r"^abc \d{1,9}$", re.MULTILINE) is None
