"""`diagnose check`: would this configuration crash?"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from diagnoser.cli.options import output_options, rule_options
from diagnoser.cli.settings import Settings, deliver
from diagnoser.preflight.arguments import OPTIONS, Option, request_of, split_command

if TYPE_CHECKING:
    from collections.abc import Callable

    from diagnoser.model import Report


class _CheckCommand(click.Command):
    """Keeps the words after `--` apart, which are the launch line."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        own, command = split_command(args)
        ctx.meta["diagnoser.launch"] = tuple(command)
        return super().parse_args(ctx, own)

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_usage("diagnose check", "[OPTIONS] [FILE]... [-- vllm serve MODEL ...]")


def _add_options(function: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(OPTIONS):
        function = _click_option(option)(function)
    return function


def _click_option(option: Option) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    if option.kind == "flag":
        return click.option(*option.flags, option.name, is_flag=True, help=option.help)
    kinds: dict[str, click.ParamType[Any]] = {"whole": click.INT, "number": click.FLOAT}
    kind: click.ParamType[Any] = (
        click.Choice(option.choices) if option.choices else kinds.get(option.kind, click.STRING)
    )
    return click.option(
        *option.flags,
        option.name,
        type=kind,
        metavar=option.metavar,
        multiple=option.kind == "many",
        help=option.help,
    )


@click.command(cls=_CheckCommand, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("files", nargs=-1, metavar="[FILE]...")
@_add_options
@output_options
@rule_options
@click.pass_context
def check(ctx: click.Context, /, files: tuple[str, ...], **options: Any) -> int:
    """Check a vLLM deployment before it is launched.

    Give the launch line after `--`, or FILEs that hold one: shell scripts, Docker Compose files, Kubernetes
    manifests, Helm values. Exit status: 0 clean, 1 errors, 2 wrong usage or input.
    """
    from diagnoser.preflight.running import run

    settings = Settings.of(options)
    names = {option.name for option in OPTIONS}
    request = request_of(
        files, ctx.meta["diagnoser.launch"], {name: value for name, value in options.items() if name in names}
    )
    report = linked(run(request, reader(settings)), settings)
    report = settings.prepare(report)
    deliver(report, settings)
    return report.exit_code


def reader(settings: Settings) -> Callable[[str], Report]:
    """Diagnoses a log with the rules of these settings."""

    def read(path: str) -> Report:
        from diagnoser.cli.diagnosing import report_on
        from diagnoser.cli.settings import catalogue_of

        return report_on(path, catalogue_of(settings), runbook_url=settings.runbook_url)

    return read


def linked(report: Report, settings: Settings) -> Report:
    """The report without ignored rules and checks, and with a link to each rule's runbook page."""
    findings = tuple(
        finding._replace(runbook=settings.runbook_url.replace("{rule}", finding.rule))
        if settings.runbook_url and finding.rule
        else finding
        for finding in report.findings
        if not {finding.rule, finding.check} & set(settings.ignore)
    )
    left_out = len(report.findings) - len(findings)
    if left_out:
        print(f"diagnose: {left_out} ignored finding{'s' if left_out > 1 else ''}", file=sys.stderr)
    errors = any(finding.status == "error" for finding in findings)
    return report._replace(findings=findings, verdict="diagnosed" if errors else "healthy")
