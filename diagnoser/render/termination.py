"""The report for `/dev/termination-log`: at most 4,096 bytes, the failure and the first step before anything else.

Kubernetes shows the text under `Last State: Message` in `kubectl describe pod` and cuts whatever is longer.
Source of the limit: https://kubernetes.io/docs/tasks/debug/debug-application/determine-reason-pod-failure/
"""

from __future__ import annotations

from collections.abc import Iterator

from diagnoser.model import Incident, Report
from diagnoser.render import RenderOptions
from diagnoser.render._about import (
    coverage_words,
    fact_words,
    finding_counts,
    finding_order,
    nothing_words,
    redaction_words,
)
from diagnoser.render._plain import excerpt, one_line
from diagnoser.render._prepare import prepared
from diagnoser.render._words import (
    IMPACT,
    NOT_IN_THIS_LOG,
    best,
    fold_symptoms,
    frame_place,
    headline,
    is_told,
    place,
    process_label,
    root_place,
    said,
    type_label,
    unknown_steps,
)

LIMIT = 4096
"""Bytes of UTF-8 that Kubernetes keeps."""
_LINE, _COMMAND = 400, 900
"""Bytes of one line and of one command; so that the failure, its cause and the first step always fit together."""


class Command(str):
    """A line that is of no use unless it is whole."""

    __slots__ = ()


def render(report: Report, options: RenderOptions) -> str:
    """The report in at most `LIMIT` bytes; what is least important is left out, a command is never cut."""
    lines: list[str] = []
    room = LIMIT
    for line in _lines(prepared(report)):
        whole = isinstance(line, Command)
        shown = line if whole else cut_bytes(line, min(_LINE, room - 1))
        size = len(shown.encode("utf-8", "replace")) + 1
        if whole and (size > _COMMAND or size > room):
            continue
        lines.append(shown)
        room -= size
        if room < 80:
            break
    return "\n".join(lines) + "\n"


def cut_bytes(text: str, limit: int) -> str:
    """The text in at most `limit` bytes of UTF-8, cut between characters, with three dots where it was cut."""
    data = text.encode("utf-8", "replace")
    if len(data) <= limit:
        return data.decode("utf-8")
    return data[: max(limit - 3, 0)].decode("utf-8", "ignore") + "..."[:limit]


def _lines(report: Report) -> Iterator[str]:
    """Lines in falling order of importance."""
    for finding in finding_order(report.findings):
        if finding.status in ("error", "warning"):
            yield f"{finding.status}: {one_line(finding.title)}"
            for remedy in finding.suggestions[:1]:
                yield f"  {one_line(remedy.do)}"
    if report.findings:
        yield finding_counts(report.findings)
    elif not report.incidents:
        yield nothing_words(report)
    for incident in report.incidents:
        yield from _incident(incident, report)
    facts = fact_words(report.facts)
    if facts and report.incidents:
        yield f"deployment: {', '.join(facts)}"
    hidden = redaction_words(report)
    if hidden:
        yield f"redacted: {hidden}"
    for words in coverage_words(report)[1:]:
        yield f"input: {words}"


def _incident(incident: Incident, report: Report) -> Iterator[str]:
    root, diagnosis = incident.root, best(incident)
    if incident.incomplete:
        yield f"{NOT_IN_THIS_LOG}; {IMPACT[incident.impact]}; nearest to it: {headline(incident)}"
    else:
        yield f"{headline(incident)}: {IMPACT[incident.impact]}"
    if root.message.strip() and not is_told(root):
        yield f"  {one_line(excerpt(said(root), 380))}"
    if root.frame:
        yield f"  at {frame_place(root.frame)}" + (f": {one_line(root.frame.code)}" if root.frame.code else "")
    if diagnosis:
        yield f"cause ({diagnosis.confidence}): {one_line(diagnosis.title)}"
    elif not incident.incomplete:
        yield "cause: unknown; no rule explains it"
    for number, item in enumerate(incident.fetch if incident.incomplete else (), 1):
        yield f"collect {number}: {one_line(item)}"
    remedies = () if incident.incomplete else unknown_steps(incident, report)
    for number, remedy in enumerate(diagnosis.remedies if diagnosis else remedies, 1):
        yield f"step {number}: {one_line(remedy.do)}"
        if remedy.run:
            yield Command(f"  $ {one_line(remedy.run)}")
        if number == 1 and diagnosis and diagnosis.cause.strip():
            yield f"why: {one_line(diagnosis.cause)}"
    yield f"log: {root_place(incident)}"
    for link in incident.chain:
        where = place(link.source, link.line)
        yield f"reported by {process_label(link.process)} ({where}): {type_label(link.type, link.message)}"
    for group in fold_symptoms(incident.symptoms)[:3]:
        yield f"followed: {group.total:,} x {group.label}"
    if diagnosis:
        yield f"more: diagnose explain {one_line(diagnosis.rule)}"
    yield f"fingerprint: {one_line(incident.fingerprint)}"
