"""What keeps the code a place to live in: documented, without dead or doubled parts, released from one version."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import diagnoser

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "diagnoser"
MODULES = sorted(PACKAGE.rglob("*.py"))
BLOCK = 10
"""Equal lines in a row that count as a doubled block."""
DOCUMENTED_ERRORS = {"UsageError", "InputError", "RuleError", "RuleErrors", "PreflightError", "ValueError", "KeyError"}


def name_of(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    """Public functions and methods of public classes."""
    for node in ast.iter_child_nodes(tree):
        members = [node] if isinstance(node, ast.FunctionDef) else []
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            members = [member for member in node.body if isinstance(member, ast.FunctionDef)]
        yield from (member for member in members if not member.name.startswith("_"))


def raised(function: ast.FunctionDef) -> set[str]:
    """Names of the errors that a function raises itself."""
    return {
        node.exc.func.id
        for node in ast.walk(function)
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and isinstance(node.exc.func, ast.Name)
    } & DOCUMENTED_ERRORS


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_function_names_the_errors_that_it_raises(path: Path) -> None:
    """Commands are left out: their docstrings are help texts, and every error of theirs ends with status 2."""
    if path.parent.name == "cli":
        return
    silent = {
        function.name: sorted(missing)
        for function in functions(ast.parse(path.read_text(encoding="utf-8")))
        if (missing := {name for name in raised(function) if name not in (ast.get_docstring(function) or "")})
    }

    assert silent == {}


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_module_says_what_it_is_in_a_sentence(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    first = (ast.get_docstring(tree) or "").split("\n\n")[0]

    assert first.rstrip().endswith((".", ":", "?")), f"{name_of(path)}: {first[-40:]!r} does not end a sentence"


def code_lines(path: Path) -> list[tuple[int, str]]:
    """Lines of code with their numbers: without blanks, comments, docstrings, imports and lone brackets."""
    text = path.read_text(encoding="utf-8")
    left_out: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if docstring or isinstance(node, (ast.Import, ast.ImportFrom)):
            left_out |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = ((number, line.strip()) for number, line in enumerate(text.split("\n"), 1) if number not in left_out)
    return [(number, line) for number, line in lines if line.strip(")]},") and not line.startswith("#")]


def test_no_block_of_code_stands_twice() -> None:
    places: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for path in MODULES:
        lines = code_lines(path)
        for start in range(len(lines) - BLOCK + 1):
            block = lines[start : start + BLOCK]
            places[tuple(line for _, line in block)].append(f"{name_of(path)}:{block[0][0]}")

    assert [found for found in places.values() if len(found) > 1] == []


def test_no_code_is_dead() -> None:
    pytest.importorskip("vulture", reason="vulture is not installed")
    found = subprocess.run([sys.executable, "-m", "vulture"], cwd=ROOT, capture_output=True, text=True)

    assert found.stdout + found.stderr == ""


def private_names(tree: ast.Module) -> Iterator[str]:
    """Names of a module, and of methods in it, that begin with an underscore: vulture passes over them."""
    for node in ast.walk(tree):
        names = [node.name] if isinstance(node, (ast.FunctionDef, ast.ClassDef)) else []
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node in tree.body:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [target.id for target in targets if isinstance(target, ast.Name)]
        yield from (name for name in names if name.startswith("_") and not name.startswith("__"))


def test_no_private_name_is_dead() -> None:
    words = Counter(word for path in MODULES for word in re.findall(r"\w+", path.read_text(encoding="utf-8")))
    dead = {
        name_of(path): sorted(unused)
        for path in MODULES
        if (unused := {name for name in private_names(ast.parse(path.read_text(encoding="utf-8"))) if words[name] == 1})
    }

    assert dead == {}


def test_the_version_stands_in_one_place() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

    assert "version" not in project["project"]
    assert project["tool"]["hatch"]["version"]["path"] == "diagnoser/__init__.py"
    assert re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", diagnoser.__version__)
    assert f"## [{diagnoser.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_package_runs_as_a_module() -> None:
    shown = subprocess.run([sys.executable, "-m", "diagnoser", "--version"], capture_output=True, text=True, check=True)

    assert shown.stdout == f"diagnose {diagnoser.__version__}\n"
