"""The fixed words of reports and rules."""

from __future__ import annotations

from typing import Literal

Verdict = Literal["healthy", "shutdown", "diagnosed", "unknown", "incomplete"]
Impact = Literal["startup", "crash", "hang", "requests"]
FailureKind = Literal["exception", "native", "signal", "exit", "message"]
LinkKind = Literal["cause", "context", "group", "wraps"]
Role = Literal["cause", "wrapper", "symptom", "noise"]
Severity = Literal["config", "capacity", "environment", "hardware", "upstream-bug", "client", "operator"]
Confidence = Literal["certain", "likely", "possible"]
Status = Literal["reproduced", "reported", "draft"]
EntryKind = Literal["fact", "root", "copy", "wrapper", "symptom", "shutdown"]
FindingStatus = Literal["ok", "warning", "error", "skipped"]

CONFIDENCES: tuple[Confidence, ...] = ("certain", "likely", "possible")
"""Best first."""
LOUD = frozenset({"ERROR", "CRITICAL", "FATAL"})
"""Levels of records that report a failure."""
