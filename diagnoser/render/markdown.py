"""The report as Markdown, for incident channels, runbooks and pull requests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from diagnoser.model import Diagnosis, Failure, Finding, Incident, Remedy, Report
from diagnoser.render import RenderOptions
from diagnoser.render._about import (
    coverage_words,
    fact_words,
    finding_counts,
    finding_order,
    nothing_words,
    redaction_words,
)
from diagnoser.render._frames import fold_frames
from diagnoser.render._markdown import code, fence, joined, link, plain, prose
from diagnoser.render._plain import cut_end, excerpt, one_line, printable
from diagnoser.render._prepare import prepared
from diagnoser.render._words import (
    CONFIDENCE,
    IMPACT,
    NOT_IN_THIS_LOG,
    best,
    fold_symptoms,
    frame_place,
    headline,
    place,
    plural,
    process_label,
    process_list,
    root_place,
    said,
    type_label,
    unknown_steps,
)

MOST_INCIDENTS, MOST_LINKS, MOST_GROUPS, MOST_EVIDENCE = 5, 12, 8, 12


def render(report: Report, options: RenderOptions) -> str:
    """The report; headings start at level 1 with the failure or the verdict."""
    report = prepared(report)
    lines: list[str] = []
    if report.findings:
        lines += [f"# {plain(options.title or finding_counts(report.findings))}", "", *_findings(report.findings)]
    elif not report.incidents:
        lines += [f"# {plain(options.title or nothing_words(report))}", ""]
    for incident in report.incidents[:MOST_INCIDENTS]:
        lines += [*_incident(incident, report), ""]
    if report.incidents[MOST_INCIDENTS:]:
        lines += [f"# {plural(len(report.incidents) - MOST_INCIDENTS, 'more incident')}", ""]
        lines += [
            f"- {plain(headline(incident))}" for incident in report.incidents[MOST_INCIDENTS : MOST_INCIDENTS + 50]
        ]
        lines += [""]
    lines += _about(report)
    return joined(lines)


def _incident(incident: Incident, report: Report) -> Iterator[str]:
    root, diagnosis = incident.root, best(incident)
    if incident.incomplete:
        yield f"# {NOT_IN_THIS_LOG}; {IMPACT[incident.impact]}"
        yield from ("", f"Nearest to it: {plain(headline(incident))}.")
    else:
        yield f"# {plain(headline(incident))}: {IMPACT[incident.impact]}"
    yield ""
    yield fence(failure_text(root))
    yield from ("", plain(root_place(incident)))
    if incident.incomplete and incident.fetch:
        yield from ("", "## What to collect", "")
        yield from (f"{number}. {prose(item)}" for number, item in enumerate(incident.fetch, 1))
    if diagnosis:
        yield from _cause(diagnosis)
    elif not incident.incomplete:
        yield from ("", "## Cause: unknown", "", "No rule explains this failure.", "")
        yield from steps(unknown_steps(incident, report))
    for other in incident.diagnoses[1:]:
        yield from ("", f"Also {other.confidence}: {plain(other.title)} ({code('diagnose explain ' + other.rule)})")
    yield from _support(incident, diagnosis)


def _cause(diagnosis: Diagnosis) -> Iterator[str]:
    yield from ("", f"## Cause ({diagnosis.confidence}): {plain(diagnosis.title)}")
    if diagnosis.cause.strip():
        yield from ("", prose(diagnosis.cause))
    if diagnosis.confidence != "certain":
        yield from ("", CONFIDENCE[diagnosis.confidence])
    if diagnosis.fixed_in:
        yield from ("", f"Fixed in {plain(diagnosis.fixed_in)}.")
    if diagnosis.remedies:
        yield from ("", "## What to do", "")
        yield from steps(diagnosis.remedies)


def _support(incident: Incident, diagnosis: Diagnosis | None) -> Iterator[str]:
    """What the answer rests on."""
    root = incident.root
    if diagnosis and diagnosis.evidence:
        yield from ("", "## Evidence", "")
        for item in diagnosis.evidence[:MOST_EVIDENCE]:
            yield f"- {code(place(item.source, item.line))} {code(excerpt(item.text, 500))}"
    if len(root.frames) > 1:
        yield from ("", "## Traceback", "")
        yield fence(traceback_text(root))
    if incident.chain:
        yield from ("", "## How it was reported, outermost first", "")
        yield from chain_list(incident)
    if incident.reasons:
        yield from ("", "## How this was decided" if incident.incomplete else "## Why this is the first failure", "")
        yield from (f"- {prose(reason)}" for reason in incident.reasons)
    groups = fold_symptoms(incident.symptoms)
    if groups:
        yield from ("", "## What merely followed", "")
        for group in groups[:MOST_GROUPS]:
            where = f"{process_list(group.processes, 2)}, first at {place(group.source, group.line)}"
            yield f"- {group.total:,} x {code(cut_end(group.label, 200))} in {plain(where)}"
        if groups[MOST_GROUPS:]:
            yield f"- {plural(len(groups) - MOST_GROUPS, 'other kind')}"
    yield ""
    if diagnosis:
        yield f"- Rule and runbook: {code('diagnose explain ' + diagnosis.rule)}"
        if diagnosis.check:
            yield f"- Before the next launch: {code(diagnosis.check)}"
        yield from (f"- See {link(reference.title, reference.url)}" for reference in diagnosis.references)
    yield f"- Fingerprint: {code(incident.fingerprint)}"


def failure_text(root: Failure) -> str:
    """The failure as Python prints it, and where it was raised."""
    lines = [excerpt(said(root), 4_000)]
    lines += [excerpt(note, 500) for note in (root.exception.notes[:5] if root.exception else ())]
    if root.frame:
        lines.append(f"  at {frame_place(root.frame)}")
        if root.frame.code:
            lines.append(f"    {printable(root.frame.code)}")
    return "\n".join(line for line in lines if line)


def traceback_text(root: Failure, keep: int = 10) -> str:
    """The traceback in Python's own form, calls of libraries folded."""
    lines = ["Traceback (most recent call last):"]
    for frame in fold_frames(root.frames, keep):
        if isinstance(frame, int):
            lines.append(f"  ... {plural(frame, 'call')} left out")
            continue
        number = f", line {frame.line}" if frame.line is not None else ""
        function = f", in {one_line(frame.function)}" if frame.function else ""
        lines.append(f'  File "{one_line(frame.file)}"{number}{function}')
        lines += [f"    {line}" for line in printable(frame.code or "").split("\n") if line.strip()]
    lines.append(cut_end(type_label(root.type, root.message), 1_000))
    return "\n".join(lines)


def chain_list(incident: Incident) -> Iterator[str]:
    """The wrappers and the root as a nested list."""
    links = incident.chain[:MOST_LINKS]
    for depth, item in enumerate(links):
        what = code(cut_end(type_label(item.type, item.message), 300))
        yield f"{'  ' * depth}- {plain(process_label(item.process))}: {what} ({plain(place(item.source, item.line))})"
    if incident.chain[MOST_LINKS:]:
        yield f"{'  ' * len(links)}- {plural(len(incident.chain) - MOST_LINKS, 'more link')}"
    root = incident.root
    what = code(cut_end(type_label(root.type, root.message), 300))
    name = f"**{plain(process_label(root.speaker))}**"
    yield f"{'  ' * len(links)}- {name}: {what} ({plain(place(root.source, root.line))})"


def steps(remedies: Iterable[Remedy]) -> Iterator[str]:
    """Numbered steps with their commands in blocks that can be copied."""
    for number, remedy in enumerate(remedies, 1):
        space = " " * (len(str(number)) + 2)
        yield f"{number}. " + prose(remedy.do).replace("\n", "\n" + space)
        if remedy.run:
            yield from ("", fence(remedy.run, "sh", space), "")
        if remedy.why:
            yield from ("", space + "Why: " + prose(remedy.why).replace("\n", "\n" + space))
        if remedy.verify:
            yield from ("", space + "Verify: " + prose(remedy.verify).replace("\n", "\n" + space))


def _findings(findings: tuple[Finding, ...]) -> Iterator[str]:
    for finding in finding_order(findings):
        if finding.status in ("ok", "skipped"):
            missing = f" (not checked; missing: {plain(finding.missing)})" if finding.missing else ""
            yield f"- {finding.status}: {plain(finding.title)} ({code(finding.check)}){missing}"
            continue
        yield from (f"## {finding.status}: {plain(finding.title)} ({code(finding.check)})", "")
        if finding.message.strip():
            yield from (prose(finding.message), "")
        if finding.inputs:
            read = ", ".join(code(f"{name}={cut_end(one_line(value), 200)}") for name, value in finding.inputs[:20])
            yield from (f"Read: {read}", "")
        yield from steps(finding.suggestions)
        if finding.rule:
            yield from ("", f"Rule: {code('diagnose explain ' + finding.rule)}", "")


def _about(report: Report) -> Iterator[str]:
    """Versions and what of the input was read."""
    facts = fact_words(report.facts)
    yield "---"
    yield ""
    if facts:
        yield f"Deployment: {', '.join(plain(fact) for fact in facts)}  "
    words = coverage_words(report)
    if words:
        yield f"Input: {plain('; '.join(words))}  "
    hidden = redaction_words(report)
    if hidden:
        yield f"Redacted: {plain(hidden)}  "
    yield f"Diagnoser {plain(report.tool.version)}, {plural(report.tool.rules, 'rule')}"
