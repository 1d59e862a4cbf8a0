"""`diagnose diff BEFORE AFTER`: did the fix work?"""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from diagnoser.cli.options import rule_options
from diagnoser.cli.settings import Settings, catalogue_of
from diagnoser.errors import InputError
from diagnoser.records import NamedTuple

SCHEMA = "diagnoser.diff/1"
_REPORT_SCHEMA = "diagnoser.report/"
_ROOT_KEYS = ("kind", "type", "message", "process", "source", "line")
_DIAGNOSIS_KEYS = ("rule", "title", "confidence")
_MARKS = (("new", "New", "+"), ("gone", "Gone", "-"), ("same", "Still there", "="))


class Side(NamedTuple):
    """One of the two: its name and its report, in JSON's own types."""

    name: str
    report: dict[str, Any]

    @property
    def incidents(self) -> dict[str, dict[str, Any]]:
        """The first incident of each fingerprint."""
        found: dict[str, dict[str, Any]] = {}
        for incident in self.report["incidents"]:
            found.setdefault(incident["fingerprint"], incident)
        return found


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--format", "-f", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--output", "-o", metavar="FILE", help="Write to FILE instead of standard output.")
@rule_options
@click.argument("before", metavar="BEFORE")
@click.argument("after", metavar="AFTER")
def diff(before: str, after: str, form: str, output: str | None, **options: Any) -> int:
    """Compare two logs, or two reports in JSON: which incidents are new, gone or still there.

    An incident is the same when its root has the same fingerprint. Exits with 1 when there are new ones.
    """
    settings = Settings.of({**_NO_OUTPUT, **options})
    catalogue: list[Any] = []
    sides = [_side(path, settings, catalogue) for path in (before, after)]
    found = compared(*sides)
    text = json.dumps(found, indent=2, ensure_ascii=True) + "\n" if form == "json" else as_text(found)
    if output is not None and output != "-":
        from diagnoser.writing import write_atomically

        write_atomically(output, text)
    else:
        sys.stdout.write(text)
    return 1 if found["new"] else 0


_NO_OUTPUT: dict[str, Any] = {
    "formats": (), "outputs": (), "no_redact": False, "redact_hosts": False, "quiet": False, "verbose": False,
    "color": "never", "width": None,
}  # fmt: skip


def compared(before: Side, after: Side) -> dict[str, Any]:
    """What is new, gone and the same, in the order of the reports."""
    old, new = before.incidents, after.incidents
    return {
        "schema": SCHEMA,
        "before": {"name": before.name, "verdict": before.report["verdict"], "incidents": len(old)},
        "after": {"name": after.name, "verdict": after.report["verdict"], "incidents": len(new)},
        "new": [_brief(incident) for key, incident in new.items() if key not in old],
        "gone": [_brief(incident) for key, incident in old.items() if key not in new],
        "same": [_brief(incident) for key, incident in new.items() if key in old],
    }


def as_text(found: dict[str, Any]) -> str:
    """One line per incident, under headings."""
    old, new = (f"{found[side]['name']} ({found[side]['verdict']})" for side in ("before", "after"))
    counts = ", ".join(f"{len(found[key])} {heading.lower()}" for key, heading, _ in _MARKS)
    lines = [f"{old} -> {new}: {counts}"]
    for key, heading, mark in _MARKS:
        if found[key]:
            lines += ["", heading, *(f"  {mark} {_line(incident)}" for incident in found[key])]
    return "".join(f"{_printable(line)}\n" for line in lines)


def _brief(incident: dict[str, Any]) -> dict[str, Any]:
    root = incident["root"]
    best = next(iter(incident["diagnoses"]), None)
    return {
        "fingerprint": incident["fingerprint"],
        "impact": incident["impact"],
        "root": {key: root[key] for key in _ROOT_KEYS},
        "diagnosis": {key: best[key] for key in _DIAGNOSIS_KEYS} if best else None,
    }


def _line(incident: dict[str, Any]) -> str:
    root, best = incident["root"], incident["diagnosis"]
    what = root["type"] or (root["message"] or root["kind"]).split("\n", 1)[0][:120]
    where = root["process"]["name"] or root["process"]["role"]
    why = f"{best['title']} ({best['confidence']}) [{best['rule']}]" if best else "no rule explains it"
    place = f" in {where}" if where else ""
    return f"{root['source']}:{root['line']}: {what}{place}: {why} {incident['fingerprint']}"


def _printable(line: str) -> str:
    return "".join(character if character.isprintable() else "\ufffd" for character in line)


def _side(path: str, settings: Settings, catalogue: list[Any]) -> Side:
    """The report in the file, or that of the logs it names. Raises InputError for what can't be read."""
    stored = _stored_report(path)
    if stored is not None:
        return Side(path, stored)
    from diagnoser.cli.diagnosing import report_on
    from diagnoser.render.json import as_dict

    if not catalogue:
        catalogue.append(catalogue_of(settings))
    return Side(path, as_dict(settings.prepare(report_on(path, catalogue[0]))))


def _stored_report(path: str) -> dict[str, Any] | None:
    """The report that the file holds; None when it is a log. Raises InputError for a report that is damaged."""
    try:
        with open(path, "rb") as file:
            head = file.read(200)
            if not head.lstrip().startswith(b"{") or _REPORT_SCHEMA.encode() not in head:
                return None
            report = json.loads(head + file.read())
    except (OSError, ValueError, RecursionError) as error:
        if isinstance(error, OSError):
            return None  # opening it as a log says why, or it is a folder
        raise InputError(path, f"a report that is no valid JSON: {error}") from None
    if not isinstance(report.get("incidents"), list) or "verdict" not in report:
        raise InputError(path, "a report without incidents", expected="what --format json writes")
    for number, incident in enumerate(report["incidents"], 1):
        if not _is_incident(incident):
            raise InputError(path, f"incident {number} lacks keys that it needs", expected="what --format json writes")
    return dict(report)


def _is_incident(value: Any) -> bool:
    """Whether a stored value has all that is compared and shown of an incident."""
    if not _has(value, "fingerprint", "impact", "root", "diagnoses"):
        return False
    root, diagnoses = value["root"], value["diagnoses"]
    return (
        isinstance(value["fingerprint"], str)
        and _has(root, *_ROOT_KEYS)
        and isinstance(root["message"], str)
        and _has(root["process"], "name", "role")
        and isinstance(diagnoses, list)
        and all(_has(diagnosis, *_DIAGNOSIS_KEYS) for diagnosis in diagnoses)
    )


def _has(value: Any, *keys: str) -> bool:
    return isinstance(value, dict) and value.keys() >= set(keys)
