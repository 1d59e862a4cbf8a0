"""Replays the seeds of the fuzzer and the inputs that it once found, without the fuzzer."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

FUZZ = Path(__file__).parents[1] / "fuzz"
sys.path.insert(0, str(FUZZ))

from run import TARGET_NAMES  # noqa: E402
from targets import TARGETS  # noqa: E402

SEEDS = sorted(path for path in (FUZZ / "seeds").rglob("*") if path.is_file())


def target_of(path: Path) -> str:
    return path.parent.name


def test_every_target_has_seeds_and_a_name() -> None:
    assert set(TARGETS) == set(TARGET_NAMES) == {target_of(path) for path in SEEDS}


@pytest.mark.parametrize("path", SEEDS, ids=lambda path: str(path.relative_to(FUZZ / "seeds")))
def test_seed_breaks_no_promise(path: Path) -> None:
    TARGETS[target_of(path)](path.read_bytes())


@pytest.mark.parametrize("path", SEEDS, ids=lambda path: str(path.relative_to(FUZZ / "seeds")))
def test_damaged_seed_breaks_no_promise(path: Path) -> None:
    data = path.read_bytes()
    for at in range(0, len(data), max(1, len(data) // 8)):
        TARGETS[target_of(path)](data[:at])
        TARGETS[target_of(path)](data[:at] + bytes([data[at] ^ 0x5A]) + data[at + 1 :])
