"""The schemas of what the commands print in JSON, and what a printed object has against its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema

import diagnoser.render

NAMES = ("report", "diff", "repeat")


def read(name: str) -> dict[str, Any]:
    path = Path(diagnoser.render.__file__).parent / f"{name}.schema.json"
    return json.loads(path.read_text(encoding="utf-8"))


def problems(printed: dict[str, Any]) -> list[str]:
    """What breaks the schema that the object names, and paths of keys that the schema does not describe."""
    schema = read(printed["schema"].removeprefix("diagnoser.").split("/")[0])
    broken = [error.message for error in jsonschema.Draft202012Validator(schema).iter_errors(printed)]
    return broken + _undescribed(printed, schema, schema)


def _undescribed(value: Any, schema: dict[str, Any], whole: dict[str, Any], path: str = "") -> list[str]:
    if "$ref" in schema:
        schema = whole["$defs"][schema["$ref"].rsplit("/", 1)[1]]
    if "anyOf" in schema:
        return [] if value is None else _undescribed(value, schema["anyOf"][0], whole, path)
    if isinstance(value, list):
        return [lack for part in value for lack in _undescribed(part, schema["items"], whole, f"{path}[]")]
    if not isinstance(value, dict):
        return [] if schema.get("description") else [path]
    found = []
    for key, part in value.items():
        known = schema.get("properties", {}).get(key) or schema.get("additionalProperties")
        found += _undescribed(part, known, whole, f"{path}.{key}") if known else [f"{path}.{key}"]
    return found
