"""Commands that are named in running text and tables exist, with the options that are named with them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from markdown_blocks import ROOT, pages, spans

from diagnoser.cli.commands import cli
from diagnoser.cli.log import log


def wrong(text: str) -> list[str]:
    """Words of a command line of `diagnose` that it does not know; what follows `--` belongs to another command."""
    words = re.split(r"\s+", text.partition(" -- ")[0])[1:]
    context = click.Context(cli, info_name="diagnose")
    command: click.Command = log
    if words and words[0] in cli.list_commands(context):
        command = cli
        while isinstance(command, click.Group) and words:
            found = command.get_command(context, words[0])
            if found is None:
                return [] if "|" in words[0] or words[0].isupper() else [words[0]]
            command, words = found, words[1:]
    known = {name for option in (*command.params, *cli.params) for name in (*option.opts, *option.secondary_opts)}
    known |= {"--help", "-h"}
    return [word for word in words if word.startswith("-") and len(word) > 1 and word.split("=")[0] not in known]


def commands(page: Path) -> Iterator[tuple[int, str]]:
    for line, text in spans(page):
        for part in re.split(r"\s+\|\s+|\s+&&\s+", text):
            if part.startswith("diagnose ") and "…" not in part:
                yield line, part


@pytest.mark.parametrize("page", pages(), ids=lambda path: str(path.relative_to(ROOT)))
def test_named_commands_exist(page: Path) -> None:
    assert [(line, text, words) for line, text in commands(page) if (words := wrong(text))] == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("diagnose LOG --format json", []),
        ("diagnose LOG --formatt json", ["--formatt"]),
        ("diagnose rules test RULE", []),
        ("diagnose rules tests", ["tests"]),
        ("diagnose rules list|test|lint", []),
        ("diagnose run -- vllm serve --tensor-parallel-size 3", []),
        ("diagnose explain --width 80 RULE", []),
    ],
)
def test_what_counts_as_wrong(text: str, expected: list[str]) -> None:
    assert wrong(text) == expected
