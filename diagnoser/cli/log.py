"""`diagnose [LOG]...`: the default command."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from diagnoser.cli.options import Settings, catalogue_of, deliver, output_options, rule_options


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("logs", nargs=-1, metavar="[LOG]...")
@output_options
@rule_options
@click.option("--no-skip", is_flag=True, help="Read every line instead of skipping healthy stretches.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 whatever was found.")
def log(logs: tuple[str, ...], no_skip: bool, exit_zero: bool, **options: object) -> int:
    """Find the real cause of a crash in LOG: files, folders, globs, archives; `-` or nothing reads standard input."""
    settings = Settings.of(options)
    if not logs and sys.stdin.isatty():
        raise click.UsageError("no log given; name a file or pipe one in, for example: kubectl logs POD | diagnose")
    return diagnose_logs(logs, settings, skip=not no_skip, exit_zero=exit_zero)


def diagnose_logs(logs: Sequence[str], settings: Settings, *, skip: bool, exit_zero: bool) -> int:
    """Reads the logs, prints and writes the reports, and returns the exit status."""
    from diagnoser.pipeline import analyse
    from diagnoser.sources import open_sources

    catalogue = catalogue_of(settings)
    sources, errors = open_sources(logs, skip=skip)
    for error in errors:
        print(f"diagnose: {error}", file=sys.stderr)
    if errors and not sources:
        return 2
    report = analyse(
        sources, catalogue, runbook_url=settings.runbook_url, notes=[f"not read: {error}" for error in errors]
    )
    report = settings.prepare(report)
    deliver(report, settings)
    if errors:
        return 2
    return 0 if exit_zero else report.exit_code
