"""An input without a byte in it: no failure was found, but none was looked for either."""

from __future__ import annotations

import gzip
import json
import subprocess
from pathlib import Path

import live_helpers as live
import pytest

from diagnoser.cli.main import run

PIPE = "diagnose: nothing came on standard input; see whether the command before the pipe failed\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("empty.log", "rank0.log", "rank1.log", "rank2.log", "rank3.log"):
        (tmp_path / name).touch()
    (tmp_path / "empty.gz").write_bytes(gzip.compress(b""))
    (tmp_path / "fine.log").write_text("INFO 03-14 10:20:30 [core.py:58] ready\n")
    return tmp_path


@pytest.mark.parametrize("options", [(), ("-q",), ("--live",), ("--live", "--tee")])
def test_an_empty_pipe_is_no_healthy_log(options: tuple[str, ...]) -> None:
    done = subprocess.run(
        live.tool(*options), stdin=subprocess.DEVNULL, capture_output=True, env=live.environment(), timeout=60
    )

    assert (done.returncode, done.stderr.decode()) == (2, PIPE)


@pytest.mark.parametrize(
    ("logs", "named"),
    [
        (("empty.log",), "empty.log"),
        (("empty.log", "empty.gz"), "empty.log, empty.gz"),
        (
            ("empty.log", "rank0.log", "rank1.log", "rank2.log", "rank3.log"),
            "empty.log, rank0.log, rank1.log and 2 more",
        ),
    ],
)
def test_empty_files_are_named(
    logs: tuple[str, ...], named: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*logs]) == 2
    assert capsys.readouterr().err == f"diagnose: {named}: nothing to read\n"


def test_pipelines_that_must_go_on_go_on_and_get_a_report(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--exit-zero", "--format", "json", "empty.log"]) == 0
    assert json.loads(capsys.readouterr().out)["summary"] == "The input is empty."


def test_an_empty_log_among_others_is_a_note(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--format", "json", "fine.log", "empty.log"]) == 0
    out, err = capsys.readouterr()

    assert (json.loads(out)["coverage"]["notes"], err) == (["empty.log: empty"], "")


@pytest.mark.parametrize(
    "arguments",
    [
        ("diff", "fine.log", "empty.log"),
        ("diff", "empty.log", "fine.log"),
        ("check", "--from-log", "empty.log"),
        ("check", "--prefill", "empty.log", "--decode", "fine.log"),
    ],
)
def test_no_other_command_takes_an_empty_log_for_a_healthy_one(
    arguments: tuple[str, ...], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*arguments]) == 2
    assert capsys.readouterr().err == "diagnose: empty.log: nothing to read (expected a log)\n"
