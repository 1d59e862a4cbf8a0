"""The borders of DESIGN §4, kept by reading the imports."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "diagnoser"
STAGES = {
    "sources",
    "envelopes",
    "streams",
    "parsers",
    "catalogue",
    "incidents",
    "report",
    "render",
    "facts",
    "redaction",
    "preflight",
    "cli",
}
JOINERS = {"pipeline", "cli", "__init__", "__main__", "live", "multi", "intake", "lanes"}
ALLOWED = {"preflight": {"catalogue"}, "quotes": {"parsers"}}
OUTSIDE = {"click", "subprocess", "socket", "urllib.request", "http.client"}
LONGEST_MODULE = 350
LONGEST_FUNCTION = 60


def modules():
    return sorted(PACKAGE.rglob("*.py"))


def part_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path: Path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_stage_imports_no_other_stage(path):
    part = part_of(path)
    ours = {name.split(".")[1] for name in imports(path) if name.startswith("diagnoser.")}
    if part in ("model", "errors"):
        assert ours <= {"model", "records"}
    elif part not in JOINERS:
        assert (ours & STAGES) - {part} - ALLOWED.get(part, set()) == set()


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_the_outermost_parts_touch_the_outside_world(path):
    if part_of(path) not in ("cli", "sources", "preflight", "live"):
        assert set(imports(path)) & OUTSIDE == set()


def test_modules_can_be_read_in_one_sitting():
    too_long = {
        str(path.relative_to(PACKAGE)): lines
        for path in modules()
        if (lines := len(path.read_text().splitlines())) > LONGEST_MODULE
    }

    assert too_long == {}


def test_functions_do_one_thing():
    too_long = {
        f"{path.relative_to(PACKAGE)}:{node.name}": lines
        for path in modules()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef)
        if (lines := (node.end_lineno or node.lineno) - node.lineno + 1) > LONGEST_FUNCTION
    }

    assert too_long == {}


def test_parts_do_not_import_each_other_in_a_circle():
    """Counting what is imported when a module is loaded; what is imported late, inside functions, is no circle."""
    needs = {}
    for path in modules():
        loaded = [
            node
            for statement in ast.parse(path.read_text()).body
            if not isinstance(statement, (ast.FunctionDef, ast.ClassDef, ast.If))
            for node in ast.walk(statement)
        ]
        names = [node.module for node in loaded if isinstance(node, ast.ImportFrom) and node.module and not node.level]
        parts = {name.split(".")[1] for name in names if name.startswith("diagnoser.")}
        needs.setdefault(part_of(path), set()).update(parts - {part_of(path)})

    order = []
    while needs:
        ready = [part for part, others in needs.items() if others <= set(order)]
        assert ready, f"these import each other: {needs}"
        order += ready
        needs = {part: others for part, others in needs.items() if part not in ready}
