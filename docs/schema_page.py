"""Prints the page on what is printed in JSON, made from the schemas.

python docs/schema_page.py > docs/json-report.md
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

SCHEMAS = Path(__file__).parents[1] / "diagnoser" / "render"
INTRODUCTION = """\
# The JSON report

`diagnose --format json` prints one object. Every other format is made from the same values and says nothing that is
not in it. The schema is `diagnoser/render/report.schema.json`; this page is made from it, and from those of
[what `diff` prints](#the-comparison) and of [what `follow` prints beside reports](#the-repetition).
[A whole report](samples/report.json) is among the samples.

```sh
diagnose worker.log --format json --exit-zero -o incident.json
```

Keys may be added within version 1 of the schema. None is renamed, removed, or given another meaning. Lines are numbered
from 1. Keys are always there; a value that is not known is `null`.
"""
COMPARISON = """
## The comparison

`diagnose diff --format json` prints one object. The schema is `diagnoser/render/diff.schema.json`.
"""
REPETITION = """
## The repetition

`diagnose follow` and `diagnose --live` print one object per line with `--format json`: a report for each new incident,
and this short one for an incident that comes again. The schema is `diagnoser/render/repeat.schema.json`.
"""
Schema = Mapping[str, Any]


def main() -> None:
    """Prints the page."""
    sys.stdout.write(page())


def page() -> str:
    """The page as Markdown: the report, the comparison and the repetition, each with the kinds of object in it."""
    lines = [INTRODUCTION, "## The report", "", *_tables("report", set())]
    shown = set(_read("report")["$defs"])
    lines += [COMPARISON, *_tables("diff", shown), REPETITION, *_tables("repeat", shown)]
    return "\n".join(lines) + "\n"


def _read(name: str) -> Schema:
    schema: Schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8"))
    return schema


def _tables(name: str, shown: set[str]) -> Iterator[str]:
    """The table of a schema and of each kind of object in it that has none yet."""
    schema = _read(name)
    yield from _table(schema)
    for kind, inner in schema.get("$defs", {}).items():
        if kind not in shown:
            yield from ("", f"## {kind}", "", inner["description"], "", *_table(inner))


def _table(schema: Schema) -> Iterator[str]:
    yield "| key | type | what it says |"
    yield "| --- | --- | --- |"
    for path, inner in _keys(schema):
        yield f"| `{path}` | {_type(inner)} | {_cell(inner.get('description', ''))} |"


def _keys(schema: Schema, path: str = "") -> Iterator[tuple[str, Schema]]:
    """Every key of an object and of the objects within it, but for those that have a table of their own."""
    for name, inner in schema.get("properties", {}).items():
        yield f"{path}{name}", inner
        yield from _keys(inner, f"{path}{name}.")
        for key, mark in (("items", "[]."), ("additionalProperties", ".*.")):
            if isinstance(inner.get(key), dict):
                yield from _keys(inner[key], f"{path}{name}{mark}")


def _type(schema: Schema) -> str:
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if "enum" in schema:
        return ", ".join(f"`{json.dumps(value)}`" for value in schema["enum"])
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1]
        return f"[{name}](#{name})"
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return " or ".join(_type(alternative) for alternative in schema[key])
    types = schema.get("type", "any")
    names = " or ".join([types] if isinstance(types, str) else types)
    if isinstance(schema.get("items"), dict) and names == "array":
        return f"array of {_type(schema['items'])}"
    if isinstance(schema.get("additionalProperties"), dict):
        return f"{names} of {_type(schema['additionalProperties'])}"
    return names


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


if __name__ == "__main__":
    main()
