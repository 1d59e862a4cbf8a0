"""Makes the report: diagnoses with their texts filled in, the verdict, and one sentence that sums it up.

Templates are filled by the functions that the pipeline hands in, so that this stage knows no other.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from diagnoser.model import (
    Coverage,
    Diagnosis,
    Facts,
    Failure,
    Incident,
    Match,
    Remedy,
    Report,
    Rule,
    SourceInfo,
    ToolInfo,
    Verdict,
)
from diagnoser.records import NamedTuple

MAX_DIAGNOSES = 4
Fill = Callable[[str, Mapping[str, Any]], "str | None"]
"""Fills a template; None when a value that it needs is missing."""
Compare = Callable[[str, str], "int | None"]
"""Compares two versions; None when either is none."""


class Texts(NamedTuple):
    """What the report stage needs from others."""

    fill: Fill
    compare: Compare
    runbook_url: str | None = None
    """Template with `{rule}`."""
    fill_command: Fill | None = None
    """Fills a command for a shell, in which a value must be quoted or need no quoting; `fill` where not given."""


def build(
    incidents: Sequence[Incident],
    *,
    stopped: bool,
    rules: Mapping[str, Rule],
    facts: Facts,
    sources: Sequence[SourceInfo],
    coverage: Coverage,
    tool: ToolInfo,
    texts: Texts,
) -> Report:
    """The report of a log."""
    done = tuple(incident._replace(diagnoses=diagnoses_of(incident, rules, facts, texts)) for incident in incidents)
    verdict = _verdict(done, stopped=stopped)
    return Report(
        verdict, _summary(done, verdict, coverage), tool, tuple(sources), coverage, tuple(sorted(facts.items())), done
    )


def diagnoses_of(incident: Incident, rules: Mapping[str, Rule], facts: Facts, texts: Texts) -> tuple[Diagnosis, ...]:
    """The cause rules that hold for the root, best first."""
    found: list[Diagnosis] = []
    beaten: set[str] = set()
    for match in incident.matches:
        rule = rules.get(match.rule)
        if rule is None or rule.id in beaten or any(diagnosis.rule == rule.id for diagnosis in found):
            continue
        beaten.update(rule.outranks)
        found.append(_diagnosis(rule, match, incident.root, facts, texts))
    found = [diagnosis for diagnosis in found if diagnosis.rule not in beaten]
    if found and found[0].confidence == "certain":
        found = [diagnosis for diagnosis in found if diagnosis.confidence != "possible"]
    return tuple(found[:MAX_DIAGNOSES])


def _diagnosis(rule: Rule, match: Match, root: Failure, facts: Facts, texts: Texts) -> Diagnosis:
    variables = _variables(match, root, facts)
    remedies = [filled for remedy in rule.remedies if (filled := _remedy(remedy, variables, texts)) is not None]
    fixed_in = rule.fixed_in or None
    stated = facts.get("vllm_version")
    if fixed_in and stated is not None and texts.compare(str(stated.value), fixed_in) == -1:
        remedies.insert(
            0,
            Remedy(
                f"Upgrade vLLM to {fixed_in} or later; this log says {stated.value}.",
                f"pip install -U 'vllm>={fixed_in}'",
                "The start-up banner shows the new version.",
                "The defect is fixed there.",
            ),
        )
    cause = texts.fill(rule.cause, variables)
    runbook = texts.runbook_url.replace("{rule}", rule.id) if texts.runbook_url else None
    return Diagnosis(
        rule.id,
        (texts.fill(rule.title, variables) or rule.title).strip(),
        rule.severity,
        match.confidence,
        (cause or rule.title).strip(),
        match.captures,
        match.evidence,
        tuple(remedies),
        rule.references,
        fixed_in,
        runbook,
        _check_command(root.source) if rule.check else None,
    )


def _variables(match: Match, root: Failure, facts: Facts) -> dict[str, Any]:
    speaker = root.speaker
    variables: dict[str, Any] = dict(match.captures)
    variables["facts"] = {name: fact.value for name, fact in facts.items()}
    variables["failure"] = {
        "type": root.type or "",
        "message": root.message,
        "process": speaker.name or speaker.role or "",
        "host": speaker.host or "",
        "rank": dict(speaker.ranks).get("rank", ""),
        "pid": speaker.pid or "",
    }
    return variables


def _check_command(source: str) -> str:
    from shlex import quote

    return f"diagnose check --from-log {quote(source)}"


def _remedy(remedy: Remedy, variables: Mapping[str, Any], texts: Texts) -> Remedy | None:
    """The step with its texts filled in; a command whose values are missing is dropped, a step without words too."""
    do = texts.fill(remedy.do, variables)
    if do is None or not do.strip():
        return None
    run = (texts.fill_command or texts.fill)(remedy.run, variables) if remedy.run else None
    others = [texts.fill(text, variables) if text else None for text in (remedy.verify, remedy.why)]
    return Remedy(do.strip(), *(part.strip() or None if part else None for part in (run, *others)))


def _verdict(incidents: Sequence[Incident], *, stopped: bool) -> Verdict:
    if not incidents:
        return "shutdown" if stopped else "healthy"
    first = incidents[0]
    if first.impact == "requests" and stopped:
        return "shutdown"
    if first.incomplete:
        return "incomplete"
    return "diagnosed" if first.diagnoses else "unknown"


def _summary(incidents: Sequence[Incident], verdict: Verdict, coverage: Coverage) -> str:
    if not incidents:
        if verdict == "shutdown":
            return "No failure: the deployment was told to stop and did."
        return "No failure found." if coverage.lines_read else "The input is empty."
    first = incidents[0]
    root = first.root
    where = root.speaker.name or root.speaker.role
    what = root.type or (root.message.split("\n", 1)[0][:120] if root.message else root.kind)
    place = f" in {where}" if where else ""
    more = f" ({len(incidents)} incidents in all.)" if len(incidents) > 1 else ""
    if verdict == "incomplete":
        return f"The original failure is not in this log; the nearest report is {what}{place}.{more}"
    if first.impact == "requests":
        lead = f"Requests failed while the server stayed up: {what}{place}"
    else:
        lead = f"{what}{place}"
    if first.diagnoses:
        best = first.diagnoses[0]
        return f"{lead}: {best.title} ({best.confidence}).{more}"
    return f"{lead}: no rule explains it.{more}"
