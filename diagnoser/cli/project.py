"""The project file `diagnoser.toml`: what a team sets once.

runbook_url = "https://runbooks.example.com/{rule}"
rules = ["ops/rules"]
redact = true
redact_hosts = false

[[ignore]]
id = "network-http-port-in-use"     # a rule id or a fingerprint
reason = "test bench restarts"
expires = 2027-01-31
"""

import os
from typing import Any

from diagnoser.errors import InputError
from diagnoser.records import NamedTuple

NAME = "diagnoser.toml"
_KEYS = {"runbook_url": str, "rules": list, "redact": bool, "redact_hosts": bool, "ignore": list}
_IN_WORDS = {str: "a text in quotes", list: "a list in brackets", bool: "true or false"}


class Project(NamedTuple):
    """What the file says."""

    rules: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    runbook_url: str | None = None
    redact: bool = True
    redact_hosts: bool = False


def project_settings(path: str | None = None, start: str | None = None) -> Project:
    """The settings of the given file, or of the nearest `diagnoser.toml` from `start` upward; defaults without one.

    Raises InputError for a file that can't be read or that holds something else than expected.
    """
    found = path or _nearest(start or os.getcwd())
    if found is None:
        return Project()
    import tomllib

    try:
        with open(found, "rb") as file:
            table = tomllib.load(file)
    except OSError as error:
        raise InputError(found, error.strerror or "can't be read") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(found, f"not valid TOML: {error}") from None
    return _project(found, table)


def _nearest(folder: str) -> str | None:
    while True:
        candidate = os.path.join(folder, NAME)
        if os.path.isfile(candidate):
            return candidate
        parent = os.path.dirname(folder)
        if parent == folder or os.path.exists(os.path.join(folder, ".git")):
            return None
        folder = parent


def _project(path: str, table: dict[str, Any]) -> Project:
    for key, value in table.items():
        if key not in _KEYS:
            raise InputError(path, f"unknown key {key!r}", expected=", ".join(_KEYS))
        if not isinstance(value, _KEYS[key]):
            raise InputError(path, f"{key} is {str(value)[:60]!r}", expected=_IN_WORDS[_KEYS[key]])
    base = os.path.dirname(path)
    rules = tuple(os.path.join(base, str(folder)) for folder in table.get("rules", ()))
    return Project(
        rules,
        tuple(_ignored(path, table.get("ignore", ()))),
        table.get("runbook_url"),
        table.get("redact", True),
        table.get("redact_hosts", False),
    )


def _ignored(path: str, entries: list[Any]) -> list[str]:
    """The ids that are ignored today; an entry needs a reason, so that the next reader knows."""
    import datetime

    ids: list[str] = []
    for number, entry in enumerate(entries, 1):
        if (
            not isinstance(entry, dict)
            or not isinstance(entry.get("id"), str)
            or not str(entry.get("reason", "")).strip()
        ):
            raise InputError(
                path,
                f"ignore entry {number} is incomplete",
                expected="a table with id and reason, and optionally expires",
            )
        expires = entry.get("expires")
        if expires is not None and not isinstance(expires, datetime.date):
            raise InputError(
                path, f"ignore entry {number}: expires is {expires!r}", expected="a date such as 2027-01-31"
            )
        if isinstance(expires, datetime.datetime):
            expires = expires.date()
        if expires is None or datetime.date.today() <= expires:
            ids.append(entry["id"])
    return ids
