"""The JSON report, `diagnoser.report/1`: the contract that every other format is rendered from.

`report.schema.json` beside this file documents each key. Keys may be added within version 1; none is renamed or
removed. The text is ASCII-safe where it matters: control characters, bidirectional overrides and lone surrogates
are written as escapes, so that printing a report on a terminal can't do anything to it.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

from diagnoser.model import (
    ChainLink,
    Coverage,
    Diagnosis,
    Fact,
    Failure,
    Finding,
    Frame,
    Incident,
    Process,
    Remedy,
    Report,
    RunnerUp,
    SourceInfo,
    Symptom,
    TimelineEntry,
)
from diagnoser.render import RenderOptions
from diagnoser.render._words import process_label

SCHEMA = "diagnoser.report/1"

_UNSAFE = re.compile(
    "[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
"""What `json` leaves as it is although terminals, browsers or encoders stumble over it; escaped afterwards."""


def render(report: Report, options: RenderOptions) -> str:
    """The whole report; equal reports give equal bytes."""
    text = json.dumps(as_dict(report), ensure_ascii=False, indent=2, allow_nan=False)
    return _UNSAFE.sub(_escape, text) + "\n"


def _escape(match: re.Match[str]) -> str:
    """The JSON escape of one character, as a surrogate pair where it needs one."""
    code = ord(match.group())
    if code > 0xFFFF:
        code -= 0x10000
        return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
    return f"\\u{code:04x}"


def as_dict(report: Report) -> dict[str, Any]:
    """The report in JSON's own types, keys in the order of the contract."""
    return {
        "schema": SCHEMA,
        "tool": {"version": report.tool.version, "rules": report.tool.rules, "catalogue": report.tool.catalogue},
        "verdict": report.verdict,
        "summary": report.summary,
        "sources": [_source(source) for source in report.sources],
        "coverage": _coverage(report.coverage),
        "facts": {name: _fact(fact) for name, fact in report.facts},
        "incidents": [_incident(incident) for incident in report.incidents],
        "findings": [_finding(finding) for finding in report.findings],
        "redactions": dict(report.redactions),
    }


def _source(source: SourceInfo) -> dict[str, Any]:
    return {"name": source.name, "lines": source.lines, "bytes": source.bytes, "formats": list(source.formats)}


def _coverage(coverage: Coverage) -> dict[str, Any]:
    return {
        "lines_read": coverage.lines_read,
        "lines_skipped": coverage.lines_skipped,
        "lines_cut": coverage.lines_cut,
        "undecodable_bytes": coverage.undecodable_bytes,
        "notes": list(coverage.notes),
    }


def _fact(fact: Fact) -> dict[str, Any]:
    value = fact.value
    if isinstance(value, float) and not math.isfinite(value):  # JSON has no such numbers
        value = str(value)
    return {"value": value, "source": fact.source, "line": fact.line}


def _incident(incident: Incident) -> dict[str, Any]:
    return {
        "fingerprint": incident.fingerprint,
        "impact": incident.impact,
        "incomplete": incident.incomplete,
        "root": _root(incident.root),
        "also_on": [_process(process) for process in incident.also_on],
        "chain": [_link(link) for link in incident.chain],
        "symptoms": [_symptom(symptom) for symptom in incident.symptoms],
        "reasons": list(incident.reasons),
        "timeline": [_entry(entry) for entry in incident.timeline],
        "diagnoses": [_diagnosis(diagnosis) for diagnosis in incident.diagnoses],
        "runners_up": [_runner_up(runner_up) for runner_up in incident.runners_up],
        "fetch": list(incident.fetch),
    }


def _root(failure: Failure) -> dict[str, Any]:
    exception = failure.exception
    return {
        "kind": failure.kind,
        "type": failure.type,
        "message": failure.message,
        "notes": list(exception.notes) if exception else [],
        "frame": _frame(failure.frame) if failure.frame else None,
        "frames": [_frame(frame) for frame in failure.frames],
        "process": _process(failure.speaker),
        "time": failure.time,
        "source": failure.source,
        "line": failure.line,
        "end_line": failure.end_line,
        "header": failure.header,
        "count": failure.count,
        "quoted": failure.quoted,
    }


def _frame(frame: Frame) -> dict[str, Any]:
    return {
        "file": frame.file,
        "path": frame.path,
        "line": frame.line,
        "function": frame.function,
        "code": frame.code,
        "log_line": frame.log_line,
    }


def _process(process: Process) -> dict[str, Any]:
    return {
        "name": process.name,
        "role": process.role,
        "pid": process.pid,
        "host": process.host,
        "pod": process.pod,
        "container": process.container,
        "ranks": dict(process.ranks),
    }


def _link(link: ChainLink) -> dict[str, Any]:
    return {
        "link": link.link,
        "type": link.type,
        "message": link.message,
        "process": _process(link.process),
        "source": link.source,
        "line": link.line,
        "rule": link.rule,
    }


def _symptom(symptom: Symptom) -> dict[str, Any]:
    return {
        "type": symptom.type,
        "message": symptom.message,
        "process": _process(symptom.process),
        "source": symptom.source,
        "line": symptom.line,
        "count": symptom.count,
        "because": symptom.because,
    }


def _entry(entry: TimelineEntry) -> dict[str, Any]:
    return {
        "time": entry.time,
        "process": process_label(entry.process),
        "what": entry.what,
        "source": entry.source,
        "line": entry.line,
        "kind": entry.kind,
    }


def _runner_up(runner_up: RunnerUp) -> dict[str, Any]:
    return {
        "type": runner_up.type,
        "message": runner_up.message,
        "process": _process(runner_up.process),
        "source": runner_up.source,
        "line": runner_up.line,
        "why": runner_up.why,
    }


def _diagnosis(diagnosis: Diagnosis) -> dict[str, Any]:
    return {
        "rule": diagnosis.rule,
        "title": diagnosis.title,
        "severity": diagnosis.severity,
        "confidence": diagnosis.confidence,
        "cause": diagnosis.cause,
        "captures": dict(diagnosis.captures),
        "evidence": [{"source": item.source, "line": item.line, "text": item.text} for item in diagnosis.evidence],
        "remedies": [_remedy(remedy) for remedy in diagnosis.remedies],
        "references": [{"title": reference.title, "url": reference.url} for reference in diagnosis.references],
        "fixed_in": diagnosis.fixed_in,
        "runbook": diagnosis.runbook,
        "check": diagnosis.check,
    }


def _remedy(remedy: Remedy) -> dict[str, Any]:
    return {"do": remedy.do, "run": remedy.run, "verify": remedy.verify, "why": remedy.why}


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "status": finding.status,
        "check": finding.check,
        "title": finding.title,
        "rule": finding.rule,
        "message": finding.message,
        "inputs": dict(finding.inputs),
        "suggestions": [_remedy(remedy) for remedy in finding.suggestions],
        "missing": finding.missing,
        "runbook": finding.runbook,
    }
