"""Versions and comparisons of facts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnoser.catalogue.versions import compare, fact_holds, version, within

ASCENDING = [
    "0.9", "0.20.2", "0.21.0.dev5", "0.21.0a1", "0.21.0b2", "0.21.0rc1.dev3+g1234.cpu", "0.21.0rc1", "0.21.0rc2",
    "0.21.0", "0.21.0.post1", "0.21.1.dev12+gabc", "0.21.1", "0.21.10", "1", "1.0.1", "2026.5",
]  # fmt: skip


def test_versions_are_ordered() -> None:
    for left in range(len(ASCENDING)):
        for right in range(len(ASCENDING)):
            assert compare(ASCENDING[left], ASCENDING[right]) == (left > right) - (left < right)


@pytest.mark.parametrize(
    ("left", "right"), [("0.21", "0.21.0"), ("v0.21.0", "0.21"), ("0.21.0+cpu", "0.21.0"), ("2.9.0+cu130", "2.9")]
)
def test_equal_versions(left: str, right: str) -> None:
    assert compare(left, right) == 0


@pytest.mark.parametrize("text", ["", "unknown", "g1234", "0.21.x", "1..2", "v", "nightly-2026"])
def test_what_is_no_version(text: str) -> None:
    assert version(text) is None
    assert compare(text, "1.0") is None


@pytest.mark.parametrize(
    ("text", "wanted", "holds"),
    [
        ("0.21.0", ">=0.6", True),
        ("0.21.0", ">=0.6,<0.21", False),
        ("0.20.5", ">=0.6, <0.21", True),
        ("0.21.0", "0.21", True),
        ("0.21.0", "==0.21.1", False),
        ("0.21.0", "!=0.21.1", True),
        ("0.21.0rc1", "<0.21", True),
        ("0.21.0", "new", None),
        ("unknown", ">=1", None),
        ("0.21.0", ">=", None),
    ],
)
def test_ranges(text: str, wanted: str, holds: bool | None) -> None:
    assert within(text, wanted) is holds


@pytest.mark.parametrize(
    ("value", "comparison", "holds"),
    [
        (2, ">1", True),
        (1, ">1", False),
        (10, ">9", True),
        (0.9, ">0.85", True),
        (0.9, ">=0.9,<1", True),
        (2, "many", False),
        (2, ">many", False),
        ("0.21.0", ">=0.9", True),
        ("0.9", ">=0.21", False),
        ("auto", "==auto", True),
        ("auto", "auto", True),
        ("fp8", "!=auto", True),
        ("auto", "!=auto", False),
        (True, "true", True),
        (True, "True", True),
        (False, "true", False),
        ("True", "true", True),
        (8, "8", True),
        ("8", "==8", True),
        (0.9, "0.90", True),
        ("expandable_segments:True", "expandable_segments:True", True),
        ("MooncakeStoreConnector", "~^Mooncake", True),
        ("NixlConnector", "~^Mooncake", False),
        ("text", ">1", False),
    ],
)
def test_facts(value: str | int | float | bool, comparison: str, holds: bool) -> None:
    assert fact_holds(value, comparison) is holds


@given(st.text(max_size=30), st.text(max_size=30))
def test_any_text_can_be_compared(left: str, right: str) -> None:
    assert compare(left, right) in (-1, 0, 1, None)
    assert within(left, right) in (True, False, None)
