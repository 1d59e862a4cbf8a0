"""The commands that pages show, taken out of every kind of block that can hold some."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml
from markdown_blocks import Block


class Shown(NamedTuple):
    """A command and the output that a page shows for it."""

    command: str
    output: str


def scripts(block: Block) -> list[str]:
    """Shell scripts that a block asks readers to run. Data are only read, so that broken ones are noticed."""
    language, text = block.language, block.text
    if language in ("sh", "bash", "shell"):
        return [text]
    if language == "python":
        return [f"python3 - <<'END OF BLOCK'\n{text}\nEND OF BLOCK\n"]
    if language in ("yaml", "yml"):
        return [script for document in yaml.safe_load_all(text) for script in _in_yaml(document)]
    if language in ("ini", "systemd"):
        return [line.partition("=")[2].lstrip("-+!@:") for line in _joined(text) if re.match(r"Exec\w+=.", line)]
    if language == "toml":
        tomllib.loads(text)
    elif language == "json":
        import json

        json.loads(text)
    return []


def session(block: Block) -> list[Shown]:
    """The commands of a `console` block (lines that start with `$ `) with what follows each."""
    if block.language != "console":
        return []
    parts = re.split(r"(?m)^\$ ", block.text)
    assert parts[0] == "", f"{block.name}: a console block starts with a command"
    shown = []
    for part in parts[1:]:
        lines = part.split("\n")
        end = next(number for number, line in enumerate(lines) if not line.endswith("\\"))
        shown.append(Shown("\n".join(lines[: end + 1]), "\n".join(lines[end + 1 :])))
    return shown


def _in_yaml(value: Any) -> Iterator[str]:
    """`run` of workflows, commands of containers, scripts of CI jobs."""
    if isinstance(value, list):
        for item in value:
            yield from _in_yaml(item)
    if not isinstance(value, dict):
        return
    command = [str(word) for name in ("command", "args") if isinstance(value.get(name), list) for word in value[name]]
    if command:
        import shlex

        yield command[-1] if command[1:2] in (["-c"], ["-ec"], ["-lc"]) else shlex.join(command)
    elif isinstance(value.get("entry"), str):
        yield value["entry"]
    for name, inner in value.items():
        if name == "run" and isinstance(inner, str):
            yield inner
        elif name == "script" and isinstance(inner, list):
            yield "\n".join(str(line) for line in inner)
        elif name not in ("command", "args"):
            yield from _in_yaml(inner)


def _joined(text: str) -> list[str]:
    """Lines of a unit file, continued ones as one."""
    return text.replace("\\\n", " ").split("\n")
