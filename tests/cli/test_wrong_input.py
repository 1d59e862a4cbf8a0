"""What is wrong with an input is said with its place and what was expected, and ends with status 2."""

from __future__ import annotations

import json
import random
from pathlib import Path

import crash_logs
import pytest

from diagnoser.cli.main import run


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "crash.log").write_text("\n".join(crash_logs.startup_crash("ValueError: width 7 is odd")) + "\n")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "rule.toml").write_text('id = "rule"\ntitle = \n')
    (tmp_path / "settings.toml").write_text('rules = "my-rules"\n')
    (tmp_path / "side.json").write_text(json.dumps({"command": "vllm serve heron-12b"}))
    (tmp_path / "bad.json").write_text('{"a": 1,\n')
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("--config", "settings.toml", "crash.log"),
            "settings.toml: rules is 'my-rules' (expected a list in brackets)",
        ),
        (("explain", "zebra"), "there is no rule 'zebra'; `diagnose rules list` names them"),
        (("check", "--tp", "1", "--vllm-version", "newest"), "--vllm-version 'newest' is no version such as 0.11.0"),
        (
            ("check", "--prefill", "side.json", "--decode", "side.json"),
            "side.json: unknown key 'command' (expected an option of vllm serve, env, vllm_version or mooncake_version)",
        ),
        (
            ("check", "--model-config", "bad.json"),
            "bad.json:2: not valid JSON: Expecting property name enclosed in double quotes at column 1",
        ),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    arguments: tuple[str, ...], said: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*arguments]) == 2
    assert capsys.readouterr() == ("", f"diagnose: {said}\n")


@pytest.mark.parametrize(
    ("rules", "said"), [("broken", "rule.toml:2: not TOML: "), ("absent", "absent: can't be read: No such file")]
)
def test_a_log_is_diagnosed_without_the_rules_that_are_broken(
    rules: str, said: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["-q", "--rules", rules, "crash.log"]) == 2
    out, err = capsys.readouterr()

    assert said in err
    assert "ValueError" in out
    assert run(["-q", "--exit-zero", "--rules", rules, "crash.log"]) == 0


def test_a_file_that_is_no_text_is_doubted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "weights.log").write_bytes(random.Random(1).randbytes(5_000))
    (folder / "latin.log").write_bytes("INFO Größe geändert, Übertragung läuft für früher\n".encode("latin-1") * 20)
    doubt = "much of the input is no text: is it a log?"

    assert run(["weights.log"]) == 0
    assert doubt in capsys.readouterr().out
    assert run(["latin.log"]) == 0
    assert doubt not in capsys.readouterr().out
