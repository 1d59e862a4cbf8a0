"""Reads env files, as `docker run --env-file` and Compose take them: NAME=value lines and comments."""

from __future__ import annotations

import re

from diagnoser.errors import InputError
from diagnoser.preflight.reading import read_text

_LINE = re.compile(r"(?:export\s+)?(?P<name>[A-Za-z_]\w*)\s*=\s*(?P<value>.*)")


def read_env_file(path: str) -> dict[str, str]:
    """The variables of an env file. Raises InputError for a line that sets none."""
    variables: dict[str, str] = {}
    for number, line in enumerate(read_text(path).splitlines(), 1):
        bare = line.strip()
        if not bare or bare.startswith("#"):
            continue
        found = _LINE.fullmatch(bare)
        if not found:
            raise InputError(path, f"not an environment variable: {bare[:60]!r}", line=number, expected="NAME=value")
        variables[found["name"]] = _unquoted(found["value"])
    return variables


def _unquoted(value: str) -> str:
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        return value[1:-1]
    return re.sub(r"\s+#.*$", "", value)
