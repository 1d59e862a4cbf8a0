"""`diagnose [LOG]...`: the default command."""

from __future__ import annotations

import sys
from typing import Any

import click

from diagnoser.cli.diagnosing import diagnose_logs, watch_pipe
from diagnoser.cli.options import output_options, rule_options
from diagnoser.cli.settings import Settings
from diagnoser.errors import UsageError


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("logs", nargs=-1, metavar="[LOG]...")
@output_options
@rule_options
@click.option("--since", metavar="TIME", help="Only failures from TIME on: as the log writes it, ISO, or an age (10m).")
@click.option("--until", metavar="TIME", help="Only failures up to TIME.")
@click.option("--live", is_flag=True, help="Tell of each incident as it happens; for a pipe that goes on.")
@click.option("--tee", is_flag=True, help="With --live: pass standard input through to standard output.")
@click.option("--no-skip", is_flag=True, help="Read every line instead of skipping healthy stretches.")
@click.option(
    "--jobs", "-j", type=click.IntRange(1, 64), help="Threads that read large logs (default: processors, at most 2)."
)
@click.option("--exit-zero", is_flag=True, help="Exit with 0 whatever was found.")
def log(logs: tuple[str, ...], **options: Any) -> int:
    """Find the real cause of a crash in LOG: files, folders, globs, archives; `-` or nothing reads standard input."""
    live, tee = options["live"], options["tee"]
    if tee and not live:
        raise UsageError("--tee goes with --live")
    if live and logs not in ((), ("-",)):
        raise UsageError("--live reads standard input; for files: diagnose follow LOG")
    if not logs and sys.stdin.isatty():
        raise click.UsageError("no log given; name a file or pipe one in, for example: kubectl logs POD | diagnose")
    if live:
        status = watch_pipe(Settings.of(options), tee=tee)
        return 0 if options["exit_zero"] and status != 141 else status
    return diagnose_logs(logs, options)
