"""The command lines that are read without click: the same is read out of them as click reads."""

from __future__ import annotations

import io
import subprocess
import sys

import pytest
from click import ClickException
from hypothesis import given
from hypothesis import strategies as st

from diagnoser.cli import everyday
from diagnoser.cli.log import log
from diagnoser.cli.names import COMMANDS

WORDS = st.one_of(
    st.sampled_from([*everyday.FLAGS, *everyday.VALUES, "-", "--", "-qv", "--quiet=1", "--format=json", "-fjson"]),
    st.sampled_from(["crash.log", "json", "--color", "always", "--live", "--since", "--form", "", "-1", "run.log"]),
    st.text("-=fqo 1é", max_size=5),
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def by_click(arguments: list[str]) -> tuple[tuple[str, ...], dict[str, object]] | None:
    try:
        options = dict(log.make_context("diagnose", list(arguments)).params)
    except ClickException:
        return None
    return options.pop("logs"), options


@given(st.lists(WORDS, max_size=7))
def test_what_is_understood_is_what_click_reads(arguments: list[str]) -> None:
    wanted = everyday.read(arguments)
    assert wanted is None or tuple(wanted) == by_click(arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        ["crash.log"],
        ["crash.log", "-"],
        ["crash.log", "--format", "json", "--exit-zero"],
        ["-f", "html", "-o", "report.html", "worker-*.log"],
        ["--no-redact", "--no-skip", "-v", "a/b.log.gz"],
        ["crash.log", "--rules", "ops/rules", "--ignore", "network-http-port-in-use", "-o", "-"],
    ],
)
def test_everyday_lines_are_understood(arguments: list[str]) -> None:
    wanted = everyday.read(arguments)
    assert wanted is not None
    assert tuple(wanted) == by_click(arguments)


@pytest.mark.parametrize(
    "arguments",
    [["run", "--", "vllm"], ["chekc", "a"], ["check"], ["--help"], ["crash.log", "-o"], ["crash.log", "--since", "1h"]],
)
def test_the_rest_is_left_to_click(arguments: list[str]) -> None:
    assert everyday.read(arguments) is None


def test_nothing_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert everyday.read([]) == ((), by_click([])[1])  # type: ignore[index]
    monkeypatch.setattr("sys.stdin", Terminal())
    assert everyday.read([]) is None
    monkeypatch.setattr("sys.stdin", None)
    assert everyday.read([]) is None


def test_a_word_that_is_a_file_is_a_log(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "chekc").write_text("")
    assert everyday.read(["chekc"]) is not None


def test_click_is_not_imported(tmp_path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "crash.log").write_text("AssertionError: no\n")
    script = "import sys; from diagnoser.cli.main import run; run(['crash.log']); print('click' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"


def test_help_tells_of_every_command_without_loading_them() -> None:
    script = (
        "import sys; from diagnoser.cli.main import run; run(['--help']); "
        "print(*[name for name in sys.modules if name.startswith('diagnoser.cli.')])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    *shown, loaded = done.stdout.splitlines()
    told = [line.split()[0] for line in shown[shown.index("Commands:") + 1 :] if line.startswith("  ")]
    assert told[: len(COMMANDS)] == list(COMMANDS)
    assert "diagnoser.cli.check" not in loaded.split()
