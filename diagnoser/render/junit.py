"""The report for dashboards of continuous integration: JUnit XML, one test case per incident or check.

A diagnosed incident is a failure, an unknown or incomplete one an error, a healthy log one case that passed. The
dialect is the common core that Jenkins, GitLab and GitHub's report actions read.
"""

from __future__ import annotations

import re

from diagnoser.model import Finding, Incident, Report
from diagnoser.render import RenderOptions
from diagnoser.render import text as text_format
from diagnoser.render._about import finding_order, nothing_words
from diagnoser.render._plain import cut_end, one_line, printable
from diagnoser.render._words import IMPACT, best, failure_label, process_label

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 can't hold, not even escaped."""
MOST_CASES = 1000
"""Incidents that become a test case of their own; more would slow dashboards down without telling more."""


def render(report: Report, options: RenderOptions) -> str:
    """One test suite."""
    cases = [_finding(finding) for finding in finding_order(report.findings)]
    cases += [_incident(incident, report) for incident in report.incidents[:MOST_CASES]]
    left_out = len(report.incidents) - MOST_CASES
    if not cases:
        cases = [_case("diagnoser.log", nothing_words(report))]
    name = options.title or "diagnoser"
    kinds = {kind: sum(f"<{kind} " in case for case in cases) for kind in ("failure", "error", "skipped")}
    counts = (
        f'tests="{len(cases)}" failures="{kinds["failure"]}" errors="{kinds["error"]}" skipped="{kinds["skipped"]}"'
    )
    properties = [
        ("diagnoser", report.tool.version),
        ("catalogue", report.tool.catalogue),
        ("verdict", report.verdict),
        *((f"fact.{name}", str(fact.value)) for name, fact in report.facts),
        *(("redacted", f"{count} {kind}") for kind, count in report.redactions),
        *(("input", note) for note in report.coverage.notes),
        *([("left_out", f"{left_out} incidents")] if left_out > 0 else []),
    ]
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f"<testsuites {counts}>",
        f'  <testsuite name="{attribute(name)}" {counts}>',
        "    <properties>",
        *(f'      <property name="{attribute(key)}" value="{attribute(value)}"/>' for key, value in properties),
        "    </properties>",
        *cases,
        "  </testsuite>",
        "</testsuites>",
    ]
    return "\n".join(lines) + "\n"


def escape(text: str) -> str:
    """The text as content of an element."""
    text = _NOT_XML.sub("\ufffd", printable(text))
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def attribute(text: str) -> str:
    """The text as value of an attribute, on one line."""
    return escape(cut_end(one_line(text), 1000))


def _incident(incident: Incident, report: Report) -> str:
    diagnosis = best(incident)
    explained = diagnosis is not None and not incident.incomplete
    kind = "failure" if explained else "error"
    said = f"{diagnosis.title} ({diagnosis.confidence})" if diagnosis else "no rule explains it"
    if incident.incomplete:
        said = "the root cause is not in this log"
    alone = report._replace(incidents=(incident,), findings=())
    body = text_format.render(alone, RenderOptions(width=100, unicode=False))
    # Without the process id, which would make a new test of every run.
    name = f"{failure_label(incident.root)} in {process_label(incident.root.speaker)} [{incident.fingerprint}]"
    message = f"{IMPACT[incident.impact]}: {said}"
    content = f'<{kind} type="{attribute(incident.root.type or incident.root.kind)}" message="{attribute(message)}">'
    content += f"{escape(body)}</{kind}>"
    where = f' file="{attribute(incident.root.source)}" line="{incident.root.line}"'
    return _case(f"diagnoser.{incident.impact}", name, content, where)


def _finding(finding: Finding) -> str:
    lines = [finding.title, finding.message, *(f"{name}={value}" for name, value in finding.inputs)]
    for remedy in finding.suggestions:
        lines += [remedy.do, *([f"$ {remedy.run}"] if remedy.run else [])]
    body = escape("\n".join(line for line in lines if line))
    rule = attribute(finding.rule or finding.check)
    content = {
        "error": f'<failure type="{rule}" message="{attribute(finding.title)}">{body}</failure>',
        "warning": f"<system-out>{body}</system-out>",
        "skipped": f'<skipped message="{attribute(finding.missing or "an input is missing")}"/>',
        "ok": "",
    }[finding.status]
    return _case("diagnoser.check", f"{finding.check}: {finding.title}", content)


def _case(group: str, name: str, content: str = "", more: str = "") -> str:
    start = f'    <testcase classname="{attribute(group)}" name="{attribute(name)}"{more} time="0"'
    return f"{start}>\n      {content}\n    </testcase>" if content else f"{start}/>"
