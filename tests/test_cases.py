"""Crashes that people reported in public, each written anew in the shape that its report has.

`data/cases/expected.json` says for each what is known of its cause. Where the cause was never established, the
root must be right all the same and nothing may be called certain but what the log's own words say.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from expectations import shortfalls

from diagnoser import diagnose
from diagnoser.catalogue import Catalogue

FOLDER = Path(__file__).parent / "data" / "cases"
EXPECTED = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def catalogue():
    return Catalogue.load()


def test_every_case_has_a_log_and_every_log_an_expectation():
    assert sorted(path.stem for path in FOLDER.glob("*.log")) == sorted(EXPECTED)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_case_is_read_as_what_is_known_of_it(name, catalogue):
    report = diagnose((FOLDER / f"{name}.log").read_bytes(), catalogue=catalogue, redact=False)

    assert shortfalls(report, EXPECTED[name]) == []
