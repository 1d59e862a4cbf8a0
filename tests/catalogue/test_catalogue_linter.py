"""What the linter refuses, and that it says where."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from diagnoser.catalogue import Catalogue
from diagnoser.catalogue.backtracking import danger
from diagnoser.catalogue.linter import lint, ordered
from diagnoser.errors import RuleError

Maker = Callable[..., Catalogue]
COMPLETE = """
cause = "It holds {{ n }} slots."
[[match]]
exception = 'PoolError'
message = 'pool of (?P<n>\\d+) slots'
[[remedy]]
do = "Add {{ n }} slots."
[[reference]]
url = "https://example.com/1"
[[sample]]
expect = "match"
log = "x"
[[sample]]
expect = "no-match"
log = "y"
"""
EXTRA = "severity = 'config'\n"


def problems(make_catalogue: Maker, body: str, *, role: str = "cause", extra: str = EXTRA) -> list[str]:
    catalogue = make_catalogue({"a-rule": body}, roles={"a-rule": role}, extra={"a-rule": extra})
    return [f"{error.key}: {error.problem}" for error in lint(catalogue.rules)]


def test_a_complete_rule_is_fine(make_catalogue: Maker) -> None:
    assert problems(make_catalogue, COMPLETE) == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("exception = 'PoolError'\nmessage = 'pool of (?P<n>\\d+) slots'", "message = '(?P<n>\\d+)'", "match[0]: too general: names neither"),
        ("exception = 'PoolError'\nmessage = 'pool of (?P<n>\\d+) slots'", "exception = '.*'\nmessage = '(?P<n>o)'", "match[0]: too general: names neither"),
        ("exception = 'PoolError'\nmessage = 'pool of (?P<n>\\d+) slots'", "exception = '(?P<n>ValueError|KeyError)'", "match[0]: too general: every ValueError or KeyError would match"),
        ("message = 'pool of (?P<n>\\d+) slots'", "message = 'pool (?P<n>(?:a+)+) slots'", "match[0].message: too slow: a repetition inside a repetition"),
        ("message = 'pool of (?P<n>\\d+) slots'", "message = 'pool of (?P<n>\\d+) slots'\nnot = { log = 'x(?:\\w+\\s*)+y' }", "match[0].not.log: too slow:"),
        ("cause = \"It holds {{ n }} slots.\"", "", "cause: is missing (cause rules need it)"),
        ("[[remedy]]\ndo = \"Add {{ n }} slots.\"", "", "remedy: is missing (cause rules need it)"),
        ("[[sample]]\nexpect = \"match\"\nlog = \"x\"", "", "sample: is missing: a sample that matches (expect = 'match')"),
        ("[[sample]]\nexpect = \"no-match\"\nlog = \"y\"", "", "sample: is missing: a near miss"),
        ("log = \"y\"", "log = \" \"", "sample[1].log: is empty"),
        ("https://", "http://", "reference[0].url: 'http://example.com/1' is no https:// address"),
        ("{{ n }} slots.\"\n[[match]]", "{{ m }} slots.\"\n[[match]]", "cause: unknown variable m: no [[match]] captures it; known are facts, failure, n"),
        ("Add {{ n }}", "Add {{ n | nonsense }}", "remedy[0].do: not a template that rules may use: No filter named 'nonsense'."),
        ("Add {{ n }}", "Add {{ ''.__class__", "remedy[0].do: not a template that rules may use: expected token"),
        ("Add {{ n }}", "{% include 'x' %}", "remedy[0].do: not a template that rules may use: Include is not allowed"),
        ("Add {{ n }}", "TP {{ facts.tensor_parallel_size }}", "remedy[0].do: can't be filled when match[0] held alone"),
        ("pool of (?P<n>\\d+) slots", "pool(?: of (?P<n>\\d+))? slots", "cause: can't be filled when match[0] held alone"),
        ("do = \"Add", "run = \"x '{{ n | shq }}'\"\ndo = \"Add", "remedy[0].run: {{ n | shq }} stands inside quotes"),
        ("do = \"Add {{ n }} slots.\"", "do = 'TODO'", "remedy[0].do: is still to be written"),
    ],
)  # fmt: skip
def test_what_is_refused(make_catalogue: Maker, old: str, new: str, said: str) -> None:
    assert old in COMPLETE

    found = problems(make_catalogue, COMPLETE.replace(old, new))

    assert any(problem.startswith(said) for problem in found), found


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        ("", "severity: is missing (cause rules need it)"),
        (EXTRA + "outranks = ['nobody']\n", "outranks: there is no rule 'nobody'"),
        (EXTRA + "fixed_in = 'soon'\n", "applies.fixed_in: 'soon' is no version"),
        (EXTRA + "applies = { vllm = 'new' }\n", "applies.vllm: 'new' is no version range such as '>=0.6,<0.12'"),
    ],
)
def test_what_is_refused_at_the_top(make_catalogue: Maker, extra: str, said: str) -> None:
    assert said in problems(make_catalogue, COMPLETE, extra=extra)


@pytest.mark.parametrize(
    ("title", "said"),
    [("A title.", "title: is a headline: no full stop at its end"), ("x" * 101, "title: longer than 100 characters")],
)
def test_titles(make_catalogue: Maker, tmp_path: Path, title: str, said: str) -> None:
    catalogue = make_catalogue({"a-rule": COMPLETE}, extra={"a-rule": EXTRA})
    rule = catalogue.rules["a-rule"]._replace(title=title)

    assert said in [f"{error.key}: {error.problem}" for error in lint({"a-rule": rule})]


def test_a_sentence_must_be_fillable_whichever_alternative_held(make_catalogue: Maker) -> None:
    more = "[[match]]\nmessage = 'slots are gone'\n[[remedy]]"

    assert problems(make_catalogue, COMPLETE.replace("[[remedy]]", more)) == [
        "cause: can't be filled when match[1] held alone: put {% if … %} around what may be missing",
        "remedy[0].do: can't be filled when match[1] held alone: put {% if … %} around what may be missing",
    ]


def test_commands_may_need_what_is_missing(make_catalogue: Maker) -> None:
    body = COMPLETE.replace('do = "Add', "run = 'vllm serve {{ facts.model | shq }}'\ndo = \"Add")

    assert problems(make_catalogue, body) == []


@pytest.mark.parametrize(
    ("message", "points", "fine"),
    [
        ("pool of (?P<inner>.*) slots", "", True),
        ("pool of (?P<n>.*) slots", "", False),
        ("pool of (?P<n>.*) slots", "points_to = 'worker'\n", True),
    ],
)
def test_a_wrapper_says_where_its_inner_error_is(make_catalogue: Maker, message: str, points: str, fine: bool) -> None:
    body = COMPLETE.replace("(?P<n>\\d+)", "\\d+").replace("{{ n }}", "3").replace("pool of \\d+ slots", message)

    found = problems(make_catalogue, body, role="wrapper", extra=points)

    assert (found == []) is fine
    assert fine or found[0].startswith("points_to: is missing")


def test_errors_name_file_and_line(make_catalogue: Maker, tmp_path: Path) -> None:
    catalogue = make_catalogue({"a-rule": COMPLETE.replace("https", "http")}, extra={"a-rule": EXTRA})

    (error,) = lint(catalogue.rules)

    assert isinstance(error, RuleError)
    text = (tmp_path / "rules" / "a-rule.toml").read_text()
    assert error.path == str(tmp_path / "rules" / "a-rule.toml")
    assert error.line is not None
    assert text.split("\n")[error.line - 1] == 'url = "http://example.com/1"'


def test_equal_conditions_need_an_order(make_catalogue: Maker) -> None:
    said = "is also a condition of b-rule: say which rule outranks the other"
    both = {"a-rule": COMPLETE, "b-rule": COMPLETE}

    unordered = make_catalogue(both, extra={"a-rule": EXTRA, "b-rule": EXTRA})
    assert [(error.key, error.problem) for error in lint(unordered.rules)] == [("match[0]", said)]

    declared = make_catalogue(both, extra={"a-rule": EXTRA, "b-rule": EXTRA + "outranks = ['a-rule']\n"})
    assert lint(declared.rules) == []


def test_circles_of_order_are_refused(make_catalogue: Maker) -> None:
    bodies = {name: COMPLETE.replace("pool", f"{name} pool") for name in ("a", "b", "c")}
    extra = {name: EXTRA + f"outranks = ['{other}']\n" for name, other in (("a", "b"), ("b", "c"), ("c", "a"))}
    catalogue = make_catalogue(bodies, extra=extra)

    assert {error.problem for error in lint(catalogue.rules)} == {
        f"goes in a circle: {name} is outranked by what it outranks" for name in ("a", "b", "c")
    }


def test_order_goes_through_others(make_catalogue: Maker) -> None:
    bodies = {name: COMPLETE.replace("pool", f"{name} pool") for name in ("a", "b", "c", "d")}
    extra = {"a": EXTRA + "outranks = ['b']\n", "b": EXTRA + "outranks = ['c']\n", "c": EXTRA, "d": EXTRA}
    rules = make_catalogue(bodies, extra=extra).rules

    assert ordered("a", "c", rules)
    assert ordered("c", "a", rules)
    assert not ordered("a", "d", rules)


def test_a_rule_lies_in_the_folder_of_its_family(tmp_path: Path) -> None:
    folder = tmp_path / "rules" / "memory"
    folder.mkdir(parents=True)
    (folder / "a.toml").write_text("id='a'\ntitle='t'\nrole='noise'\nfamily='moe'\n" + COMPLETE)

    errors = lint(Catalogue.of_directory(str(tmp_path / "rules")).rules)

    assert [error.problem for error in errors] == ["'moe' is not the folder that the file lies in ('memory')"]


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+b", "(?:a*)*b", r"(\w+\s*)+:", r"(?:\s*\w+)*$x", "(?:a|aa)*b", "(?:a|b|ab)*c", "(x+x+)+y", r"(.*?,)*z$",
        r"(?:.*a){12}$", r"\s*\s*\s*\s*x", r"(?P<a>.*)(?P<b>.*)(?P<c>.*)(?P<d>.*)z$", r"^(?:\w+\.?)*$",
    ],
)  # fmt: skip
def test_patterns_that_backtrack_without_end_are_refused(pattern: str) -> None:
    assert danger(pattern) is not None


@pytest.mark.parametrize(
    "pattern",
    [
        "lost pool", r"wants (?P<n>\d+) of (?P<m>\d+)", r"(?:,\w+)*", r"(?:\w+\.)?KeyError", r"[^']*'", r"(?:a|b)*c",
        r"\bpool\b.{0,60}\b(?:lost|gone)\b", r"(?m)^E\d{4} .*\] pool", r"(?>a+)+b", r"(?s)first.*second", r"\A(?:[^,]+,)*x",
    ],
)  # fmt: skip
def test_ordinary_patterns_pass(pattern: str) -> None:
    assert danger(pattern) is None


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.sampled_from(["a", "b", r"\w", ".", "(?:a|b)", "[ab]", r"\s"]).flatmap(
            lambda atom: st.sampled_from([atom, atom + "+", atom + "*", f"(?:{atom}+)+", f"({atom}*)*", f"(?:{atom}x)*"])
        ),
        min_size=1,
        max_size=4,
    ).map("".join)
)
def test_what_passes_is_quick_on_long_runs(pattern: str) -> None:
    if danger(pattern + "$") is None:
        compiled = regex.compile(pattern + "$")
        for text in ("a" * 1500 + "!", "ab" * 700 + "!", " " * 1500 + "!", "ax" * 700 + "!"):
            start = time.perf_counter()
            compiled.search(text, timeout=4)
            assert time.perf_counter() - start < 2

