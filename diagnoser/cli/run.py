"""`diagnose run -- COMMAND`: runs a command and says why it died."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from diagnoser.cli.options import output_options, rule_options
from diagnoser.cli.settings import Settings, catalogue_of, deliver, render_options
from diagnoser.errors import DiagnoserError, UsageError

if TYPE_CHECKING:
    from diagnoser.model import Report

CRASH_COMMAND_SECONDS = 30
"""How long the command of `--on-crash` may take."""


@click.command(context_settings={"allow_interspersed_args": False, "help_option_names": ["-h", "--help"]})
@output_options
@click.option(
    "--report", "reports", multiple=True, metavar="FILE",
    help="Also write the report to FILE, in the format of its name: .json, .md, .html, .xml, .txt.",
)  # fmt: skip
@click.option(
    "--termination-log", metavar="FILE", help="Write a short report for Kubernetes to FILE: /dev/termination-log."
)
@click.option("--on-crash", metavar="COMMAND", help="Run COMMAND in a shell with the JSON report as its input.")
@click.option("--pty/--no-pty", default=None, help="Give the command a terminal (default: where ours is one).")
@rule_options
@click.argument("command", nargs=-1, type=click.UNPROCESSED, required=True, metavar="COMMAND...")
def run(command: tuple[str, ...], pty: bool | None, **options: Any) -> int:
    """Run COMMAND, pass its output through untouched, and say on standard error why it died.

    Exits with the status of COMMAND, 128 + n when signal n killed it. Says nothing when it ends with 0 or is told to
    stop. Write `--` before the command: diagnose run -- vllm serve MODEL.
    """
    if not hasattr(os, "posix_spawnp"):
        raise UsageError("`diagnose run` needs Linux or macOS; elsewhere: COMMAND 2>&1 | diagnose --live --tee")
    from diagnoser.live.running import run_command

    return run_command(command, lambda feed, names: _analyse(feed, names, command, options), pty=pty)


def _analyse(feed: int, names: dict[int, str], command: Sequence[str], options: dict[str, Any]) -> None:
    """The analysing process."""
    from diagnoser.live.analyst import watch

    try:
        settings = Settings.of(options)
    except DiagnoserError as error:
        _say(f"{error}; the defaults are used")
        settings = Settings.of({**options, "config": os.devnull})
    outcome = watch(feed, names, command, lambda: catalogue_of(settings), runbook_url=settings.runbook_url)
    report = settings.prepare(outcome.report) if outcome is not None and outcome.report is not None else None
    if report is not None and report.incidents:
        _publish(report, settings, options)


def _publish(report: Report, settings: Settings, options: dict[str, Any]) -> None:
    """Shows and writes the report; what fails is said and does not keep the rest from being done."""
    wanted = [settings]
    wanted += [settings._replace(formats=(), outputs=(path,)) for path in options["reports"]]
    if options["termination_log"]:
        wanted.append(settings._replace(formats=("termination",), outputs=(options["termination_log"],)))
    for each in wanted:
        try:
            deliver(report, each)
        except (DiagnoserError, OSError) as error:
            _say(str(error))
    if options["on_crash"]:
        call(report, options["on_crash"], settings)


def call(report: Report, command: str, settings: Settings) -> None:
    """Runs the user's own command with the JSON report on its standard input."""
    import subprocess

    from diagnoser.render import render

    text = render(report, "json", render_options(settings, terminal=False)).encode("utf-8", "replace")
    try:
        done = subprocess.run(["/bin/sh", "-c", command], input=text, timeout=CRASH_COMMAND_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        _say(f"--on-crash was stopped after {CRASH_COMMAND_SECONDS} seconds: {command}")
    except OSError as error:
        _say(f"--on-crash could not be run: {error.strerror or error}")
    else:
        if done.returncode:
            _say(f"--on-crash exited with {done.returncode}: {command}")


def _say(text: str) -> None:
    print(f"diagnose: {text}", file=sys.stderr, flush=True)
