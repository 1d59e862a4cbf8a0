"""Completion in real shells, where they are installed, and the answers that all of them show."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from diagnoser.cli.completion import SCRIPTS, Answer, answers
from diagnoser.cli.main import run
from diagnoser.render import FORMATS

BIN = Path(sys.executable).parent
ASK = {
    "bash": 'bash --norc -c \'eval "$(diagnose completion bash)"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
    '_diagnose 2>/dev/null; printf "%s\\n" "${COMPREPLY[@]}"\' ask -- "$@"',
    "zsh": "zsh -f -c 'compdef() {}; _files() { : }; _describe() { print -l -- ${${(P)2}%%:*} }; "
    'eval "$(diagnose completion zsh)"; shift; words=("$@"); CURRENT=$#; _diagnose\' ask -- "$@"',
    "fish": 'fish --no-config -c \'diagnose completion fish | source; complete -C "$argv"\' "$@" | cut -f1',
}


def words(*typed: str) -> list[str]:
    return [answer.word for answer in answers(typed) if answer.kind == "word"]


def kinds(*typed: str) -> set[str]:
    return {answer.kind for answer in answers(typed)}


@pytest.mark.parametrize("shell", sorted(SCRIPTS))
@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        (("diagnose", "expl"), ["explain"]),
        (("diagnose", "rules", "sch"), ["schema"]),
        (("diagnose", "--format", "term"), ["termination"]),
        (("diagnose", "explain", "parallel-kv-heads-not-div"), ["parallel-kv-heads-not-divisible"]),
    ],
)
def test_a_shell_completes(shell: str, typed: tuple[str, ...], expected: list[str]) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}

    found = subprocess.run(
        ["bash", "-c", ASK[shell], "ask", *typed], capture_output=True, text=True, env=environment, timeout=60
    )

    assert (found.stdout.split(), found.stderr) == (expected, "")


def test_the_first_word_is_a_command_or_a_log() -> None:
    assert "rules" in words("")
    assert kinds("") == {"word", "file"}
    assert kinds("worker.lo") == {"file"}


def test_options_of_the_default_command_need_no_command() -> None:
    assert words("worker.log", "--form") == ["--format"]
    assert words("-f", "") == list(FORMATS)


def test_options_that_take_a_path_offer_paths() -> None:
    assert kinds("worker.log", "-o", "") == {"file"}
    assert kinds("worker.log", "--rules", "") == {"folder"}


def test_a_group_offers_its_commands_and_their_choices() -> None:
    assert words("rules", "l") == ["lint", "list"]
    assert words("rules", "list", "--role", "") == ["cause", "wrapper", "symptom", "noise"]


def test_rule_ids_come_with_their_titles() -> None:
    assert list(answers(["rules", "test", "parallel-kv-heads-not"])) == [
        Answer("word", "parallel-kv-heads-not-divisible", "Key/value heads do not fit the tensor parallel size")
    ]


def test_a_wrapped_command_is_completed_as_files() -> None:
    assert kinds("worker.log", "--", "") == {"file"}


def test_an_unknown_shell_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["completion", "tcsh"]) == 2
    assert "'tcsh' is not one of 'bash', 'zsh', 'fish'" in capsys.readouterr().err


@pytest.mark.parametrize("shell", sorted(SCRIPTS))
def test_the_script_is_printed(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["completion", shell]) == 0
    assert capsys.readouterr().out == SCRIPTS[shell]
