"""An end that nothing explains, as an incident: the exit status alone is told, without a guess."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diagnoser.fingerprints import fingerprint
from diagnoser.model import Failure, Incident, Process
from diagnoser.records import NamedTuple

if TYPE_CHECKING:
    from diagnoser.pipeline import Analysis


class Ending(NamedTuple):
    """How a command or a container ended, in a source of its own."""

    sentence: str
    name: str
    """`exit code 3`, or a signal's name."""
    process: Process
    source: str
    line: int = 1
    last_words: str = ""
    up: bool = False
    """True when the server was up before."""


def with_ending(analysis: Analysis, ending: Ending) -> Analysis:
    """The analysis with the ending as its first incident."""
    outcome = analysis.incidents
    after = max((case.failure.order for case in analysis.cases), default=0) + 1
    root = Failure(
        "exit" if ending.name.startswith("exit code") else "signal",
        ending.process,
        ending.source,
        ending.line,
        ending.line,
        after,
        text=ending.sentence + ending.last_words,
        name=ending.name,
        fingerprint=fingerprint("exit", ending.name, "", ()),
    )
    reason = "Nothing that was printed says why it ended."
    incident = Incident(root, "crash" if ending.up else "startup", root.fingerprint, reasons=(reason,))
    incidents = (incident, *outcome.incidents)
    return analysis._replace(incidents=outcome._replace(incidents=incidents, stopped=False))
