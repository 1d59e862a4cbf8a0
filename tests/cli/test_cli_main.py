"""Which command is meant, and what mistakes exit with: the user's and our own."""

from __future__ import annotations

from pathlib import Path

import pytest

from diagnoser.cli.main import run


def test_a_bug_of_ours_does_not_look_like_a_diagnosis(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> int:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("diagnoser.cli.main._dispatch", broken)

    assert run(["worker.log"]) == 2
    error = capsys.readouterr().err
    assert "ZeroDivisionError: division by zero" in error
    assert error.endswith("diagnose: this is a bug in Diagnoser. Please report it with the lines above.\n")


@pytest.mark.parametrize(("typed", "meant"), [("rule", "rules"), ("folow", "follow"), ("chekc", "check")])
def test_a_misspelt_command_is_named(typed: str, meant: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([typed, "list"]) == 2
    assert capsys.readouterr().err == (
        f"diagnose: there is no command and no file {typed!r}; did you mean `diagnose {meant}`?\n"
    )


def test_a_file_named_like_a_misspelt_command_is_a_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rule").write_text("INFO all is well\n")

    assert run(["rule"]) == 0
    assert capsys.readouterr().out == "No failure found (1 line read of rule)\n"


@pytest.mark.parametrize("jobs", ["1", "2", "5"])
def test_any_number_of_jobs_gives_the_same_report(
    jobs: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    healthy = "INFO 03-14 10:20:30 [loggers.py:120] Engine 000: Avg prompt throughput: 10.0 tokens/s\n" * 40_000
    crash = 'Traceback (most recent call last):\n  File "/opt/venv/a.py", line 3, in f\nValueError: no such model\n'
    for number in range(3):
        (tmp_path / f"worker-{number}.log").write_text(healthy * 3 + crash * (number == 1))
    monkeypatch.chdir(tmp_path)

    names = [f"worker-{number}.log" for number in range(3)]
    assert run([*names, "--format", "json", "--exit-zero"]) == 0
    alone = capsys.readouterr().out
    assert '"line": 120003' in alone
    assert run([*names, "--format", "json", "--exit-zero", "--jobs", jobs]) == 0
    assert capsys.readouterr().out == alone


def test_jobs_must_be_a_number_of_threads(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["crash.log", "--jobs", "0"]) == 2
    assert "'--jobs'" in capsys.readouterr().err
