"""The prefilter finds the same patterns whichever way it looks."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnoser.catalogue import Catalogue
from diagnoser.catalogue.prefilter import Prefilter
from diagnoser.catalogue.search import normalize

Maker = Callable[..., Catalogue]
BODIES = {
    "one": "[[match]]\nlog = 'pool (?:lost|gone) for (?P<who>\\w+)'",
    "two": "[[match]]\nlog = '(?i)OUT OF SLOTS'\nnot = { log = 'retry' }",
    "three": "[[match]]\nlog = 'xyz'\n[[match]]\nlog = '\\w{30}\\d'",
}
TEXTS = st.lists(st.sampled_from(["pool ", "lost", "gone", " for ", "out of slots", "Out of Slots", "retry", "xyz", "xy", "é"]))


def test_scanning_gives_the_conditions_that_hold(make_catalogue: Maker) -> None:
    catalogue = make_catalogue(BODIES)

    assert catalogue.scan("The pool lost for w1, out of Slots: retry") == (("one", 0), ("two", 0), ("two", -1))
    assert catalogue.scan("pool lost in xyz") == (("three", 0),)
    assert catalogue.scan("a" * 30 + "7") == (("three", 1),)
    assert catalogue.scan("") == ()


def test_several_lines_are_scanned_as_one_text(make_catalogue: Maker) -> None:
    catalogue = make_catalogue({"one": "[[match]]\nlog = '(?m)^second (?P<x>\\w+)'"})

    assert catalogue.scan("first\nsecond line") == (("one", 0),)


def test_may_hit_looks_for_literals_only(make_catalogue: Maker) -> None:
    catalogue = make_catalogue({"one": "[[match]]\nlog = 'pool \\d+ lost'"})

    assert catalogue.may_hit("a POOL of words")
    assert catalogue.scan("a POOL of words") == ()
    assert not catalogue.may_hit("nothing here")


def test_both_ways_and_the_plain_fallback_agree(make_catalogue: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    index = make_catalogue(BODIES)._shelves[0].table
    table, automaton, fallback = Prefilter(index), Prefilter(index), Prefilter(index)
    automaton._left = -1
    automaton.entries("warm up")
    with monkeypatch.context() as patch:
        patch.setattr(builtins, "__import__", _without(builtins.__import__, "ahocorasick_rs"))
        fallback._left = -1
        fallback.entries("warm up")

    @given(TEXTS)
    def agree(words: list[str]) -> None:
        text = normalize("".join(words))
        expected = tuple(
            number
            for number in range(len(index.log_entries))
            if number in index.log_always
            or any(number in owners and text.find(literal) >= 0 for literal, owners in zip(index.log_literals, index.log_owners, strict=True))
        )
        assert table.entries(text) == automaton.entries(text) == fallback.entries(text) == expected

    agree()
    assert automaton._automaton is not None
    assert fallback._automaton is None
    assert table._automaton is None or table._left < 0


def _without(real: Any, missing: str) -> Any:
    def guarded(name: str, *arguments: Any, **keywords: Any) -> Any:
        if name == missing:
            raise ImportError(name)
        return real(name, *arguments, **keywords)

    return guarded


def test_a_catalogue_without_log_conditions_scans_nothing(make_catalogue: Maker) -> None:
    catalogue = make_catalogue({"one": "[[match]]\nmessage = 'pool'"})
    prefilter = catalogue._prefilters[0]
    prefilter._left = -1

    assert catalogue.scan("pool" * 100) == ()
