"""The JSON report, `diagnoser.report/1`: the contract that every other format is rendered from.

`report.schema.json` beside this file documents each key. Keys may be added within version 1; none is renamed or
removed. The text is ASCII-safe where it matters: control characters, bidirectional overrides and lone surrogates
are written as escapes, so that printing a report on a terminal can't do anything to it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any

from diagnoser.model import (
    ChainLink,
    Coverage,
    Diagnosis,
    Evidence,
    Fact,
    Failure,
    Finding,
    Frame,
    Incident,
    Process,
    Reference,
    Remedy,
    Report,
    RunnerUp,
    SourceInfo,
    Symptom,
    TimelineEntry,
    ToolInfo,
)
from diagnoser.render import RenderOptions
from diagnoser.render._words import process_label

SCHEMA = "diagnoser.report/1"

_FIELDS: dict[type, str] = {
    Report: "tool verdict summary sources coverage facts incidents findings redactions",
    ToolInfo: "version rules catalogue",
    SourceInfo: "name lines bytes formats",
    Coverage: "lines_read lines_skipped lines_cut undecodable_bytes notes",
    Fact: "value source line",
    Incident: "fingerprint impact incomplete root also_on chain symptoms reasons timeline diagnoses runners_up fetch",
    Failure: "kind type message notes frame frames process time source line end_line header count quoted",
    Frame: "file path line function code log_line",
    Process: "name role pid host pod container ranks",
    ChainLink: "link type message process source line rule",
    Symptom: "type message process source line count because",
    TimelineEntry: "time process what source line kind",
    Diagnosis: "rule title severity confidence cause captures evidence remedies references fixed_in runbook check",
    Evidence: "source line text",
    Remedy: "do run verify why",
    Reference: "title url",
    RunnerUp: "type message process source line why",
    Finding: "status check title rule message inputs suggestions missing runbook",
}
"""The keys of each object in their order, which are the names of the fields."""
_OTHERWISE: dict[tuple[type, str], Callable[[Any], Any]] = {
    (Failure, "notes"): lambda failure: failure.exception.notes if failure.exception else (),
    (Failure, "process"): lambda failure: failure.speaker,
    (TimelineEntry, "process"): lambda entry: process_label(entry.process),
}
"""Keys whose values stand elsewhere than in the field of that name."""
_OBJECTS = frozenset({"facts", "captures", "ranks", "inputs", "redactions"})
"""Fields that are pairs of name and value."""
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
    return {"schema": SCHEMA, **_object(report, _FIELDS[Report])}


def _object(value: object, keys: str) -> dict[str, Any]:
    found = {}
    for key in keys.split():
        read = _OTHERWISE.get((type(value), key))
        item = read(value) if read else getattr(value, key)
        found[key] = {name: _plain(inner) for name, inner in item} if key in _OBJECTS else _plain(item)
    return found


def _plain(value: Any) -> Any:
    """A value of the model in JSON's own types."""
    if keys := _FIELDS.get(type(value)):
        return _object(value, keys)
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):  # JSON has no such numbers
        return str(value)
    return value
