"""Filing conditions by name and literal loses none that holds."""

from __future__ import annotations

import pytest
from catalogue_helpers import exception_failure

from diagnoser.catalogue import Catalogue
from diagnoser.catalogue import index as compact
from diagnoser.catalogue.drawers import Candidate, Drawer, filed, likely, pack, unpack
from diagnoser.catalogue.matcher import contradicted, holds
from diagnoser.catalogue.subjects import Context, own_text, subjects
from diagnoser.model import Facts, Failure
from diagnoser.pipeline import failures_of


def everything(catalogue: Catalogue, failure: Failure, facts: Facts) -> set[tuple[str, int | None]]:
    """What holds when every condition of every rule is tried, without any shortcut."""
    context = Context(failure, facts, {}, own_text(failure, ""), catalogue._searcher)
    found: set[tuple[str, int | None]] = set()
    for number in range(len(catalogue.rules)):
        head = catalogue._head(0, number)
        if contradicted(head, facts):
            continue
        for index, plain in enumerate(head.conditions):
            test = compact.Test(*plain)
            if test.alone:
                if context.text and holds(head, index, test, None, context):
                    found.add((head.id, None))
            else:
                tried = [subject for subject in subjects(failure) if holds(head, index, test, subject, context)]
                found.update((head.id, subject.position) for subject in tried)
    return found


def test_nothing_that_holds_is_missed_on_the_samples() -> None:
    catalogue = Catalogue.load()
    texts = [sample.log for rule in catalogue.rules.values() for sample in rule.samples][::29]
    matched = 0
    for text in texts:
        for failure, _ in failures_of(text, catalogue):
            found = {(match.rule, match.exception) for match in catalogue.match(failure, {}, {})}
            assert found == everything(catalogue, failure, {})
            matched += len(found)

    assert matched > 20


@pytest.mark.parametrize("kind", ["ValueError", "builtins.ValueError", "a.b.ValidationError", "Unheard", None])
@pytest.mark.parametrize("quoted", [False, True])
def test_nothing_that_holds_is_missed_for_odd_names(kind: str | None, quoted: bool) -> None:
    catalogue = Catalogue.load()
    failure = exception_failure(
        "ValueError", "No available memory for the cache blocks, Total number of attention heads (128)", quoted=quoted
    )
    (info,) = failure.exceptions
    failure = failure._replace(exceptions=(info._replace(type=kind),))

    assert {(match.rule, match.exception) for match in catalogue.match(failure, {}, {})} == everything(
        catalogue, failure, {}
    )


CANDIDATES = [
    Candidate(0, 0, ("pool", "tank"), (), (), ()),
    Candidate(0, 1, (), ("assert",), (), ()),
    Candidate(1, 0, (), (), ("worker.py",), ()),
    Candidate(1, 1, (), (), (), ("error",)),
    Candidate(2, 0, (), (), (), ()),
    Candidate(2, 1, ("pool",), ("assert",), ("worker.py",), ("error",)),
]


@pytest.mark.parametrize(
    ("message", "code", "kind", "places", "expected"),
    [
        ("", "", "", "", [(2, 0)]),
        ("the pool", "", "", "", [(0, 0), (2, 0)]),
        ("tank", "assert x", "", "", [(0, 0), (0, 1), (2, 0)]),
        ("pool", "assert", "valueerror", "a/worker.py:run", [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]),
        ("pool", "assert", "valueerror", "", [(0, 0), (0, 1), (1, 1), (2, 0)]),
    ],
)
def test_a_drawer_gives_what_the_texts_allow(
    message: str, code: str, kind: str, places: str, expected: list[tuple[int, int]]
) -> None:
    drawer = unpack(pack(filed(CANDIDATES), 2))

    assert list(likely(drawer, message, code, kind, lambda: places)) == expected


def test_an_empty_drawer_gives_nothing() -> None:
    assert list(likely(Drawer(), "pool", "x", "y", lambda: "z")) == []


def test_frames_are_looked_at_only_when_asked_for() -> None:
    def refuse() -> str:
        raise AssertionError("frames were looked at")

    drawer = filed([CANDIDATES[0], CANDIDATES[1], CANDIDATES[5]])

    assert list(likely(drawer, "tank", "", "", refuse)) == [(0, 0)]
