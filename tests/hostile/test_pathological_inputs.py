"""Every case of `pathological.py` at a small part of its size; the full sizes are in `docs/limits.md`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hostile.pathological import CASES, Case, problems, run

SCALE = 0.002


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Reading all rules anew for every case would take most of the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DIAGNOSER_CACHE", str(tmp_path_factory.mktemp("cache")))
        run(CASES[0], SCALE, tmp_path_factory.mktemp("first"))
        yield


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_bounds_hold(case: Case, tmp_path: Path) -> None:
    outcome = run(case, SCALE, tmp_path)

    assert problems(case, outcome, SCALE) == []
