"""`diagnose [LOG]...`: the default command."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import click

from diagnoser.cli.options import Settings, catalogue_of, deliver, output_options, rule_options
from diagnoser.errors import UsageError


class Reading(NamedTuple):
    """How the logs are read."""

    skip: bool = True
    since: str | None = None
    until: str | None = None


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("logs", nargs=-1, metavar="[LOG]...")
@output_options
@rule_options
@click.option("--since", metavar="TIME", help="Only failures from TIME on: as the log writes it, ISO, or an age (10m).")
@click.option("--until", metavar="TIME", help="Only failures up to TIME.")
@click.option("--live", is_flag=True, help="Tell of each incident as it happens; for a pipe that goes on.")
@click.option("--tee", is_flag=True, help="With --live: pass standard input through to standard output.")
@click.option("--no-skip", is_flag=True, help="Read every line instead of skipping healthy stretches.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 whatever was found.")
def log(logs: tuple[str, ...], live: bool, tee: bool, exit_zero: bool, **options: Any) -> int:
    """Find the real cause of a crash in LOG: files, folders, globs, archives; `-` or nothing reads standard input."""
    settings = Settings.of(options)
    if tee and not live:
        raise UsageError("--tee goes with --live")
    if live and logs not in ((), ("-",)):
        raise UsageError("--live reads standard input; for files: diagnose follow LOG")
    if not logs and sys.stdin.isatty():
        raise click.UsageError("no log given; name a file or pipe one in, for example: kubectl logs POD | diagnose")
    if live:
        status = watch_pipe(settings, tee=tee)
        return 0 if exit_zero and status != 141 else status
    reading = Reading(not options["no_skip"], options["since"], options["until"])
    return diagnose_logs(logs, settings, reading, exit_zero=exit_zero)


def diagnose_logs(logs: Sequence[str], settings: Settings, reading: Reading, *, exit_zero: bool) -> int:
    """Reads the logs, prints and writes the reports, and returns the exit status."""
    from diagnoser.sources import open_sources

    catalogue = catalogue_of(settings)
    sources, errors = open_sources(logs, skip=reading.skip)
    for error in errors:
        print(f"diagnose: {error}", file=sys.stderr)
    if errors and not sources:
        return 2
    report = _report(sources, catalogue, settings, reading, [f"not read: {error}" for error in errors])
    report = settings.prepare(report)
    deliver(report, settings)
    if errors:
        return 2
    return 0 if exit_zero else report.exit_code


def _report(sources: Any, catalogue: Any, settings: Settings, reading: Reading, notes: list[str]) -> Any:
    """Reads the sources, with what a reader at a terminal sees of it."""
    from diagnoser.cli import progress
    from diagnoser.pipeline import report_of, run

    accepts = span = None
    if reading.since is not None or reading.until is not None:
        from diagnoser.timespan import span as span_of

        span = span_of(reading.since, reading.until)
        accepts = span.accepts if span is not None else None
    line = progress.Progress(sources) if progress.shown() else None
    try:
        analysis = run(sources, catalogue, accepts=accepts)
    finally:
        if line is not None:
            line.close()
    notes += span.notes if span is not None else []
    return report_of(analysis, sources, catalogue, runbook_url=settings.runbook_url, notes=notes)


def watch_pipe(settings: Settings, *, tee: bool) -> int:
    """Tells of incidents in standard input as they happen: on standard error while it is passed through."""
    from diagnoser.cli.speaking import Wishes, watch
    from diagnoser.live.inputs import Pipe, Tee

    if not tee:
        return watch(Pipe(), settings, Wishes())
    from contextlib import redirect_stdout

    through = Tee()
    with redirect_stdout(sys.stderr):
        status = watch(through, settings, Wishes())
    return 141 if through.reader_gone else status
