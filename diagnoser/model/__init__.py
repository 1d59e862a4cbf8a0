"""The nouns of Diagnoser: plain values that the stages hand to each other.

Every type is a named tuple: immutable, without a `__dict__`, cheap to make by the million and, as `records` defines
them, cheap to define at start-up. Change one with `value._replace(field=…)`. Nothing in this package imports anything
else of ours.

Lines are numbered from 1. Times are kept as the log printed them. Paths are kept as printed; `short_path`
gives the form that reports show.
"""

from __future__ import annotations

from diagnoser.model.failure import ExceptionInfo, Failure, Frame
from diagnoser.model.incident import ChainLink, Diagnosis, Incident, RunnerUp, Symptom, TimelineEntry
from diagnoser.model.log import UNKNOWN_PROCESS, LogRecord, Process, RawLine
from diagnoser.model.paths import short_path
from diagnoser.model.report import Coverage, Fact, Facts, Finding, Report, SourceInfo, ToolInfo
from diagnoser.model.rule import Condition, Evidence, Match, Reference, Remedy, Rule, Sample
from diagnoser.model.words import (
    CONFIDENCES,
    Confidence,
    EntryKind,
    FailureKind,
    FindingStatus,
    Impact,
    LinkKind,
    Role,
    Severity,
    Status,
    Verdict,
)

__all__ = [
    "CONFIDENCES",
    "UNKNOWN_PROCESS",
    "ChainLink",
    "Condition",
    "Confidence",
    "Coverage",
    "Diagnosis",
    "EntryKind",
    "Evidence",
    "ExceptionInfo",
    "Fact",
    "Facts",
    "Failure",
    "FailureKind",
    "Finding",
    "FindingStatus",
    "Frame",
    "Impact",
    "Incident",
    "LinkKind",
    "LogRecord",
    "Match",
    "Process",
    "RawLine",
    "Reference",
    "Remedy",
    "Report",
    "Role",
    "Rule",
    "RunnerUp",
    "Sample",
    "Severity",
    "SourceInfo",
    "Status",
    "Symptom",
    "TimelineEntry",
    "ToolInfo",
    "Verdict",
    "short_path",
]
