"""Data and helpers that the tests of this folder share."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from diagnoser.catalogue import Catalogue

ATTACKS = json.loads((Path(__file__).parent / "attacks.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def catalogue() -> Catalogue:
    """The rules that come with the tool."""
    return Catalogue.load()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that asks for `attack` is run with each text of `attacks.json`."""
    if "attack" in metafunc.fixturenames:
        metafunc.parametrize("attack", list(ATTACKS.values()), ids=list(ATTACKS))
