"""What a log proves about its own configuration (`--from-log`).

The other checks look at the configuration that the log states. Where it does not state enough (a shape, a variable,
a file), the failure that it holds still says that the same launch will fail again: that is said here, with the rule
and the steps of the diagnosis.
"""

from __future__ import annotations

from collections.abc import Iterator

from diagnoser.model import Diagnosis, Finding, Incident, Report
from diagnoser.preflight.case import Case
from diagnoser.preflight.findings import ok

PROVEN = "log-diagnosis"
_PASSING = ("hardware", "client")
"""Severities that say nothing about the next launch."""


def check_diagnoses(case: Case) -> Iterator[Finding]:
    """Diagnoses that come back with the same configuration: those whose rule has a check."""
    log = case.log
    if log is None:
        return
    found = list(_proven(log))
    for incident, diagnosis in found:
        root = incident.root
        where = f"{root.source}:{root.line}"
        yield Finding(
            "error",
            PROVEN,
            f"This configuration already failed{_how_sure(diagnosis)}: {diagnosis.title}",
            diagnosis.rule,
            f"{diagnosis.cause} The log shows it at {where}. To have it found before a launch, give what the log "
            "lacks: --model-config, --env-file, --mooncake-config.",
            (("log", where), ("failure", f"{root.type or root.kind}"[:120]), *diagnosis.captures),
            diagnosis.remedies,
            runbook=diagnosis.runbook,
        )
    if not found:
        words = {"healthy": "shows no failure", "shutdown": "shows an ordered shutdown"}
        yield ok(PROVEN, f"The log {words.get(log.verdict, 'proves nothing against the configuration')}")


def _how_sure(diagnosis: Diagnosis) -> str:
    return "" if diagnosis.confidence == "certain" else f" ({diagnosis.confidence})"


def _proven(log: Report) -> Iterator[tuple[Incident, Diagnosis]]:
    """Incidents whose best diagnosis is sure and would come back."""
    seen: set[str] = set()
    for incident in log.incidents:
        best = incident.diagnoses[0] if incident.diagnoses else None
        if best is None or incident.incomplete or best.rule in seen:
            continue
        if best.severity not in _PASSING and best.confidence != "possible" and best.check is not None:
            seen.add(best.rule)
            yield incident, best


CHECKS = (check_diagnoses,)
