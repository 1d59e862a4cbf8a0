"""`diagnose follow LOG`: like `tail -F`, but speaks only when something breaks."""

from __future__ import annotations

from typing import Any

import click

from diagnoser.cli.options import output_options, rule_options
from diagnoser.cli.settings import Settings


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@output_options
@click.option("--from-start", is_flag=True, help="Also tell of incidents that the logs hold already.")
@click.option("--exit-on-crash", is_flag=True, help="Exit after the first crash, with the status of its diagnosis.")
@click.option("--on-crash", metavar="COMMAND", help="Run COMMAND in a shell with the JSON report as its input.")
@rule_options
@click.argument("logs", nargs=-1, required=True, metavar="LOG...")
def follow(logs: tuple[str, ...], from_start: bool, exit_on_crash: bool, on_crash: str | None, **options: Any) -> int:
    """Watch growing logs and tell of each new incident once.

    LOG is a file, a folder or a pattern; it may be rotated, truncated, or not be there yet.
    """
    from diagnoser.cli.speaking import Wishes, watch
    from diagnoser.live.inputs import Files

    return watch(Files(logs), Settings.of(options), Wishes(exit_on_crash, from_start, on_crash))
