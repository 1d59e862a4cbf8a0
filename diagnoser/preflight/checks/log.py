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

_CONFIGURATION = ("config", "capacity", "environment")


def check_diagnoses(case: Case) -> Iterator[Finding]:
    """Certain diagnoses of kinds that come back with the same configuration."""
    log = case.log
    if log is None:
        return
    found = list(_proven(log))
    for incident, diagnosis in found:
        root = incident.root
        where = f"{root.source}:{root.line}"
        yield Finding(
            "error",
            "log-diagnosis",
            f"This configuration already failed: {diagnosis.title}",
            diagnosis.rule,
            f"{diagnosis.cause} The log shows it at {where}. To have it found before a launch, give what the log "
            "lacks: --model-config, --env-file, --mooncake-config.",
            (("log", where), ("failure", f"{root.type or root.kind}"[:120]), *diagnosis.captures),
            diagnosis.remedies,
            runbook=diagnosis.runbook,
        )
    if not found:
        words = {"healthy": "shows no failure", "shutdown": "shows an ordered shutdown"}
        yield ok("log-diagnosis", f"The log {words.get(log.verdict, 'proves nothing against the configuration')}")


def _proven(log: Report) -> Iterator[tuple[Incident, Diagnosis]]:
    """Incidents whose best diagnosis is sure and would come back."""
    seen: set[str] = set()
    for incident in log.incidents:
        best = incident.diagnoses[0] if incident.diagnoses else None
        if best is None or incident.incomplete or best.rule in seen:
            continue
        if best.severity in _CONFIGURATION and best.confidence == "certain" and best.check is not None:
            seen.add(best.rule)
            yield incident, best


CHECKS = (check_diagnoses,)
