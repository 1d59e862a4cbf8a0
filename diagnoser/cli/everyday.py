"""Reads the everyday command lines without click: logs, and the options of most runs.

Importing click takes a quarter of the time that a small log needs. Whatever is not plainly understood here is left to
click, which then also does the explaining; a test holds that both read the same out of every command line.
"""

import os
import sys
from typing import Any

from diagnoser.cli.names import COMMANDS
from diagnoser.records import NamedTuple

FLAGS = {
    "--quiet": "quiet",
    "-q": "quiet",
    "--verbose": "verbose",
    "-v": "verbose",
    "--no-redact": "no_redact",
    "--redact-hosts": "redact_hosts",
    "--no-skip": "no_skip",
    "--exit-zero": "exit_zero",
}
VALUES = {
    "--format": "formats",
    "-f": "formats",
    "--output": "outputs",
    "-o": "outputs",
    "--rules": "rules",
    "--ignore": "ignore",
}
"""Options that may be repeated."""
UNUSED = {
    "color": "auto",
    "config": None,
    "jobs": None,
    "live": False,
    "runbook_url": None,
    "since": None,
    "tee": False,
    "until": None,
    "width": None,
}
"""The other options of the command, as they are when not given."""


class Wanted(NamedTuple):
    """A command line that was understood."""

    logs: tuple[str, ...]
    options: dict[str, Any]
    """As click would name and fill them."""


def read(arguments: list[str]) -> Wanted | None:
    """What the arguments ask for; None where click has to read them, or has something to say."""
    if "_DIAGNOSE_COMPLETE" in os.environ or (arguments and not _names_log(arguments[0])):
        return None
    options: dict[str, Any] = dict.fromkeys(FLAGS.values(), False) | dict.fromkeys(VALUES.values(), ())
    options |= UNUSED
    logs = []
    rest = iter(arguments)
    for word in rest:
        if word == "-" or not word.startswith("-"):
            logs.append(word)
        elif word in FLAGS:
            options[FLAGS[word]] = True
        elif word in VALUES:
            value = next(rest, "")
            if not value or (value.startswith("-") and value != "-"):
                return None
            options[VALUES[word]] += (value,)
        else:
            return None
    if not logs and (sys.stdin is None or sys.stdin.isatty()):
        return None
    return Wanted(tuple(logs), options)


def _names_log(word: str) -> bool:
    """False for a command, and for a word that may be a misspelt one."""
    return not word.isalpha() or (word not in COMMANDS and os.path.exists(word))
