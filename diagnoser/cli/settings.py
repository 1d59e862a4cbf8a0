"""What was asked for, from the command line and the project file together, and how results are delivered.

Nothing here needs click: the everyday command lines are read without it (`everyday.py`).
"""

import os
import sys
from typing import TYPE_CHECKING, Any

from diagnoser.records import NamedTuple

if TYPE_CHECKING:
    from diagnoser.catalogue import Catalogue
    from diagnoser.model import Report
    from diagnoser.render import RenderOptions

_SHOWN_ERRORS = 5
"""Rule errors printed before a diagnosis; the linter shows all."""


class Settings(NamedTuple):
    """What was asked for."""

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
    def of(cls, options: dict[str, Any]) -> "Settings":
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

    def prepare(self, report: "Report") -> "Report":
        """The report as it may be shown: ignored incidents taken out, secrets hidden."""
        if self.ignore:
            from diagnoser.ignoring import without_ignored

            report = without_ignored(report, self.ignore)
        if self.redact:
            from diagnoser.redaction import redact

            report = redact(report, hosts=self.redact_hosts)
        return report


def catalogue_of(settings: Settings) -> "Catalogue":
    """The catalogue that the settings ask for; rule errors are printed and do not stop the other rules."""
    from diagnoser.catalogue import Catalogue

    catalogue = Catalogue.load(settings.rules, packs=True)
    for error in catalogue.errors[:_SHOWN_ERRORS]:
        print(f"diagnose: rule skipped: {error}", file=sys.stderr)
    if len(catalogue.errors) > _SHOWN_ERRORS:
        more = len(catalogue.errors) - _SHOWN_ERRORS
        print(f"diagnose: {more} more rule errors; see: diagnose rules lint", file=sys.stderr)
    return catalogue


def render_options(settings: Settings, *, terminal: bool, unicode: bool = True) -> "RenderOptions":
    """How text is to look: on this terminal, or in a file or pipe."""
    from diagnoser.render import RenderOptions

    plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    color = settings.color == "always" or (settings.color == "auto" and terminal and not plain)
    width = settings.width or (_columns() if terminal else 80)
    return RenderOptions(width=width, color=color, verbosity=settings.verbosity, unicode=unicode)


def deliver(report: "Report", settings: Settings) -> None:
    """Writes the report in each format that was asked for to where it was asked for; standard output comes last.

    Raises UsageError when formats and outputs do not go together, InputError when a file can't be written.
    """
    from diagnoser.render import render
    from diagnoser.writing import STANDARD_OUTPUT, pair_outputs, write_atomically

    pairs = pair_outputs(settings.formats, settings.outputs)
    for name, path in sorted(pairs, key=lambda pair: pair[1] == STANDARD_OUTPUT):
        if path == STANDARD_OUTPUT:
            _print(render(report, name, _screen(settings)))
        else:
            write_atomically(path, render(report, name, render_options(settings, terminal=False)))
        if name == "github":
            _append_job_summary(report, settings)


def _screen(settings: Settings) -> "RenderOptions":
    encoding = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "")
    return render_options(settings, terminal=sys.stdout.isatty(), unicode=encoding.startswith("utf"))


def _print(text: str) -> None:
    """Writes to standard output whatever its encoding can hold."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")
    sys.stdout.write(text)
    sys.stdout.flush()


def _append_job_summary(report: "Report", settings: Settings) -> None:
    """Adds the report to the page of the GitHub Actions job, where there is one."""
    target = os.environ.get("GITHUB_STEP_SUMMARY")
    if not target:
        return
    from diagnoser.render.github import summary

    with open(target, "a", encoding="utf-8") as file:
        file.write(summary(report, render_options(settings, terminal=False)))


def _columns() -> int:
    try:
        return os.get_terminal_size().columns
    except OSError:
        return 80
