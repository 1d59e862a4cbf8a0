"""Samples as tests: matches, near misses, the matrix and the mutation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from diagnoser.catalogue import Catalogue
from diagnoser.catalogue.samples import Matched, check, cross
from diagnoser.model import Failure, Process

Maker = Callable[..., Catalogue]


def failures_in(catalogue: Catalogue) -> Callable[[str], Matched]:
    """Takes every line that starts with `E ` for a failure; what this stage needs of the pipeline."""

    def failures_of(text: str) -> Matched:
        found = []
        for number, line in enumerate(text.split("\n"), 1):
            if line.startswith("E "):
                failure = Failure("message", Process(), "<text>", number, number, number, text=line[2:])
                found.append((failure, catalogue.match(failure, {}, {})))
        return found

    return failures_of


def body(pattern: str, *samples: tuple[str, str]) -> str:
    texts = "".join(f"[[sample]]\nexpect = '{expect}'\nlog = '''\n{log}\n'''\n" for expect, log in samples)
    return f"[[match]]\nlog = '{pattern}'\n{texts}"


def run(catalogue: Catalogue, *wanted: str, mutate: bool = True) -> list[str]:
    outcome = check(catalogue.rules, wanted or list(catalogue.rules), failures_in(catalogue), mutate=mutate)
    return [f"{Path(error.path).stem}:{error.line}: {error.key}: {error.problem}" for error in outcome.errors]


def test_good_samples_have_no_problems(make_catalogue: Maker) -> None:
    catalogue = make_catalogue({"a": body("pool lost", ("match", "I up\nE the pool lost 3"), ("no-match", "E a pool"))})

    outcome = check(catalogue.rules, ["a"], failures_in(catalogue))

    assert outcome == (1, 2, ())


def test_a_sample_that_does_not_match_says_what_was_found(make_catalogue: Maker) -> None:
    catalogue = make_catalogue(
        {"a": body("pool lost", ("match", "E tank lost"), ("match", "nothing")), "b": body("tank lost")}
    )

    assert run(catalogue, "a") == [
        "a:10: sample[0]: must match, but does not; found: message: tank lost [b]",
        "a:15: sample[1]: must match, but does not; no failure was found in it",
    ]


def test_a_near_miss_that_matches_says_where(make_catalogue: Maker) -> None:
    catalogue = make_catalogue({"a": body("pool lost", ("no-match", "I up\nE pool lost"))})

    assert run(catalogue) == ["a:10: sample[0]: must not match, but does: line 2, 'pool lost'"]


def test_another_cause_on_the_same_failure_needs_an_order(make_catalogue: Maker) -> None:
    bodies = {"a": body("pool lost", ("match", "E pool lost")), "b": body("pool")}

    assert run(make_catalogue(bodies)) == ["a:10: sample[0]: b holds here too and neither outranks the other"]
    for extra in ({"a": "outranks = ['b']\n"}, {"b": "outranks = ['a']\n"}):
        assert run(make_catalogue(bodies, extra={"a": "", "b": ""} | extra)) == []


def test_another_cause_on_another_failure_is_fine(make_catalogue: Maker) -> None:
    catalogue = make_catalogue({"a": body("pool lost", ("match", "E tank gone\nE pool lost")), "b": body("tank gone")})

    assert run(catalogue) == []


@pytest.mark.parametrize("role", ["wrapper", "symptom", "noise"])
def test_only_causes_compete(make_catalogue: Maker, role: str) -> None:
    catalogue = make_catalogue(
        {"a": body("pool lost", ("match", "E pool lost")), "b": body("pool")}, roles={"b": role}
    )

    assert run(catalogue) == []


def test_a_match_must_hang_on_the_lines_it_names(make_catalogue: Maker) -> None:
    catalogue = make_catalogue({"a": body("pool lost", ("match", "E pool lost\nI between\nE pool lost" + "\nmore" * 9))})
    assert run(catalogue) == []

    honest = failures_in(catalogue)

    def careless(text: str) -> Matched:
        return [
            (failure, [match._replace(evidence=()) for match in matches]) for failure, matches in honest(text)
        ]

    def stubborn(text: str) -> Matched:
        return honest("E pool lost\n" + text.partition("\n")[2].replace("E ", ""))

    rules = catalogue.rules
    assert [error.problem for error in check(rules, ["a"], careless).errors] == ["holds without naming a line of the sample"]
    assert [error.problem for error in check(rules, ["a"], stubborn).errors] == [
        "still matches after 8 rounds of dropping the lines that it rests on"
    ]
    assert check(rules, ["a"], stubborn, mutate=False).errors == ()


def test_cross_finds_rules_that_fire_on_foreign_samples(make_catalogue: Maker) -> None:
    catalogue = make_catalogue(
        {
            "mine": body("lost"),
            "theirs": body("pool lost", ("match", "E pool lost"), ("no-match", "E lost")),
            "ordered": body("tank lost", ("match", "E tank lost")),
            "noisy": body("pipe lost", ("match", "E pipe lost")),
        },
        extra={"ordered": "outranks = ['mine']\n"},
        roles={"noisy": "noise"},
    )

    errors = cross(catalogue.rules, ["mine"], failures_in(catalogue))

    assert [(Path(error.path).stem, error.problem) for error in errors] == [
        ("mine", "also holds on sample[0] of theirs; say which outranks the other")
    ]
