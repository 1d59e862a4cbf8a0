"""Rotated logs come in the order of time, and a folder gives its logs."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnoser.sources.paths import in_folder, in_time_order, may_be_log, natural


@pytest.mark.parametrize(
    "oldest_first",
    [
        ["x.log.10.gz", "x.log.2.gz", "x.log.1", "x.log"],
        ["0.log.20260101-010203.gz", "0.log.20260102-010203", "0.log"],
        ["app.log-20251231.gz", "app.log-20260101", "app.log"],
        ["vllm.log.2026-01-01_00-00-00", "vllm.log.2026-01-02_00-00-00", "vllm.log"],
        ["server-20260101.log", "server-20260102.log", "server.log"],
        ["raylet.2.log", "raylet.1.log", "raylet.log"],
    ],
)
@given(data=st.data())
def test_rotated_files_come_oldest_first(oldest_first: list[str], data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations([f"/var/log/{name}" for name in oldest_first]))
    assert in_time_order(shuffled) == [f"/var/log/{name}" for name in oldest_first]


def test_what_is_not_rotated_keeps_its_place() -> None:
    names = ["b.log", "a.log", "1.log", "0.log", "rank1.log", "rank0.log", "d/a.log.1", "a.log.1"]
    assert in_time_order(names) == [
        "b.log",
        "a.log.1",
        "a.log",
        "1.log",
        "0.log",
        "rank1.log",
        "rank0.log",
        "d/a.log.1",
    ]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("vllm.log", True),
        ("vllm.log.3.gz", True),
        ("0.log.20260101-010203", True),
        ("stdout", True),
        ("attempt_0/1/error.json", True),
        ("bundle.tar.gz", True),
        ("worker-1.err", True),
        ("config.json", False),
        ("model.safetensors", False),
        (".hidden.log", False),
        ("old.log~", False),
        ("vllm.service", None),
        ("console", None),
    ],
)
def test_may_be_log(name: str, expected: bool | None) -> None:
    assert may_be_log(name) is expected


def test_numbers_in_names_are_compared_as_numbers() -> None:
    names = ["r10", "r9", "r09", "r" + "1" * 6000, "r", "s1"]
    assert sorted(names, key=natural) == ["r", "r9", "r09", "r10", "r" + "1" * 6000, "s1"]


def test_a_folder_is_searched_without_following_links_to_folders(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x10.log").write_text("x")
    (tmp_path / "a" / "x9.log").write_text("x")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "y.log").write_text("x")
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "broken").symlink_to(tmp_path / "nothing")
    assert list(in_folder(str(tmp_path))) == [str(tmp_path / "a" / "x9.log"), str(tmp_path / "a" / "x10.log")]
