"""Files around the package that nothing else in the tests reads: hooks, container file, CI steps."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent
STEPS = ("install", "lint", "rules", "docs", "wheel", "first_steps", "score", "test")


def test_what_the_container_file_copies_is_there() -> None:
    """And nothing that the build of the package reads is missing from it."""
    lines = (ROOT / "Containerfile").read_text(encoding="utf-8").split("\n")
    copied = [
        name for line in lines if line.startswith("COPY ") and "--from" not in line for name in line.split()[1:-1]
    ]

    assert [name for name in copied if not (ROOT / name).exists()] == []
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {
        project["project"]["readme"],
        *project["project"]["license-files"],
        *wheel["packages"],
        *wheel["force-include"],
        *wheel["shared-data"],
        *(hook["path"] for hook in wheel.get("hooks", {}).values()),
    }
    assert needed <= set(copied)


def test_the_container_runs_without_root() -> None:
    text = (ROOT / "Containerfile").read_text(encoding="utf-8")

    assert re.search(r"(?m)^USER (?!root|0)", text)


def test_hooks_call_what_exists() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"][0]["hooks"]
    words = [word for hook in hooks for word in hook["entry"].split() if word.startswith("tests/")]

    assert {hook["language"] for hook in hooks} == {"system"}
    assert [word for word in words if not (ROOT / word).exists()] == []


def test_hooks_for_other_repositories_call_commands_that_exist() -> None:
    """`pre-commit` reads this file from the root of the repository that it is pointed at."""
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))

    for hook in hooks:
        program, command, *options = hook["entry"].split()
        shown = subprocess.run([sys.executable, "-m", "diagnoser", command, "--help"], capture_output=True, text=True)
        assert program == "diagnose"
        assert [option for option in options if option not in shown.stdout] == []


@pytest.mark.parametrize("script", ["run", "wheel", "first-steps"])
def test_scripts_of_ci_are_valid_bash(script: str) -> None:
    subprocess.run(["bash", "-n", str(ROOT / ".ci" / script)], check=True)


def test_ci_runs_every_step() -> None:
    text = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    defined = re.findall(r"(?m)^(\w+)\(\) \{", text)

    assert set(STEPS) <= set(defined)
    assert f"steps=({' '.join(STEPS)})" in text


def test_development_dependencies_cover_what_tests_import() -> None:
    """A bare machine installs `.[dev]` and nothing else."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    named = {re.split(r"[^\w.-]", line)[0].lower().replace("-", "_") for line in wanted}
    imported = {
        name
        for path in (ROOT / "tests").rglob("*.py")
        for name in re.findall(r"(?m)^\s*(?:from|import) (\w+)", path.read_text(encoding="utf-8"))
    }
    distributions = {"yaml": "pyyaml", "markdown_it": "markdown_it_py", "ahocorasick_rs": "ahocorasick_rs"}
    third_party = {"click", "html5lib", "hypothesis", "jinja2", "jsonschema", "markdown_it", "pytest", "regex", "yaml"}

    assert {distributions.get(name, name) for name in imported & third_party} <= named
