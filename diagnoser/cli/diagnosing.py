"""Diagnosing logs that are named, or come by a pipe: what the default command does."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from diagnoser.cli.settings import Settings, catalogue_of, deliver

if TYPE_CHECKING:
    from diagnoser.catalogue import Catalogue
    from diagnoser.model import Report
    from diagnoser.sources import Source

_MOST_NAMES = 3
"""Empty logs that are named."""
_MOST_FOREIGN = 0.2
"""Part of the bytes of a log that may be no text; a log in another encoding of its time holds less."""


def diagnose_logs(logs: Sequence[str], options: dict[str, Any]) -> int:
    """Reads the logs, prints and writes the reports, and returns the exit status; `options` as the command has them."""
    from diagnoser.sources import open_sources, read_ahead
    from diagnoser.sources.limits import DEFAULT_SETTINGS

    settings = Settings.of(options)
    jobs: int | None = options["jobs"]
    windows = DEFAULT_SETTINGS if jobs is None else DEFAULT_SETTINGS._replace(threads=jobs)
    sources, errors = open_sources(logs, skip=not options["no_skip"], settings=windows)
    read_ahead(sources, jobs)  # in threads, while the rules are loaded
    catalogue = catalogue_of(settings)
    for error in errors:
        print(f"diagnose: {error}", file=sys.stderr)
    if errors and not sources:
        return 2
    report = _report(sources, catalogue, settings, options, [f"not read: {error}" for error in errors])
    empty = [source.name for source in report.sources if not source.bytes]
    all_empty = len(empty) == len(report.sources)
    if empty and not all_empty:
        report = _noting(report, f"{_listed(empty)}: empty")
    if report.coverage.undecodable_bytes > _MOST_FOREIGN * sum(source.bytes for source in report.sources):
        report = _noting(report, "much of the input is no text: is it a log?")
    deliver(settings.prepare(report), settings)
    if all_empty:
        say_empty(empty)
    if errors:
        return 2
    if options["exit_zero"]:
        return 0
    return 2 if all_empty or catalogue.errors else report.exit_code


def _report(
    sources: "list[Source]", catalogue: "Catalogue", settings: Settings, options: dict[str, Any], notes: list[str]
) -> "Report":
    """Reads the sources, with what a reader at a terminal sees of it."""
    from diagnoser.cli import progress
    from diagnoser.pipeline import report_of, run

    accepts = span = None
    if options["since"] is not None or options["until"] is not None:
        from diagnoser.timespan import span as span_of

        span = span_of(options["since"], options["until"])
        accepts = span.accepts if span is not None else None
    line = progress.Progress(sources) if progress.shown() else None
    try:
        analysis = run(sources, catalogue, accepts=accepts)
    finally:
        if line is not None:
            line.close()
    notes += span.notes if span is not None else []
    return report_of(analysis, sources, catalogue, runbook_url=settings.runbook_url, notes=notes)


def report_on(path: str, catalogue: "Catalogue", *, runbook_url: str | None = None) -> "Report":
    """The report on a log that another command asks for; raises InputError for what can't be read or is empty."""
    from diagnoser.errors import InputError
    from diagnoser.pipeline import analyse
    from diagnoser.sources import open_sources

    sources, errors = open_sources([path])
    if errors:
        raise errors[0]
    report = analyse(sources, catalogue, runbook_url=runbook_url)
    if not any(source.bytes for source in report.sources):
        raise InputError(path, "nothing to read", expected="a log")
    return report


def say_empty(names: Sequence[str]) -> None:
    """Says on standard error that nothing came: no failure was found, but none was looked for either."""
    if "<stdin>" in names:
        text = "nothing came on standard input; see whether the command before the pipe failed"
    else:
        text = f"{_listed(names)}: nothing to read"
    print(f"diagnose: {text}", file=sys.stderr)


def _listed(names: Sequence[str]) -> str:
    """The first names, and how many there are beyond them."""
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more


def _noting(report: "Report", note: str) -> "Report":
    coverage = report.coverage
    return report._replace(coverage=coverage._replace(notes=(*coverage.notes, note)))


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
