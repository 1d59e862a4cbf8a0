"""What an installed package must hold; `.ci/wheel` runs these tests in an empty environment with no checkout near."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import entry_points, version
from importlib.resources import files
from pathlib import Path

import pytest

import diagnoser

LOG = """\
(EngineCore pid=4132) ERROR 03-14 03:07:31 [core.py:1330] EngineCore failed to start.
(EngineCore pid=4132) ERROR 03-14 03:07:31 [core.py:1330] Traceback (most recent call last):
(EngineCore pid=4132) ERROR 03-14 03:07:31 [core.py:1330]   File "/opt/venv/lib/python3.12/site-packages/vllm/model_executor/models/llama.py", line 151, in __init__
(EngineCore pid=4132) ERROR 03-14 03:07:31 [core.py:1330]     assert self.total_num_kv_heads % tp_size == 0
(EngineCore pid=4132) ERROR 03-14 03:07:31 [core.py:1330] AssertionError
(APIServer pid=4100) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}
"""
RULE = "parallel-kv-heads-not-divisible"
INSTALLED = os.environ.get("DIAGNOSER_INSTALLED")


def run(*arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "diagnoser", *arguments], input=given, capture_output=True, text=True, timeout=60
    )


@pytest.mark.skipif(INSTALLED is None, reason="runs in .ci/wheel, where the package is installed")
def test_the_package_is_the_installed_one() -> None:
    assert Path(diagnoser.__file__).is_relative_to(str(INSTALLED))


@pytest.mark.skipif(INSTALLED is None, reason="runs in .ci/wheel, where the package is installed")
def test_the_manual_page_is_where_man_looks() -> None:
    assert (Path(str(INSTALLED)) / "share/man/man1/diagnose.1").read_text().startswith(".TH DIAGNOSE")


@pytest.mark.skipif(INSTALLED is None, reason="runs in .ci/wheel, where the package is installed")
def test_the_compact_rules_are_there() -> None:
    assert files("diagnoser").joinpath("_rules.bin").is_file()


def test_the_version_is_the_package_s() -> None:
    assert version("diagnoser") == diagnoser.__version__
    assert run("--version").stdout == f"diagnose {diagnoser.__version__}\n"


def test_the_commands_are_there() -> None:
    scripts = {script.name: script for script in entry_points(group="console_scripts")}

    assert callable(scripts["diagnose"].load())
    assert callable(scripts["kubectl-diagnose"].load())


def test_the_rules_are_there() -> None:
    listed = json.loads(run("rules", "list", "--format", "json").stdout)

    assert len(listed) > 250
    assert RULE in {rule["id"] for rule in listed}


def test_a_log_is_diagnosed() -> None:
    report = diagnoser.diagnose(LOG)

    assert [diagnosis.rule for diagnosis in report.incidents[0].diagnoses] == [RULE]


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("text", "AssertionError in EngineCore"),
        ("json", '{\n  "schema": "diagnoser.report/1"'),
        ("html", "<!DOCTYPE html>"),
        ("markdown", "#"),
    ],
)
def test_every_kind_of_format_has_its_templates(name: str, start: str) -> None:
    done = run("--format", name, given=LOG)

    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout[: len(start)].lower() == start.lower()


def test_the_package_says_that_it_is_typed() -> None:
    assert files("diagnoser").joinpath("py.typed").is_file()


@pytest.mark.parametrize("name", ["report", "diff", "repeat"])
def test_the_schemas_of_what_is_printed_in_json_are_there(name: str) -> None:
    schema = json.loads(files("diagnoser").joinpath(f"render/{name}.schema.json").read_text(encoding="utf-8"))

    assert schema["$id"] == f"urn:diagnoser:{name}:1"
