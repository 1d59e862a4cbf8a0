"""Options that several commands share, and what they come down to."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from diagnoser.errors import UsageError

if TYPE_CHECKING:
    from diagnoser.catalogue import Catalogue
    from diagnoser.model import Report

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


class Settings(NamedTuple):
    """What was asked for, from the command line and the project file together."""

    formats: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    runbook_url: str | None = None
    redact: bool = True
    redact_hosts: bool = False
    verbosity: int = 0
    color: str = "auto"
    width: int | None = None

    @classmethod
    def of(cls, options: dict[str, Any]) -> Settings:
        """The settings of a command's options; the project file fills in what was not given."""
        from diagnoser.cli.project import project_settings

        project = project_settings(options.get("config"))
        return cls(
            tuple(options["formats"]),
            tuple(options["outputs"]),
            (*project.rules, *options["rules"]),
            (*project.ignore, *options["ignore"]),
            options["runbook_url"] or project.runbook_url,
            not options["no_redact"] and project.redact,
            options["redact_hosts"] or project.redact_hosts,
            -1 if options["quiet"] else int(options["verbose"]),
            options["color"],
            options["width"],
        )

    def prepare(self, report: Report) -> Report:
        """The report as it may be shown: ignored incidents taken out, secrets hidden."""
        if self.ignore:
            from diagnoser.ignoring import without_ignored

            report = without_ignored(report, self.ignore)
        if self.redact:
            from diagnoser.redaction import redact

            report = redact(report, hosts=self.redact_hosts)
        return report


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
                help="Colour; auto: on a terminal, unless NO_COLOR is set.",
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


def catalogue_of(settings: Settings) -> Catalogue:
    """The catalogue that the settings ask for; rule errors are printed and do not stop the other rules."""
    from diagnoser.catalogue import Catalogue

    catalogue = Catalogue.load(settings.rules, packs=True)
    for error in catalogue.errors:
        print(f"diagnose: rule skipped: {error}", file=sys.stderr)
    return catalogue


def render_options(settings: Settings, stream_is_terminal: bool) -> Any:
    """How text is to look on this terminal."""
    from diagnoser.render import RenderOptions

    color = settings.color == "always" or (
        settings.color == "auto"
        and stream_is_terminal
        and not os.environ.get("NO_COLOR")
        and os.environ.get("TERM") != "dumb"
    )
    width = settings.width or (_columns() if stream_is_terminal else 80)
    encoding = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "")
    return RenderOptions(width=width, color=color, verbosity=settings.verbosity, unicode=encoding.startswith("utf"))


def print_report(report: Report, settings: Settings) -> None:
    """Writes the report to standard output in the one format asked for, or as text."""
    from diagnoser.render import render

    terminal = sys.stdout.isatty()
    text = render(report, settings.formats[0] if settings.formats else "text", render_options(settings, terminal))
    sys.stdout.write(text)
    sys.stdout.flush()


def write_reports(report: Report, settings: Settings) -> bool:
    """Writes one file per pair of `--format` and `-o`; False when nothing was asked to be written."""
    if not settings.outputs:
        if len(settings.formats) > 1:
            raise UsageError("several --format need one -o FILE each")
        return False
    formats = settings.formats or ("text",)
    if len(formats) != len(settings.outputs):
        raise UsageError(
            f"{len(formats)} formats and {len(settings.outputs)} outputs: give one -o FILE for each --format"
        )
    from diagnoser.render import render
    from diagnoser.writing import write_atomically

    for name, path in zip(formats, settings.outputs, strict=True):
        text = render(report, name, render_options(settings, stream_is_terminal=False))
        if path == "-":
            sys.stdout.write(text)
        else:
            write_atomically(path, text)
    return True


def _columns() -> int:
    try:
        return os.get_terminal_size().columns
    except OSError:
        return 80
