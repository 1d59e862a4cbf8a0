"""Prints the page on the commands, made from their help.

python docs/command_page.py > docs/command-line.md
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from inspect import cleandoc

from man_page import ENVIRONMENT, EXIT_STATUS, FILES, Entries, command_line_of, commands, context_of, options

from diagnoser.cli.commands import cli
from diagnoser.cli.log import log

INTRODUCTION = """\
# Commands

Made from the help of the commands, as is the manual page (`man diagnose`). `--help` works with each of them.
"""


def main() -> None:
    """Prints the page."""
    sys.stdout.write(page())


def page() -> str:
    """The page as Markdown."""
    context = context_of(cli, "diagnose")
    lines = [INTRODUCTION, "## diagnose LOG...", "", *_paragraphs(log.help), *_table(options(log, context))]
    for name, command, inner in commands(cli, context):
        lines += [f"## diagnose {name}", "", f"`{command_line_of(name, command, inner)}`", ""]
        lines += [*_paragraphs(command.help), *_table(options(command, inner))]
    for title, entries in (("Exit codes", EXIT_STATUS), ("Environment", ENVIRONMENT), ("Files", FILES)):
        lines += [f"## {title}", "", *_table(list(entries))]
    return "\n".join(lines).rstrip("\n") + "\n"


def _table(entries: Entries) -> Iterator[str]:
    if not entries:
        return
    yield from ("| | |", "| --- | --- |")
    for name, text in entries:
        yield f"| `{_cell(name)}` | {_cell(_plain(text))} |"
    yield ""


def _paragraphs(text: str | None) -> Iterator[str]:
    """Help text: blocks that click must not rewrap become blocks of code."""
    for paragraph in re.split(r"\n\s*\n", cleandoc(text or "")):
        if "\b" in paragraph:
            lines = [line.strip() for line in paragraph.split("\n") if line.strip("\b ")]
            yield from ("```text", *lines, "```", "")
        else:
            yield from (_plain(" ".join(paragraph.split())), "")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _plain(text: str) -> str:
    return re.sub(r"([<>*_])", r"\\\1", text)


if __name__ == "__main__":
    main()
