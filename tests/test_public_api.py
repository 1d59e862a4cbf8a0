"""What people and programs build on, as snapshots: a change must be deliberate.

`UPDATE_GOLDEN=1 pytest tests/test_public_api.py` writes the snapshots anew. Look at the difference: a name, an option
or a key that goes away or changes its meaning is a breaking change and belongs into CHANGELOG.md.
"""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import json_schemas
import pytest
from render.golden import check

ROOT = Path(__file__).parent.parent
GOLDEN = Path(__file__).parent / "golden"
PUBLIC = ("diagnoser", "diagnoser.errors", "diagnoser.model", "diagnoser.preflight", "diagnoser.render")


def public_names(module: Any) -> list[str]:
    """`__all__`, or what a module without one defines itself."""
    named: list[str] | None = getattr(module, "__all__", None)
    if named is not None:
        return sorted(named)
    return sorted(
        name for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    )  # fmt: skip


def outline(name: str, value: Any) -> Iterator[str]:
    """A name as users see it: how it is called, its fields, its methods and properties."""
    if not callable(value) or not hasattr(value, "__module__") or not str(value.__module__).startswith("diagnoser"):
        yield name
        return
    yield name + ("" if "Error" in name else call(value))
    if inspect.isclass(value):
        for member, found in sorted(vars(value).items()):
            if not member.startswith("_") and member not in getattr(value, "_fields", ()):
                function = getattr(found, "__func__", found)
                yield f"    .{member}{call(function) if inspect.isfunction(function) else ''}"


def call(value: Any) -> str:
    """The parameters without their types, which mypy keeps."""
    parameters = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in inspect.signature(value).parameters.values()
    ]
    return str(inspect.Signature(parameters))


def keys(schema: Mapping[str, Any], whole: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """Every key of a JSON schema with its type, one a line; references are followed where they are not recursive."""
    while "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1]
        if f"<{name}>" in path:
            return
        path, schema = f"{path}<{name}>", {**whole["$defs"][name]}
    for name, inner in sorted(schema.get("properties", {}).items()):
        yield f"{path}.{name}: {kind(inner)}{'' if name in schema.get('required', ()) else ' (optional)'}"
        yield from keys(inner, whole, f"{path}.{name}")
    for name in ("items", "additionalProperties"):
        if isinstance(schema.get(name), dict):
            yield from keys(schema[name], whole, path + ("[]" if name == "items" else ".*"))
    for alternative in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        yield from keys(alternative, whole, path)


def kind(schema: Mapping[str, Any]) -> str:
    if "const" in schema:
        return json.dumps(schema["const"])
    if "enum" in schema:
        return " | ".join(str(value) for value in schema["enum"])
    if "$ref" in schema:
        return str(schema["$ref"].rsplit("/", 1)[-1])
    types = schema.get("type", "any")
    return types if isinstance(types, str) else " | ".join(types)


@pytest.mark.parametrize("name", PUBLIC)
def test_names_of_the_python_interface(name: str) -> None:
    module = import_module(name)
    lines = [line for public in public_names(module) for line in outline(public, getattr(module, public))]

    check(GOLDEN / f"{name}.txt", "\n".join(lines) + "\n")


def test_names_in_all_exist_and_are_documented() -> None:
    for name in PUBLIC:
        module = import_module(name)
        for public in public_names(module):
            value = getattr(module, public)
            if inspect.isclass(value) or inspect.isfunction(value):
                assert inspect.getdoc(value), f"{name}.{public}"


@pytest.mark.parametrize("name", json_schemas.NAMES)
def test_keys_of_what_is_printed_in_json(name: str) -> None:
    schema = json_schemas.read(name)

    check(GOLDEN / f"{name}-keys.txt", "\n".join(keys(schema, schema)) + "\n")


def test_keys_of_rule_files() -> None:
    from diagnoser.catalogue.schema import schema

    found = schema()

    check(GOLDEN / "rule-keys.txt", "\n".join(keys(found, found)) + "\n")


def test_commands_and_options() -> None:
    """The manual page holds the help of every command and option."""
    made = subprocess.run(
        [sys.executable, ROOT / "docs" / "man_page.py"], capture_output=True, text=True, check=True, encoding="utf-8"
    )

    check(ROOT / "docs" / "diagnose.1", made.stdout)


def test_exit_codes() -> None:
    """What scripts branch on; the manual page, the README and the model must agree."""
    from diagnoser.errors import DiagnoserError, InputError, PreflightError, RuleError, UsageError
    from diagnoser.model import Report, ToolInfo

    verdicts = ("healthy", "shutdown", "unknown", "incomplete")

    assert {verdict: Report(verdict, "", ToolInfo("0")).exit_code for verdict in verdicts} == {
        "healthy": 0,
        "shutdown": 0,
        "unknown": 3,
        "incomplete": 3,
    }
    assert {error.exit_code for error in (DiagnoserError, InputError, RuleError, UsageError)} == {2}
    assert PreflightError.exit_code == 1
