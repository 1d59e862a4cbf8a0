"""Find the real cause of a crashed LLM-serving deployment in its logs, and say what to do about it.

>>> report = diagnose("AssertionError: mooncake connector metadata size mismatch")
>>> report.verdict
'diagnosed'
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

__all__ = ["Catalogue", "DiagnoserError", "Report", "__version__", "check", "diagnose"]

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from os import PathLike

    from diagnoser.catalogue import Catalogue
    from diagnoser.errors import DiagnoserError
    from diagnoser.model import Report


def diagnose(
    source: str | PathLike[str] | bytes | Iterable[str],
    *,
    catalogue: Catalogue | None = None,
    rules: Sequence[str] = (),
    redact: bool = True,
    runbook_url: str | None = None,
) -> Report:
    """What failed first in a log, why, and what to do.

    `source` is a path (an `os.PathLike`, or a one-line string that names an existing file or folder), the text of a
    log (`str` or `bytes`), or an iterable of lines. `rules` names folders with further rules; `catalogue` replaces
    the built-in rules. Secrets are hidden unless `redact` is False.

    Raises InputError when the path can't be read, RuleErrors when a file in `rules` is wrong.
    """
    from diagnoser.catalogue import Catalogue as Rules
    from diagnoser.pipeline import analyse

    chosen = catalogue if catalogue is not None else Rules.load(rules, strict=bool(rules))
    report = analyse(_sources(source), chosen, runbook_url=runbook_url)
    if redact:
        from diagnoser.redaction import redact as hide

        report = hide(report)
    return report


def _sources(source: Any) -> list[Any]:
    import os

    from diagnoser.sources import open_sources, text_source

    named = isinstance(source, str) and "\n" not in source and len(source) < 4096 and os.path.exists(source)
    if named or isinstance(source, os.PathLike):
        sources, errors = open_sources([os.fspath(source)])
        if errors:
            raise errors[0]
        return list(sources)
    return [text_source(source)]


def check(*arguments: str) -> Report:
    """The findings of `diagnose check` for its command-line arguments.

    Raises UsageError or InputError as the command would exit with 2.
    """
    from pathlib import Path

    from diagnoser.preflight import check as run_checks

    return run_checks(arguments, lambda log: diagnose(Path(log)))


def __getattr__(name: str) -> Any:
    """Loads the public types when they are first asked for, so that importing the package stays cheap."""
    if name == "Catalogue":
        from diagnoser.catalogue import Catalogue

        return Catalogue
    if name == "Report":
        from diagnoser.model import Report

        return Report
    if name == "DiagnoserError":
        from diagnoser.errors import DiagnoserError

        return DiagnoserError
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
