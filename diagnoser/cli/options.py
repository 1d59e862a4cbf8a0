"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def output_options(function: Decorated) -> Decorated:
    """Options on how the result is shown and where it goes."""
    for option in reversed(
        (
            click.option(
                "--format",
                "-f",
                "formats",
                multiple=True,
                metavar="FORMAT",
                help="text, json, markdown, html, issue, termination, github or junit; repeat with one -o each.",
            ),
            click.option(
                "--output", "-o", "outputs", multiple=True, metavar="FILE", help="Write to FILE (- is standard output)."
            ),
            click.option("--quiet", "-q", is_flag=True, help="One line per incident."),
            click.option("--verbose", "-v", is_flag=True, help="Everything that is known."),
            click.option(
                "--color",
                type=click.Choice(["auto", "always", "never"]),
                default="auto",
                help="Color; auto: on a terminal, unless NO_COLOR is set.",
            ),
            click.option("--width", type=click.IntRange(40, 400), help="Columns of text output."),
            click.option("--no-redact", is_flag=True, help="Show secrets as they stand in the log."),
            click.option("--redact-hosts", is_flag=True, help="Also hide addresses, host and user names."),
        )
    ):
        function = option(function)
    return function


def rule_options(function: Decorated) -> Decorated:
    """Options on which rules are used."""
    for option in reversed(
        (
            click.option("--rules", multiple=True, metavar="DIR", help="Also use the rules of DIR."),
            click.option(
                "--ignore",
                multiple=True,
                metavar="RULE|FINGERPRINT",
                help="Don't report incidents of this rule or fingerprint.",
            ),
            click.option(
                "--runbook-url",
                metavar="URL",
                help="Link each diagnosis to URL, where {rule} stands for the rule's id.",
            ),
            click.option("--config", metavar="FILE", help="Project file (default: the nearest diagnoser.toml)."),
        )
    ):
        function = option(function)
    return function
