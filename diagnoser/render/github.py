"""The report in a GitHub Actions log: an annotation per incident or finding, then the whole report in a fold.

`summary` gives the Markdown for the job's summary page, which the command line appends to `$GITHUB_STEP_SUMMARY`.
Log text can't give commands to the runner: between `::stop-commands::` and its end mark nothing is obeyed, and the
mark is a hash of the text, which the text can't contain.
Source: https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands
"""

from __future__ import annotations

from diagnoser.model import Finding, Incident, Report
from diagnoser.render import RenderOptions, markdown
from diagnoser.render import text as text_format
from diagnoser.render._about import finding_counts, finding_order, nothing_words
from diagnoser.render._plain import cut_end, excerpt, one_line, printable
from diagnoser.render._words import IMPACT, best, failure_label, frame_place, headline, is_told, said

MOST_ANNOTATIONS = 10
"""GitHub shows ten errors and ten warnings per step."""
MOST_SUMMARY_BYTES = 1_000_000
"""GitHub refuses a job summary of more than one mebibyte."""


def render(report: Report, options: RenderOptions) -> str:
    """Annotations and the folded text report."""
    lines = [_incident(incident) for incident in report.incidents[:MOST_ANNOTATIONS]]
    lines += [line for finding in finding_order(report.findings) if (line := _finding(finding))]
    if not lines:
        said = finding_counts(report.findings) if report.findings else nothing_words(report)
        lines = [command("notice", {"title": "Diagnoser"}, said)]
    body = text_format.render(report, options._replace(color=False))
    mark = _mark(body)
    return "\n".join(
        [
            *lines,
            "::group::Diagnoser report",
            f"::stop-commands::{mark}",
            body.rstrip("\n"),
            f"::{mark}::",
            "::endgroup::\n",
        ]
    )


def summary(report: Report, options: RenderOptions) -> str:
    """Markdown for the job's summary page, short enough for it."""
    text = markdown.render(report, options)
    if len(text.encode("utf-8")) > MOST_SUMMARY_BYTES:
        text = markdown.render(report._replace(incidents=report.incidents[:1]), options)
    return text


def command(name: str, properties: dict[str, str | int], message: str) -> str:
    """One workflow command; nothing in its values can end it or begin another."""
    given = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items() if value != "")
    return f"::{name} {given}::{_data(message)}"


def _data(text: str) -> str:
    # "##[" begins a command in the old form, wherever it stands in a line.
    return (
        printable(text)
        .replace("##[", "## [")
        .replace("##vso[", "## vso[")
        .replace("%", "%25")
        .replace("\r", "%0D")
        .replace("\n", "%0A")
    )


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _incident(incident: Incident) -> str:
    root, diagnosis = incident.root, best(incident)
    if diagnosis:
        title = f"{one_line(diagnosis.title)} ({diagnosis.confidence})"
    elif incident.incomplete:
        title = "The root cause is not in this log"
    else:
        title = f"{failure_label(root)}: no rule explains it"
    lines = [f"{headline(incident)}: {IMPACT[incident.impact]}"]
    if root.message.strip() and not is_told(root):
        lines.append(excerpt(said(root), 600))
    if root.frame:
        lines.append(f"at {frame_place(root.frame)}")
    for remedy in diagnosis.remedies[:2] if diagnosis else ():
        lines += [one_line(remedy.do), *([f"  $ {printable(remedy.run)}"] if remedy.run else [])]
    lines += [one_line(item) for item in incident.fetch[:2]]
    place: dict[str, str | int] = {"file": root.source, "line": root.line, "title": cut_end(title, 200)}
    return command("error", place, "\n".join(lines))


def _finding(finding: Finding) -> str | None:
    if finding.status not in ("error", "warning"):
        return None
    lines = [one_line(finding.message or finding.title)]
    for remedy in finding.suggestions[:2]:
        lines += [one_line(remedy.do), *([f"  $ {printable(remedy.run)}"] if remedy.run else [])]
    return command(finding.status, {"title": cut_end(one_line(finding.title), 200)}, "\n".join(lines))


def _mark(text: str) -> str:
    """A word that the text does not hold."""
    from hashlib import sha256

    return "end-" + sha256(text.encode("utf-8", "replace")).hexdigest()[:32]
