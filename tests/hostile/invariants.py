"""What must hold of every report, whatever the log was; used by the properties and by the fuzz targets."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import json_schemas

from diagnoser.model import Report

_WORD = re.compile(r"[A-Za-z]{3,}")


@cache
def validator() -> Any:
    """Checks a parsed JSON report against the published schema."""
    from jsonschema import Draft202012Validator

    return Draft202012Validator(json_schemas.read("report"))


def places(report: Report) -> Iterator[tuple[str, int]]:
    """Every source and line number that the report states."""
    for _, fact in report.facts:
        yield fact.source, fact.line
    for incident in report.incidents:
        root = incident.root
        yield root.source, root.line
        yield root.source, root.end_line
        for frame in root.frames:
            if frame.log_line is not None:
                yield root.source, frame.log_line
        for group in (incident.chain, incident.symptoms, incident.timeline, incident.runners_up):
            for entry in group:
                yield entry.source, entry.line
        for diagnosis in incident.diagnoses:
            for evidence in diagnosis.evidence:
                yield evidence.source, evidence.line


def check_places(report: Report, lines: Mapping[str, int]) -> None:
    """Every line number exists: `lines` tells how many lines each source has."""
    for source, line in places(report):
        assert source in lines, (source, sorted(lines))
        assert 1 <= line <= lines[source], (source, line, lines[source])


def check_evidence(report: Report, texts: Mapping[str, Sequence[str]]) -> None:
    """The text of each piece of evidence stands on the line that it names.

    Repairs take escapes and envelopes off, so the words of the text are looked for, not the text itself. The evidence
    of a fact is written as `name = value`; there the value has to stand on the line.
    """
    for incident in report.incidents:
        for diagnosis in incident.diagnoses:
            for evidence in diagnosis.evidence:
                line = texts[evidence.source][evidence.line - 1]
                text = evidence.text
                if re.fullmatch(r"[a-z_]+ = .*", text, re.DOTALL):
                    continue
                words = _WORD.findall(text)
                missing = [word for word in words if word not in line]
                assert not missing, (evidence, line)


def check_rendered(report: Report, formats: Sequence[str] | None = None, *, twice: bool = True) -> dict[str, str]:
    """Every format renders, twice the same, as clean UTF-8; JSON obeys the schema. Returns the texts by format."""
    from diagnoser.render import FORMATS, render

    shown: dict[str, str] = {}
    for name in formats or FORMATS:
        text = shown[name] = render(report, name)
        assert not twice or text == render(report, name)
        text.encode("utf-8")
    if "json" in shown:
        errors = [error.message for error in validator().iter_errors(json.loads(shown["json"]))]
        assert errors == []
    return shown


def lines_of(text: str) -> list[str]:
    """The physical lines, as the reader counts them."""
    lines = text.split("\n")
    return lines[:-1] if lines and not lines[-1] else lines


def summary_of(report: Report) -> tuple[Any, ...]:
    """What must not change when only places do: verdict and, of each incident, root, impact and rules."""
    return (
        report.verdict,
        tuple(
            (
                incident.fingerprint,
                incident.impact,
                incident.root.type,
                incident.root.message,
                tuple((diagnosis.rule, diagnosis.confidence) for diagnosis in incident.diagnoses),
                tuple(link.type for link in incident.chain),
            )
            for incident in report.incidents
        ),
    )
