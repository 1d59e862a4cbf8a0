"""The glossary names every noun of the model, every command and every fixed word."""

from __future__ import annotations

import inspect
import re
from typing import get_args

from markdown_blocks import ROOT

import diagnoser.model
from diagnoser.cli.names import COMMANDS

TEXT = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
TERMS = set(re.findall(r"(?m)^(\S.*)\n: ", TEXT))


def test_every_noun_of_the_model_is_explained() -> None:
    nouns = {name for name, value in vars(diagnoser.model).items() if inspect.isclass(value) and name in value.__name__}

    assert nouns - TERMS == set()


def test_every_command_is_explained() -> None:
    assert set(COMMANDS) - TERMS == set()


def test_every_fixed_word_is_named() -> None:
    words = {
        word
        for name in (
            "Confidence",
            "FailureKind",
            "FindingStatus",
            "Impact",
            "LinkKind",
            "Role",
            "Severity",
            "Status",
            "Verdict",
        )
        for word in get_args(getattr(diagnoser.model, name))
    }

    assert {word for word in words if f"`{word}`" not in TEXT} == set()
