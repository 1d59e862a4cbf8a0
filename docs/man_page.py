"""Prints the manual page of `diagnose`, made from the help of its commands.

python docs/man_page.py > docs/diagnose.1

`UPDATE_GOLDEN=1 pytest tests/docs` does the same; a test compares the file with what the commands say today.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from inspect import cleandoc

import click

from diagnoser import __version__
from diagnoser.cli.commands import cli
from diagnoser.cli.log import log

ENVIRONMENT = (
    ("NO_COLOR", "If set, text output has no color unless --color always is given."),
    ("DIAGNOSER_CACHE", "Folder for the compiled rules, or off. Default: $XDG_CACHE_HOME/diagnoser."),
    ("GITHUB_STEP_SUMMARY", "With --format github, the report is appended to this file."),
)
EXIT_STATUS = (
    ("0", "No failure, or a shutdown that was asked for."),
    ("1", "A failure, and a rule explains it; or an error found by check."),
    ("2", "Wrong usage, an unreadable or empty input, a rule file that is wrong, or a bug in Diagnoser itself."),
    ("3", "A failure that no rule explains, or whose root cause is not in the log."),
)
FILES = (("diagnoser.toml", "Settings of a project: rules, ignore, runbook_url, redact, redact_hosts."),)
Entries = list[tuple[str, str]]


def main() -> None:
    """Prints the page."""
    sys.stdout.write(page())


def page() -> str:
    """The page as roff."""
    context = context_of(cli, "diagnose")
    lines = [
        f'.TH DIAGNOSE 1 "" "diagnoser {__version__}" "User Commands"',
        ".SH NAME",
        "diagnose \\- find the real cause of a crashed LLM\\-serving deployment in its logs",
        ".SH SYNOPSIS",
        ".B diagnose",
        "[\\fIOPTIONS\\fR] [\\fILOG\\fR]...",
        ".br",
        ".B diagnose",
        "\\fICOMMAND\\fR [\\fIOPTIONS\\fR] ...",
        ".SH DESCRIPTION",
        *_paragraphs(cli.help),
        ".PP",
        *_paragraphs(log.help),
        ".SH OPTIONS",
        *_entries(options(log, context)),
        *_entries(options(cli, context)),
        ".SH COMMANDS",
    ]
    for name, command, inner in commands(cli, context):
        lines += [f".SS {_escape(command_line_of(name, command, inner))}", *_paragraphs(command.help)]
        lines += _entries(options(command, inner))
    for title, entries in (("EXIT STATUS", EXIT_STATUS), ("ENVIRONMENT", ENVIRONMENT), ("FILES", FILES)):
        lines += [f".SH {title}", *_entries(list(entries))]
    return "\n".join(lines) + "\n"


def commands(
    group: click.Group, context: click.Context, above: str = ""
) -> Iterator[tuple[str, click.Command, click.Context]]:
    """Every command below a group with its full name, in the order of the names."""
    for name in sorted(group.list_commands(context)):
        command = group.get_command(context, name)
        if command is None or command.hidden:
            continue
        inner = context_of(command, name, context)
        yield f"{above}{name}", command, inner
        if isinstance(command, click.Group):
            yield from commands(command, inner, f"{above}{name} ")


def command_line_of(name: str, command: click.Command, context: click.Context) -> str:
    """How a command is called."""
    return " ".join(["diagnose", name, *filter(None, command.collect_usage_pieces(context))])


def context_of(command: click.Command, name: str, parent: click.Context | None = None) -> click.Context:
    """What click needs to know to tell the help of a command."""
    return click.Context(command, parent=parent, info_name=name, **command.context_settings)


def options(command: click.Command, context: click.Context) -> Entries:
    """Names and help of the options, but for `--help`, which all commands have."""
    options = [option for option in command.params if isinstance(option, click.Option)]
    records = (option.get_help_record(context) for option in options)
    return [record for record in records if record is not None]


def _entries(entries: Entries) -> Iterator[str]:
    for name, text in entries:
        yield ".TP"
        yield f"\\fB{_escape(name)}\\fR"
        yield _escape(text) or "\\&"


def _paragraphs(text: str | None) -> Iterator[str]:
    """Help text: blocks that click must not rewrap keep their lines."""
    for number, paragraph in enumerate(re.split(r"\n\s*\n", cleandoc(text or ""))):
        lines = [line.strip() for line in paragraph.split("\n") if line.strip("\b ")]
        if number:
            yield ".PP"
        if "\b" in paragraph:
            yield ".nf"
            yield from (_escape(line) for line in lines)
            yield ".fi"
        else:
            yield _escape(" ".join(lines))


def _escape(text: str) -> str:
    """Text as roff shows it: backslashes and hyphens as they are, no line that starts a request."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    escaped = re.sub(r"[^\x00-\x7f]", lambda found: f"\\[u{ord(found[0]):04X}]", escaped)
    return re.sub(r"^([.'])", r"\\&\1", escaped)


if __name__ == "__main__":
    main()
