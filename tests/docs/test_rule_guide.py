"""The rule author's guide names every key, every filter and facts that exist."""

from __future__ import annotations

import re

from markdown_blocks import ROOT

from diagnoser.catalogue.filters import FILTERS
from diagnoser.catalogue.rule import CONDITION_KEYS, POINTS_TO, REMEDY_KEYS, TEXT_KEYS

TEXT = (ROOT / "docs" / "rule-authors-guide.md").read_text(encoding="utf-8")
NAMED = set(re.findall(r"`(\w[\w-]*)", TEXT))


def test_every_key_is_explained() -> None:
    assert {*TEXT_KEYS, *CONDITION_KEYS, *REMEDY_KEYS, *POINTS_TO, "outranks", "fixed_in"} - NAMED - {
        "applies"
    } == set()


def test_every_filter_is_explained() -> None:
    assert set(FILTERS) - NAMED == set()


def test_the_facts_that_are_named_exist() -> None:
    """A fact exists when the code that reads facts, or a rule, knows its name."""
    named = re.findall(r"`(\w+)`", TEXT.split("## Facts")[1])
    source = (ROOT / "diagnoser" / "facts.py").read_text(encoding="utf-8")

    assert [name for name in named if f'"{name}"' not in source] == []
