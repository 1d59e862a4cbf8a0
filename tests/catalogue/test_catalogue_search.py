"""Running patterns: the same answer from either engine, in bounded time."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from diagnoser.catalogue import Catalogue
from diagnoser.catalogue.backtracking import attacks
from diagnoser.catalogue.patterns import tree
from diagnoser.catalogue.quickness import QUICK, quick_length
from diagnoser.catalogue.search import BUDGET, LONGEST_TEXT, MOST_TIMEOUTS, Hit, Searcher
from diagnoser.model import Condition

Maker = Callable[..., Catalogue]


@pytest.mark.parametrize(
    ("pattern", "wanted"),
    [
        (r"wants (?P<n>\d+) slots of (?P<m>\d+)", True),
        ("lost.*pool", True),
        (r"\w+foo", True),
        (r"^(?:a|b)*c", True),
        (r"lost.*pool (?P<n>\d+)x", True),
        (r"lost[^,]*, pool (?P<n>\d+)x", True),
        ("(?:a)+a(?:a)+", False),
        (r"(?i)pool \S+ is", True),
        (r"a.*b.*c", False),
        (r"\s*\s*x", False),
        (r"(a+)+b", False),
        (r"\w*\d+x", False),
        (r"(?:.*a){9}", False),
        (r"(?P<n>a)|(?P<n>b)", False),
        ("(?i)ｆoo é", False),
        ("不能.{0,9}整除", True),
        (r"[^a]*不+x", False),
        (r"exit(?:ed)? code (?P<n>\d+)(?!\d)|signal \d+ (?:sent|seen)", True),
        (r"(?=.*a)(?=.*b).*c", False),
    ],
)
def test_simple_patterns(pattern: str, wanted: bool) -> None:
    assert (quick_length(pattern) == QUICK) is wanted


@pytest.mark.parametrize(
    ("pattern", "length"),
    [
        ("lost pool", QUICK),
        ("lost.*pool", QUICK),
        (r"\s*\s*x", 256),
        (r"a.*b.*c", 64),
        (r"a.*b.*c.*d", 0),
        ("(a+)+", 0),
        ("(?:x?)+y", 0),
    ],
)
def test_the_more_ways_the_shorter_the_text(pattern: str, length: int) -> None:
    assert quick_length(pattern) == length


def catalogue_patterns() -> Iterator[str]:
    for rule in Catalogue.load().rules.values():
        for condition in rule.matches:
            for part in (condition, condition.negate or Condition()):
                yield from filter(None, (part.exception, part.message, part.code, part.frame, part.any_frame, part.log))


def test_simple_patterns_of_the_catalogue_are_quick_on_attacks() -> None:
    tried = 0
    for pattern in sorted(set(catalogue_patterns())):
        limit = quick_length(pattern)
        if limit:
            searcher = Searcher()
            for attack in list(attacks(tree(pattern), limit))[:4]:
                start = time.process_time()
                searcher.search(("", pattern, limit), attack[:limit])
                assert time.process_time() - start < 5 * BUDGET, pattern
            tried += 1

    assert tried > 500


ATOMS = ["a", "b", r"\w", ".", "[ab]", r"\s", "ab", r"\d", "(?:a|ab)", "x?"]
GENERATED = st.lists(
    st.sampled_from(ATOMS).flatmap(
        lambda atom: st.sampled_from(
            [atom, f"(?:{atom})+", f"(?:{atom})*", f"(?:{atom})*?", f"(?:{atom},)*", f"(?:{atom}){{0,60}}", f"(?:x{atom}+)+"]
        )
    ),
    min_size=1,
    max_size=5,
).map("".join)


@settings(max_examples=30, deadline=None)
@given(GENERATED)
def test_simple_patterns_are_quick_on_attacks(pattern: str) -> None:
    limit = quick_length(pattern + "$")
    if limit:
        compiled = regex.compile(pattern + "$")
        for attack in list(attacks(tree(pattern + "$"), limit - 20))[:8]:
            # A hang must fail here and not in the engine without a limit.
            compiled.search(attack[: limit // 8] + attack[-20:], timeout=30)
            start = time.process_time()
            Searcher().search(("", pattern + "$", QUICK), attack)
            assert time.process_time() - start < 8 * BUDGET


@settings(max_examples=400, deadline=None)
@given(GENERATED, st.text(st.sampled_from("abx1, \n"), max_size=30))
def test_both_engines_find_the_same(pattern: str, text: str) -> None:
    if quick_length(pattern):
        assert Searcher().search(("", pattern, 64), text) == Searcher().search(pattern, text)
        assert Searcher().full(("", pattern, 64), text) == Searcher().full(pattern, text)


def test_a_text_without_what_a_pattern_needs_is_not_searched() -> None:
    searcher = Searcher()
    pattern = ("", "(?i)pool.*(?:lost|gone).*now", 0, ("pool",), ("lost", "gone"))

    assert searcher.search(pattern, "the pool is fine now") is None
    assert searcher._compiled == {}
    assert searcher.search(pattern, "the POOL is LOST now") == Hit(4, 20)


def test_both_engines_find_the_same_in_samples() -> None:
    catalogue = Catalogue.load()
    texts = [sample.log[:QUICK] for rule in catalogue.rules.values() for sample in rule.samples][::31]
    found = 0
    for pattern in sorted(set(catalogue_patterns())):
        if quick_length(pattern) == QUICK:
            ours, theirs = Searcher(), Searcher()
            for text in texts:
                hit = ours.search(("", pattern, QUICK), text)
                assert hit == theirs.search(pattern, text)
                found += hit is not None

    assert found > 100


def test_literals_are_found_where_an_alternation_would_find_them() -> None:
    searcher = Searcher()

    assert searcher.search(("pool lost", "pool"), "a pool lost") == Hit(2, 11)
    assert searcher.search(("pool", "pool lost"), "a pool lost") == Hit(2, 6)
    assert searcher.search(("lost", "pool"), "a pool lost") == Hit(2, 6)
    assert searcher.search(("gone",), "a pool lost") is None


def test_long_texts_go_to_the_engine_with_a_limit() -> None:
    searcher = Searcher()

    assert searcher.search(("", r"wants (?P<n>\d+)", QUICK), "x" * QUICK + " wants 7") == Hit(
        QUICK + 1, QUICK + 8, (("n", "7"),)
    )
    assert list(searcher._compiled) == [r"wants (?P<n>\d+)"]


def test_of_endless_texts_the_ends_are_searched() -> None:
    searcher = Searcher()

    for text in ("pool lost" + "x" * (2 * LONGEST_TEXT), "x" * (2 * LONGEST_TEXT) + "pool lost"):
        assert searcher.search("pool (?:lost)", text) is not None


def test_a_pattern_that_keeps_running_out_of_time_is_given_up() -> None:
    searcher = Searcher()
    text = "a" * 4000 + "!b"

    start = time.perf_counter()
    for _ in range(20):
        assert searcher.search("(?:a+)+b$", text + "x") is None

    assert searcher.timeouts == {"(?:a+)+b$": MOST_TIMEOUTS}
    assert time.perf_counter() - start < 30 * BUDGET


def test_a_usual_failure_does_not_load_the_regex_module() -> None:
    code = (
        "import sys\n"
        "from diagnoser.catalogue import Catalogue\n"
        "from diagnoser.model import ExceptionInfo, Failure, Frame, Process\n"
        "frame = Frame('/x/site-packages/vllm/model_executor/models/llama.py', 1, '__init__', "
        "'assert self.total_num_kv_heads % tp_size == 0', 2)\n"
        "info = ExceptionInfo('AssertionError', '', (frame,), line=3, end_line=3)\n"
        "found = Catalogue.load().match(Failure('exception', Process('W'), 'a', 1, 3, exceptions=(info,)), {}, {})\n"
        "assert [match.rule for match in found] == ['parallel-kv-heads-not-divisible'], found\n"
        "assert 'regex' not in sys.modules"
    )

    Catalogue.load()  # fills the cache
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
