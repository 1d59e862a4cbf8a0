"""Diagnosing logs that are named, or come by a pipe: what the default command does."""

import sys
from collections.abc import Sequence
from typing import Any

from diagnoser.cli.settings import Settings, catalogue_of, deliver


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
    report = settings.prepare(report)
    deliver(report, settings)
    if errors:
        return 2
    return 0 if options["exit_zero"] else int(report.exit_code)


def _report(sources: Any, catalogue: Any, settings: Settings, options: dict[str, Any], notes: list[str]) -> Any:
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
