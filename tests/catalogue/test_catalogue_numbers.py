"""Which patterns ask for certain digits, and what texts contain that they would match with others."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnoser.catalogue.literals import numberless
from diagnoser.catalogue.patterns import tree
from diagnoser.catalogue.search import normalize
from diagnoser.catalogue.trees import asks_for_digits
from diagnoser.digits import without_digits


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (r"exited with code 137", True),
        (r"code: (?P<code>13[2-9])", True),
        (r"HTTP/\d\.\d\" [45]\d\d", True),
        (r"error (?!5)\d", True),
        (r"a\d+b{3}", False),
        (r"[0-9]+ of \w{1,20}(?!\d)", False),
        (r"[^\s:]{1,200}:", False),
        (r"(?i)out of memory", False),
        (r"\x27quoted\x27", False),
    ],
)
def test_certain_digits_are_told_from_any(pattern: str, expected: bool) -> None:
    assert asks_for_digits(tree(pattern)) is expected


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (r"exited with code (?P<code>137)", ("exited with code ",)),
        (r"(?:Local|Remote) rank 7 is gone", ("local rank  is gone", "remote rank  is gone")),
        (r"\bcode \d+ of the worker", ()),
        (r"404", ("",)),
        (r"\w+[45]", ("",)),
    ],
)
def test_literals_without_digits(pattern: str, expected: tuple[str, ...]) -> None:
    assert numberless(pattern) == expected


@given(
    st.integers(0, 999),
    st.integers(0, 999),
    st.sampled_from(["exited with code {}", "Xid (a): {}, x", "[Errno {}] no"]),
)
def test_a_text_is_known_whatever_its_numbers_are(one: int, other: int, text: str) -> None:
    pattern = re.escape(text.format(one)).replace("\\ ", " ")
    plain = without_digits(normalize(text.format(other)))
    assert any(literal in plain for literal in numberless(pattern))
