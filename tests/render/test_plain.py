"""Text is made harmless, cut and wrapped as promised."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnoser.render._plain import columns, cut_end, cut_middle, excerpt, one_line, printable, wrap


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]8;;http://192.0.2.1/\x1b\\shown\x1b]8;;\x1b\\", "shown"),
        ("\x1b]0;never ended, still shown", "0;never ended, still shown"),
        ("\x9b31mred\x9b0m", "red"),
        ("\x1b\x1b[31m[31mred", "[31mred"),
        ("one\r\ntwo\rthree\u2028four", "one\ntwo\nthree\nfour"),
        ("a\tb", "a   b"),
        ("a\x00b\x08c\x7fd", "abcd"),
        ("abc\u202edef\u202c", "abcdef"),
        ("a\ud800b", "a\ufffdb"),
        ("a\ufffeb", "a\ufffdb"),
        ("漢字 é", "漢字 é"),
    ],
)
def test_printable(text: str, expected: str) -> None:
    assert printable(text) == expected


@given(st.text())
def test_printable_twice_is_printable_once(text: str) -> None:
    assert printable(printable(text)) == printable(text)


def test_one_line() -> None:
    assert one_line("  a\n\tb \x1b[0m c ") == "a b c"


def test_cut_middle_keeps_both_ends_and_says_how_much_is_gone() -> None:
    assert cut_middle("a" * 60 + "b" * 1000 + "c" * 30, 90) == (
        "a" * 60 + " [... 1,000 characters left out ...] " + "c" * 30
    )
    assert cut_middle("short", 5) == "short"


def test_cut_end() -> None:
    assert cut_end("a long text", 8) == "a lon..."
    assert cut_end("short", 8) == "short"


@given(st.text(alphabet="ab\x1b[m\n", max_size=400), st.integers(20, 60))
def test_excerpts_are_short(text: str, limit: int) -> None:
    assert len(excerpt(text, limit)) <= limit + 60


def test_an_excerpt_costs_what_is_shown_and_not_what_is_there() -> None:
    text = "word " * 4_000_000
    started = time.perf_counter()
    shown = excerpt(text, 1000)

    assert time.perf_counter() - started < 0.2
    assert "19,999,000 characters left out" in shown


@pytest.mark.parametrize(("text", "width"), [("abc", 3), ("漢字", 4), ("e\u0301", 1), ("", 0)])
def test_columns(text: str, width: int) -> None:
    assert columns(text) == width


def test_wrap_indents_and_hangs() -> None:
    assert list(wrap("one two three four\n  five six", 12, "- ", "  ")) == [
        "- one two",
        "  three four",
        "    five six",
    ]


def test_wrap_breaks_long_words_but_no_links() -> None:
    assert list(wrap("x" * 25, 10, "  ")) == ["  " + "x" * 8, "  " + "x" * 8, "  " + "x" * 8, "  x"]
    link = "https://example.org/a/very/long/address"
    assert list(wrap(f"see {link} now", 20)) == ["see", link, "now"]


def test_wrap_breaks_paths_behind_a_slash() -> None:
    assert list(wrap("at a/long/path/to/some_file.py:692 in f", 20, "  ")) == [
        "  at",
        "  a/long/path/to/",
        "  some_file.py:692",
        "  in f",
    ]


def test_wrap_counts_wide_characters_as_two() -> None:
    assert list(wrap("漢" * 7, 10)) == ["漢" * 5, "漢" * 2]


@given(st.text(alphabet="ab 漢\n", max_size=200), st.integers(12, 60))
def test_no_wrapped_line_is_too_long_and_no_word_is_lost(text: str, width: int) -> None:
    lines = list(wrap(text, width, "  "))

    assert all(columns(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())
