"""Takes incidents out of a report that its readers know and have decided to ignore."""

from __future__ import annotations

from collections.abc import Collection

from diagnoser.model import Incident, Report


def without_ignored(report: Report, ids: Collection[str]) -> Report:
    """The report without incidents whose best rule or fingerprint is in `ids`; a note says how many were left out."""
    kept = tuple(incident for incident in report.incidents if not _ignored(incident, ids))
    left_out = len(report.incidents) - len(kept)
    if not left_out:
        return report
    note = f"Incidents left out because the settings ignore them: {left_out}."
    coverage = report.coverage._replace(notes=(*report.coverage.notes, note))
    if kept:
        return report._replace(incidents=kept, coverage=coverage)
    return report._replace(
        incidents=(), coverage=coverage, verdict="healthy", summary="No failure that the settings do not ignore."
    )


def _ignored(incident: Incident, ids: Collection[str]) -> bool:
    return incident.fingerprint in ids or (bool(incident.diagnoses) and incident.diagnoses[0].rule in ids)
