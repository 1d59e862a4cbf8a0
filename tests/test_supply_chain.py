"""What the package pulls in, and that the versions of development are pinned and hashed."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LOCK = (ROOT / "requirements-dev.lock").read_text(encoding="utf-8")
NAME = re.compile(r"^[A-Za-z0-9._-]+")
RUNTIME = {"click", "regex", "jinja2", "ahocorasick-rs", "pyyaml", "backports-zstd", "isal"}
"""What a run may import; a further one needs a reason in pyproject.toml and an entry here."""
IMPORTED_AS = {"pyyaml": "yaml", "ahocorasick-rs": "ahocorasick_rs", "backports-zstd": "backports"}


def normal(name: str) -> str:
    """A package's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def requirements() -> list[str]:
    return [*PROJECT["dependencies"], *(line for extra in PROJECT["optional-dependencies"].values() for line in extra)]


def locked() -> dict[str, str]:
    """Each pinned package with the text of its entry."""
    entries = re.split(
        r"^(?=[A-Za-z0-9])",
        "\n".join(line for line in LOCK.splitlines() if not line.startswith("#")),
        flags=re.MULTILINE,
    )
    return {normal(found[0]): entry for entry in entries if (found := NAME.match(entry))}


def test_runtime_dependencies_are_few_and_known() -> None:
    assert {normal(NAME.match(line)[0]) for line in PROJECT["dependencies"]} == RUNTIME  # type: ignore[index]


def test_every_dependency_has_a_lower_bound() -> None:
    """And an upper one only where a later release is known to break: a bound for caution's sake blocks fixes."""
    for line in PROJECT["dependencies"]:
        assert ">=" in line, line
        assert "<" not in line.partition(";")[0], line


def test_every_requirement_is_locked() -> None:
    found = locked()
    missing = [line for line in requirements() if normal(NAME.match(line)[0]) not in found]  # type: ignore[index]

    assert missing == []


@pytest.mark.parametrize("name", sorted(locked()))
def test_every_locked_package_is_pinned_and_hashed(name: str) -> None:
    entry = locked()[name]

    assert re.match(r"[A-Za-z0-9._-]+==\S+", entry), entry[:80]
    assert re.search(r"--hash=sha256:[0-9a-f]{64}", entry), entry[:80]


def test_the_lock_names_no_other_place_than_the_index() -> None:
    assert not re.search(
        r"^(?!#).*(?:https?://|file:|git\+|--index-url|--extra-index-url|--trusted-host)", LOCK, re.MULTILINE
    )


def test_the_package_imports_nothing_else() -> None:
    """Only the standard library, itself, and the runtime dependencies."""
    allowed = set(sys.stdlib_module_names) | {"diagnoser"} | {IMPORTED_AS.get(name, name) for name in RUNTIME}
    allowed.add("compression")  # part of the standard library from Python 3.14 on
    allowed.add("markupsafe")  # comes with jinja2, whose templates are made of it
    foreign = set()
    for path in (ROOT / "diagnoser").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else [node.module or ""]
                if isinstance(node, ast.ImportFrom) and not node.level
                else []
            )
            foreign |= {(path.name, name) for name in names if name.split(".")[0] not in allowed}

    assert foreign == set()


def _imports(node: ast.AST) -> set[str]:
    return {alias.name for alias in node.names} if isinstance(node, ast.Import) else set()


def test_nothing_in_the_package_opens_connections_or_evaluates_text() -> None:
    """No module imports a network library, and none evaluates text as code.

    `check` asks the machine about itself with sockets that send nothing: names, addresses, whether a port is free.
    """
    forbidden = {
        "socket",
        "ssl",
        "http",
        "urllib.request",
        "ftplib",
        "smtplib",
        "asyncio",
        "xmlrpc",
        "telnetlib",
        "pickle",
        "shelve",
    }
    found = []
    for path in (ROOT / "diagnoser").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if "preflight" in path.parts and _imports(node) == {"socket"}:
                continue
            if isinstance(node, ast.Import):
                found += [(path.name, alias.name) for alias in node.names if alias.name in forbidden]
            elif isinstance(node, ast.ImportFrom) and node.module in forbidden:
                found.append((path.name, str(node.module)))
            elif (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id in ("eval", "exec", "compile")
            ):
                found.append((path.name, node.func.id))

    assert found == []
