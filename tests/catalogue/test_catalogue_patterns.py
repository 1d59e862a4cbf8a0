"""What is concluded from a pattern must hold for every text that it matches."""

from __future__ import annotations

import re

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from diagnoser.catalogue import Catalogue
from diagnoser.catalogue.index import GRAM
from diagnoser.catalogue.literals import MOST_ALTERNATIVES, SHORTEST_LITERAL, demands, required, surest_literal
from diagnoser.catalogue.patterns import alternatives, certain_groups, group_names, plain, trouble
from diagnoser.catalogue.search import Searcher, normalize


@pytest.mark.parametrize(
    ("pattern", "literals"),
    [
        ("local_hostname is empty", ("local_hostname is empty",)),
        (r"\blocal_hostname\s+is", ("local_hostname",)),
        ("(?:Local|Remote) rank", ("local rank", "remote rank")),
        ("reduc(?:es)? it", ("reduc it", "reduces it")),
        ("[Aa]ddress in use", ("address in use",)),
        (r"-70[345]\b", ("-703", "-704", "-705")),
        ("(?i)OOM killer", ("oom killer",)),
        ("(?P<a>x+) is not divisible", (" is not divisible",)),
        ("(?:ab|cd)", ()),
        ("a{3,}bcdef", ("bcdef",)),
        ("(?:lost pool)+", ("lost pool",)),
        ("(?:lost pool)*", ()),
        (r"\w+|lost pool", ()),
        ("(?=lost pool)x", ()),
        ("(?!lost)pool gone", ("pool gone",)),
        ("(?<=lost )pool", ("pool",)),
        ("不能被 TP (?P<n>7) 整除", ("不能被 tp 7 整除",)),
        ("é gone away", (" gone away",)),
        (r"[\s\S]+", ()),
        ("^$", ()),
        ("(a)?(?(1)bcd|xyz)", ()),
        ("(?:abcd){2}", ("abcd",)),
        ("x.lost", ("lost",)),
        ("(", ()),
    ],
)
def test_required_literals(pattern: str, literals: tuple[str, ...]) -> None:
    assert required(pattern) == literals


PIECES = st.recursive(
    st.sampled_from(
        [
            "abc", "Pool", "lost ", "k", "S", "i", r"\d+", r"\w", r"\s*", ".", ".*", "[ab]", "[^x]", "[A-C]", "[kK]", r"\.",
            "é", "ſ", "\u212a", "İ", "中文", "^", "$", r"\b", "x?", "y{2}", "(?i:Rank)", "[ſs]",
        ]
    ),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=4).map("".join),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: f"(?:{'|'.join(parts)})"),
        inner.map(lambda part: f"(?:{part})?"),
        inner.map(lambda part: f"(?:{part})+"),
        inner.map(lambda part: f"(?:{part}){{1,2}}"),
        inner.map(lambda part: f"({part})"),
        inner.map(lambda part: f"(?={part})"),
        inner.map(lambda part: f"(?!{part})"),
        inner.map(lambda part: f"(?>{part})"),
    ),
    max_leaves=8,
)  # fmt: skip
PATTERNS = st.builds(lambda flag, body: flag + body, st.sampled_from(["", "(?i)", "(?s)", "(?m)"]), PIECES)
WORDS = ["abc", "ABC", "pool", "Pool", "POOL", "lost ", "rank", "RANK", "7", "k", "K", "\u212a", "s", "S", "ſ", "é", "É", "中文", "i", "İ", "ı", "I", " ", "\n", ".", "x", "yy", "a", "b"]  # fmt: skip
TEXTS = st.lists(st.sampled_from(WORDS), max_size=10).map("".join)


@settings(max_examples=1500, deadline=None)
@given(pattern=PATTERNS, text=TEXTS)
def test_every_match_contains_a_required_literal(pattern: str, text: str) -> None:
    found = regex.search(pattern, text, regex.V0, timeout=1)
    literals = required(pattern)

    assert len(literals) <= MOST_ALTERNATIVES
    assert all(len(literal) >= SHORTEST_LITERAL and literal == normalize(literal) for literal in literals)
    if found is not None:
        for clause in (literals, *demands(pattern)):
            assert not clause or any(literal in normalize(text) for literal in clause)


@settings(max_examples=500, deadline=None)
@given(pattern=PATTERNS, text=TEXTS)
def test_looking_up_plain_literals_is_the_same_as_searching(pattern: str, text: str) -> None:
    literals = plain(pattern)
    if literals is not None:
        hit = Searcher().search(literals, text)
        found = regex.search(pattern, text, regex.V0)
        assert (hit and (hit.start, hit.end)) == (found and found.span())


@settings(max_examples=500, deadline=None)
@given(pattern=PATTERNS, text=TEXTS)
def test_the_listed_names_are_all_that_a_name_pattern_matches(pattern: str, text: str) -> None:
    names = alternatives(pattern.replace(".", r"\."))
    if names is not None:
        assert (text in names) == (regex.fullmatch(pattern.replace(".", r"\."), text, regex.V0) is not None)


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("ValueError", ("ValueError",)),
        ("(ValueError|KeyError)", ("ValueError", "KeyError")),
        (r"(?:torch\.)?OutOfMemoryError", ("OutOfMemoryError", "torch.OutOfMemoryError")),
        ("zmq.error.ZMQError", ("zmq.error.ZMQError",)),
        (".*Error", None),
        ("(?i)ValueError", None),
        (r"\w+Error", None),
    ],
)
def test_names_of_an_exception_pattern(pattern: str, names: tuple[str, ...] | None) -> None:
    found = alternatives(pattern)

    assert (set(found) if found else found) == (set(names) if names else names)


@pytest.mark.parametrize(
    ("pattern", "literals"),
    [
        ("some text", ("some text",)),
        (r"a\.b|c", ("a.b", "c")),
        ("(?P<x>a)", None),
        ("(?i)a", None),
        ("a.b", None),
        ("^a", None),
        ("a?", None),
    ],
)
def test_plain_literals(pattern: str, literals: tuple[str, ...] | None) -> None:
    assert plain(pattern) == literals


def test_all_that_a_match_must_contain() -> None:
    assert demands(r"(?:local|remote) experts\D*(?P<n>\d+)\D*group_size") == (
        ("local experts", "remote experts"), ("group_size",)
    )  # fmt: skip
    assert demands(r"expert \d+ 不能被 \d+ >= 3") == ((" 不能被 ",), ("expert ",), (" >= 3",))
    assert demands(r"a\d+>=\s") == ((">=",),)
    assert demands(r"\w+") == demands("(") == ()


def test_groups_that_always_take_part() -> None:
    pattern = r"(?P<a>x)(?P<b>y)?(?:(?P<c>1)|(?P<d>2))(?:p(?P<e>1)|q(?P<e>2))(?P<f>z)+(?=(?P<g>w))(?:(?P<h>v))*"

    assert group_names(pattern) == ("a", "b", "c", "d", "e", "f", "g", "h")
    assert certain_groups(pattern) == {"a", "e", "f", "g"}


@pytest.mark.parametrize(
    ("pattern", "length"),
    [("ab|lost pool", 2), ("(?:a|lost)pool .* gone away", 10), (r"\w+", 0), ("组大小", 6), ("(", 0)],
)
def test_surest_literal(pattern: str, length: int) -> None:
    assert surest_literal(pattern) == length


@pytest.mark.parametrize(
    ("pattern", "fine"),
    [
        (r"\{x\}", True),
        ("a{2}b{,3}c{1,}", True),
        ("[{]x[^}]", True),
        (r"[\]{]x", True),
        ("a{e<=1}", False),
        ("{x", False),
        (r"\\{x", False),
        ("(?P<n>a)|(?P<n>b)", True),
        ("(?<n>a)", False),
        (r"\p{L}", False),
        ("a" * 10 + "(" * 2000, False),
    ],
)
def test_patterns_that_both_modules_read_alike(pattern: str, fine: bool) -> None:
    assert (trouble(pattern) is None) is fine


@given(text=st.text())
def test_normalizing_keeps_what_is_contained(text: str) -> None:
    assert normalize(text[1:4]) in normalize(text) or not text[1:4].isascii()


def test_literals_of_the_built_in_rules_are_sound_on_their_own_samples() -> None:
    """Every pattern of the catalogue that matches some sample finds its literals there."""
    catalogue = Catalogue.load()
    texts = [sample.log for rule in catalogue.rules.values() for sample in rule.samples][::7]
    normalized = [normalize(text) for text in texts]
    conditions = [c for rule in catalogue.rules.values() for m in rule.matches for c in (m, m.negate) if c]
    tried = 0
    for pattern in {p for c in conditions for p in (c.message, c.code, c.log) if p}:
        literals = required(pattern)
        compiled = regex.compile(pattern, regex.V0)
        for text, folded in zip(texts, normalized, strict=True):
            if literals and not any(literal in folded for literal in literals):
                assert compiled.search(text) is None
                tried += 1

    assert tried > 10_000


def test_no_pattern_of_the_catalogue_needs_to_run_on_every_record() -> None:
    catalogue = Catalogue.load()
    index = catalogue._shelves[0].table

    assert index.log_always == ()
    assert all(len(literal) >= SHORTEST_LITERAL for literal in index.log_literals)
    assert sum(len(index.log_literals[number]) < GRAM for number in index.log_short) == len(index.log_short)


def test_the_stdlib_and_regex_agree_on_the_catalogue() -> None:
    """Rule patterns are written in the common part of both modules, so literals taken from one hold for the other."""
    catalogue = Catalogue.load()
    texts = [sample.log for rule in catalogue.rules.values() for sample in rule.samples][::23]
    for rule in catalogue.rules.values():
        for condition in rule.matches:
            for pattern in (condition.message, condition.log):
                if pattern and "__again" not in pattern:
                    try:
                        standard = re.compile(pattern)
                    except re.error:
                        continue  # a group name that alternatives share
                    compiled = regex.compile(pattern, regex.V0)
                    for text in texts:
                        ours, theirs = compiled.search(text), standard.search(text)
                        assert (ours and ours.span()) == (theirs and theirs.span())
