"""Reads the files that checks are given; what can't be read is an InputError with the place and what was expected."""

from __future__ import annotations

import json
import os
from typing import Any

from diagnoser.errors import InputError

LARGEST_FILE = 64 << 20
"""Bytes; a configuration is never larger, a log or a weight file given by mistake is."""


def read_text(path: str) -> str:
    """The text of a small file. Raises InputError when it is missing, a directory, too large or not text."""
    try:
        with open(path, "rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except IsADirectoryError:
        raise InputError(path, "is a directory", expected="a file") from None
    except OSError as failure:
        raise InputError(path, _reason(failure), expected="a file that can be read") from None
    if len(data) > LARGEST_FILE:
        raise InputError(path, f"is larger than {LARGEST_FILE >> 20} MiB", expected="a configuration file")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as failure:
        raise InputError(path, f"is not UTF-8 text (byte {failure.start})", expected="a text file") from None


def read_json(path: str) -> Any:
    """The value of a JSON file. Raises InputError with line and column where it breaks."""
    return parse_json(read_text(path), path)


def read_json_object(path: str, what: str) -> dict[str, Any]:
    """A JSON file that holds an object; `what` says in the error what it should have been.

    Raises InputError when the file can't be read or holds something else.
    """
    value = read_json(path)
    if not isinstance(value, dict):
        raise InputError(path, f"holds a {kind_of(value)}", expected=f"a JSON object, {what}")
    return value


def parse_json(text: str, name: str) -> Any:
    """The value of a JSON text; `name` stands for the file in errors.

    Raises InputError with the line of the mistake.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError as failure:
        raise InputError(
            name, f"not valid JSON: {failure.msg} at column {failure.colno}", line=failure.lineno
        ) from None
    except RecursionError:
        raise InputError(name, "nested too deeply") from None
    except ValueError:  # Python refuses to read whole numbers of thousands of digits
        raise InputError(name, "holds a number that is too long") from None


def read_yaml_documents(path: str) -> list[Any]:
    """All documents of a YAML file. Raises InputError with the line where it breaks."""
    import yaml

    text = read_text(path)
    try:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        return list(yaml.load_all(text, Loader=loader))
    except yaml.MarkedYAMLError as failure:
        mark = failure.problem_mark
        raise InputError(
            path,
            f"not valid YAML: {failure.problem}" + (f" at column {mark.column + 1}" if mark else ""),
            line=mark.line + 1 if mark else None,
        ) from None
    except (yaml.YAMLError, RecursionError, ValueError) as failure:
        raise InputError(path, f"not valid YAML: {failure}") from None


def kind_of(value: object) -> str:
    """What a JSON value is called."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true/false value"
    names: tuple[tuple[type, str], ...] = ((int, "number"), (float, "number"), (str, "text"), (list, "list"))
    return next((name for kind, name in names if isinstance(value, kind)), "object")


def inside(folder: str, *names: str) -> str | None:
    """The path of the first of these files that the folder holds."""
    paths = (os.path.join(folder, name) for name in names)
    return next((path for path in paths if os.path.isfile(path)), None)


def _reason(failure: OSError) -> str:
    return {2: "there is no such file", 13: "may not be read by this user"}.get(
        failure.errno or 0, failure.strerror or "can't be read"
    )
