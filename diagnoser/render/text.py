"""The report for a terminal, written for an engineer on call.

The first lines answer what failed first, where, why and how sure that is; the steps follow; what supports the
answer comes last. Nothing but what the JSON report holds is said.
"""

from __future__ import annotations

from collections.abc import Iterator

from diagnoser.model import Diagnosis, Failure, Incident, Report
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
from diagnoser.render._page import Page
from diagnoser.render._plain import columns, cut_end, one_line
from diagnoser.render._prepare import prepared
from diagnoser.render._words import (
    CONFIDENCE,
    IMPACT,
    NOT_IN_THIS_LOG,
    best,
    failure_label,
    fold_symptoms,
    frame_place,
    headline,
    is_told,
    place,
    plural,
    process_label,
    process_list,
    root_place,
    said,
    type_label,
    unknown_steps,
)

FULL_INCIDENTS = 3
"""Incidents that are shown whole; the others get one line each."""


def render(report: Report, options: RenderOptions) -> str:
    """The report in lines of `options.width` columns; commands and links are never broken."""
    report, page = prepared(report), Page(options)
    if options.verbosity < 0:
        return "".join(line + "\n" for line in _quiet(report))
    if report.findings:
        from diagnoser.render._findings import show_findings

        show_findings(page, report.findings)
    elif not report.incidents:
        _nothing(page, report)
    shown = len(report.incidents) if page.verbose else FULL_INCIDENTS
    for number, incident in enumerate(report.incidents[:shown], 1):
        page.gap()
        if len(report.incidents) > 1:
            page.section(f"Incident {number:,} of {len(report.incidents):,}")
            page.gap()
        _incident(page, incident, report)
    if report.incidents[shown:]:
        page.section(f"{plural(len(report.incidents) - shown, 'more incident')} (--verbose shows them whole)")
        for incident in report.incidents[shown:]:
            page.prose(_incident_line(incident), "  ", "    ")
    if report.incidents:
        _about(page, report)
    return page.text()


def _quiet(report: Report) -> Iterator[str]:
    """One line per incident or finding that needs attention; one line when there is none."""
    for incident in report.incidents:
        yield _incident_line(incident)
    for finding in finding_order(report.findings):
        if finding.status in ("error", "warning"):
            rule = f" [{one_line(finding.rule)}]" if finding.rule else ""
            yield f"{finding.status}: {one_line(finding.check)}: {one_line(finding.title)}{rule}"
    if not report.incidents and not any(finding.status in ("error", "warning") for finding in report.findings):
        yield finding_counts(report.findings) if report.findings else nothing_words(report)


def _incident_line(incident: Incident) -> str:
    """`worker.log:126: AssertionError in Worker_TP1: title (certain) [rule]`."""
    root, diagnosis = incident.root, best(incident)
    start = f"{place(root.source, root.line)}: {failure_label(root)} in {process_label(root.speaker)}"
    if diagnosis:
        return f"{start}: {one_line(diagnosis.title)} ({diagnosis.confidence}) [{one_line(diagnosis.rule)}]"
    why = "the root cause is not in this log" if incident.incomplete else "no rule explains it"
    return f"{start}: {why} [{one_line(incident.fingerprint)}]"


def _nothing(page: Page, report: Report) -> None:
    """A healthy log or an ordered shutdown: one line, and what could not be read."""
    read, *caveats = coverage_words(report) or ("",)
    page.prose(f"{nothing_words(report)} ({read})" if read else nothing_words(report), hanging="  ", meaning="good")
    for caveat in caveats:
        page.prose(caveat, "  ")


def _incident(page: Page, incident: Incident, report: Report) -> None:
    diagnosis = best(incident)
    _failure(page, incident)
    if incident.incomplete and incident.fetch:
        page.section("What to collect")
        for number, item in enumerate(incident.fetch, 1):
            page.prose(item, f"  {number}. ", "     ")
    if diagnosis:
        _cause(page, diagnosis)
        for other in incident.diagnoses[1:]:
            _alternative(page, other)
    elif not incident.incomplete:
        page.section("Cause: unknown")
        page.prose("No rule explains this failure. What is shown is what the log says, not a guess.", "  ")
        page.section("What to do")
        page.steps(unknown_steps(incident, report))
    if diagnosis:
        _evidence(page, diagnosis)
    if (not diagnosis or page.verbose) and incident.root.frames:
        _traceback(page, incident.root)
    _chain(page, incident)
    if incident.reasons:
        page.section("How this was decided" if incident.incomplete else "Why this is the first failure")
        for reason in incident.reasons:
            page.item(reason)
    _consequences(page, incident)
    if page.verbose or not diagnosis or diagnosis.confidence != "certain":
        _runners_up(page, incident)
    if page.verbose:
        _timeline(page, incident)
    _identity(page, incident, diagnosis)


def _failure(page: Page, incident: Incident) -> None:
    """What failed first: the lines that matter most."""
    root = incident.root
    if incident.incomplete:
        page.prose(f"{NOT_IN_THIS_LOG}; {IMPACT[incident.impact]}", hanging="  ", meaning="failure")
        page.prose(f"Nearest to it: {headline(incident)}", hanging="  ", meaning="heading")
    else:
        page.prose(f"{headline(incident)}: {IMPACT[incident.impact]}", hanging="  ", meaning="failure")
    if root.message.strip() and not is_told(root):
        page.log(said(root), "  ")
    for note in (root.exception.notes if root.exception else ())[: None if page.verbose else 3]:
        page.log(note, "  note: ")
    if root.frame:
        page.prose(f"at {frame_place(root.frame)}", "  ", "    ")
        if root.frame.code:
            page.log(root.frame.code, "      ", "code")
    page.prose(root_place(incident, 1000 if page.verbose else 4), "  ", "    ", "aside")


def _cause(page: Page, diagnosis: Diagnosis) -> None:
    lead = "Cause (certain)" if diagnosis.confidence == "certain" else f"{diagnosis.confidence.capitalize()} cause"
    page.section(f"{lead}: {one_line(diagnosis.title)}")
    if diagnosis.cause.strip():
        page.prose(diagnosis.cause.strip(), "  ")
    if diagnosis.confidence != "certain":
        page.prose(CONFIDENCE[diagnosis.confidence], "  ", meaning="doubt")
    if diagnosis.fixed_in:
        page.prose(f"Fixed in {one_line(diagnosis.fixed_in)}.", "  ")
    if diagnosis.remedies:
        page.section("What to do")
        page.steps(diagnosis.remedies)


def _alternative(page: Page, diagnosis: Diagnosis) -> None:
    page.section(f"Also {diagnosis.confidence}: {one_line(diagnosis.title)}")
    if page.verbose:
        page.prose(diagnosis.cause.strip(), "  ")
        page.steps(diagnosis.remedies)
        page.table((place(item.source, item.line), item.text) for item in diagnosis.evidence)
    page.prose(f"diagnose explain {one_line(diagnosis.rule)}", "  ", meaning="aside")


def _evidence(page: Page, diagnosis: Diagnosis) -> None:
    if diagnosis.evidence:
        page.section("Evidence")
        page.table((place(item.source, item.line), item.text) for item in diagnosis.evidence)


def _traceback(page: Page, root: Failure) -> None:
    page.section("Traceback of the failure, innermost call last")
    for frame in list(root.frames) if page.verbose else fold_frames(root.frames):
        if isinstance(frame, int):
            page.prose(f"... {plural(frame, 'call')} left out", "  ", meaning="aside")
            continue
        page.prose(frame_place(frame), "  ", "    ")
        if frame.code:
            page.log(frame.code, "      ")
    page.prose(cut_end(type_label(root.type, root.message), 400), "  ", "    ", "code")


def _chain(page: Page, incident: Incident) -> None:
    if not incident.chain:
        return
    page.section("How it was reported, outermost first")
    most = len(incident.chain) if page.verbose else 6
    for depth, link in enumerate(incident.chain[:most]):
        what = type_label(link.type, link.message)
        _rung(page, depth, process_label(link.process), what, place(link.source, link.line))
    if incident.chain[most:]:
        page.prose(f"... {plural(len(incident.chain) - most, 'more link')}", "  ", meaning="aside")
    root = incident.root
    mark = "" if incident.incomplete else " (the first failure)"
    where = place(root.source, root.line)
    _rung(page, min(most, len(incident.chain)), process_label(root.speaker), failure_label(root) + mark, where)


def _rung(page: Page, depth: int, process: str, what: str, where: str) -> None:
    """One link of the chain, on one line where it fits; deeper links stand further to the right."""
    start = "  " * (min(depth, 8) + 1) + f"{page.bullet} "
    room = page.width - columns(start) - columns(where) - columns(process) - 4
    if room >= 24:
        page.lines.append(f"{start}{process}: {cut_end(what, room)}  {page.style('aside', where)}")
    else:
        page.prose(f"{process}: {cut_end(what, 160)} {where}", start, " " * (columns(start) + 2))


def _consequences(page: Page, incident: Incident) -> None:
    groups = fold_symptoms(incident.symptoms)
    if not groups:
        return
    page.section("What merely followed")
    most = len(groups) if page.verbose else 5
    for group in groups[:most]:
        count = f"{group.total:,} x " if group.total > 1 else ""
        where = f"{process_list(group.processes, 2)}, first at {place(group.source, group.line)}"
        why = f" ({one_line(group.because)})" if group.because else ""
        page.item(f"{count}{cut_end(group.label, 160)} [{where}]{why}")
    if groups[most:]:
        rest = sum(group.total for group in groups[most:])
        page.item(f"{rest:,} more of {plural(len(groups) - most, 'other kind')}")


def _runners_up(page: Page, incident: Incident) -> None:
    if not incident.runners_up:
        return
    page.section("What else could look like the cause")
    most = len(incident.runners_up) if page.verbose else 3
    for runner in incident.runners_up[:most]:
        what = cut_end(type_label(runner.type, runner.message), 160)
        page.item(f"{what} [{process_label(runner.process)}, {place(runner.source, runner.line)}] {runner.why}")
    if incident.runners_up[most:]:
        page.item(f"{len(incident.runners_up) - most:,} more")


def _timeline(page: Page, incident: Incident) -> None:
    if not incident.timeline:
        return
    page.section("Timeline")
    page.table(
        (
            f"{entry.time or ''} {place(entry.source, entry.line)}",
            f"{process_label(entry.process)}: {entry.what}" + (" (the first failure)" if entry.kind == "root" else ""),
        )
        for entry in incident.timeline
    )


def _identity(page: Page, incident: Incident, diagnosis: Diagnosis | None) -> None:
    page.gap()
    if diagnosis:
        page.prose(f"Rule and runbook: diagnose explain {one_line(diagnosis.rule)}", hanging="  ", meaning="aside")
        if diagnosis.check:
            page.lines.append(page.style("aside", f"Before the next launch: {one_line(diagnosis.check)}"))
        for reference in diagnosis.references:
            page.prose(f"See: {reference.title} {reference.url}", hanging="  ", meaning="aside")
    page.prose(f"Fingerprint: {incident.fingerprint}", hanging="  ", meaning="aside")


def _about(page: Page, report: Report) -> None:
    """What is known of the deployment and of the input."""
    if page.verbose and report.facts:
        page.section("The deployment, as the log states it")
        page.table((f"{name} ({place(fact.source, fact.line)})", str(fact.value)) for name, fact in report.facts)
        page.gap()
    elif fact_words(report.facts):
        page.prose(f"Deployment: {', '.join(fact_words(report.facts))}", hanging="  ", meaning="aside")
    words = coverage_words(report)
    if words:
        page.prose(f"Input: {'; '.join(words)}", hanging="  ", meaning="aside" if len(words) == 1 else "doubt")
    hidden = redaction_words(report)
    if hidden:
        page.prose(f"Redacted: {hidden}", hanging="  ", meaning="aside")
