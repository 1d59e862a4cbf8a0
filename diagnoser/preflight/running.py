"""Runs the checks over the cases of a request and makes the report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from diagnoser.errors import UsageError
from diagnoser.model import Coverage, Finding, Report, SourceInfo, ToolInfo
from diagnoser.preflight.arguments import Request, parse
from diagnoser.preflight.case import Case, Pair, labelled
from diagnoser.preflight.checks import is_part_of, subject_module, subject_names
from diagnoser.preflight.checks.log import PROVEN
from diagnoser.preflight.gathering import Gathered, gather
from diagnoser.preflight.inputs import ReadLog
from diagnoser.preflight.numbers import in_words

ORDER = ("config", "model", "parallel", "moe", "quantization", "memory", "kv-transfer", "mooncake", "pair", "together")
"""Subjects in the order of a launch, each with its parts (`moe`, `moe-routing`); others follow."""
_MOONCAKE_ONLY = ("mooncake", "memory")


def check(arguments: Sequence[str], read_log: ReadLog | None = None) -> Report:
    """The report of `diagnose check` for its command-line arguments.

    Raises UsageError or InputError as the command would exit with 2.
    """
    return run(parse(arguments), read_log)


def run(request: Request, read_log: ReadLog | None = None) -> Report:
    """The report of a request."""
    wanted = _subjects(request)
    gathered = gather(request, read_log)
    findings = tuple(_findings(gathered, wanted, request))
    if request.flag("strict"):
        findings = tuple(
            finding._replace(status="error") if finding.status == "warning" else finding for finding in findings
        )
    return report_of(findings, gathered)


def _subjects(request: Request) -> tuple[str, ...]:
    names = subject_names()
    only = request.many("only")
    for name in only:
        if name != "probe" and not any(is_part_of(subject, name) for subject in names):
            raise UsageError(f"there is no subject {name!r}; the subjects are {in_words(names, 'and')}")
    ordered = sorted(names, key=lambda subject: (_position(subject), subject))
    return tuple(subject for subject in ordered if not only or any(is_part_of(subject, name) for name in only))


def _position(subject: str) -> int:
    return next((number for number, name in enumerate(ORDER) if is_part_of(subject, name)), len(ORDER))


def _findings(gathered: Gathered, wanted: Sequence[str], request: Request) -> Iterator[Finding]:
    for label, case in gathered.cases:
        yield from labelled(_once(_case_findings(case, wanted)), label)
        if request.flag("probe"):
            from diagnoser.preflight.probes import probe_case

            yield from labelled(probe_case(case, float(request.values.get("timeout", 2.0))), label)
    if len(gathered.cases) > 1:
        for subject in wanted:
            for check_all in getattr(subject_module(subject), "GROUP_CHECKS", ()):
                yield from check_all(gathered.cases)
    if gathered.pair is not None:
        yield from _pair_findings(gathered.pair, wanted)


def _case_findings(case: Case, wanted: Sequence[str]) -> Iterator[Finding]:
    for subject in _fitting(case, wanted):
        for check_one in getattr(subject_module(subject), "CHECKS", ()):
            yield from check_one(case)


def _once(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Without what a log proves and another check found as well."""
    found = list(findings)
    others = {finding.rule for finding in found if finding.status == "error" and finding.check != PROVEN}
    return (finding for finding in found if finding.check != PROVEN or finding.rule not in others)


def _fitting(case: Case, wanted: Sequence[str]) -> list[str]:
    """Subjects that have something to look at: a Mooncake file alone says nothing about a model."""
    deployment = case.deployment
    nothing_else = not deployment.model and not deployment.options and case.model is None
    if nothing_else and case.store is not None:
        return [subject for subject in wanted if any(is_part_of(subject, name) for name in _MOONCAKE_ONLY)]
    return list(wanted)


def _pair_findings(pair: Pair, wanted: Sequence[str]) -> Iterator[Finding]:
    for subject in wanted:
        for check_both in getattr(subject_module(subject), "PAIR_CHECKS", ()):
            yield from check_both(pair)


def report_of(findings: tuple[Finding, ...], gathered: Gathered) -> Report:
    """The report of findings: `diagnosed` when there is an error, `healthy` otherwise."""
    from diagnoser import __version__

    errors = [finding for finding in findings if finding.status == "error"]
    names = dict.fromkeys(case.deployment.origin for _, case in gathered.cases)
    return Report(
        "diagnosed" if errors else "healthy",
        summary_of(findings),
        ToolInfo(__version__),
        tuple(SourceInfo(name, None, 0) for name in names),
        Coverage(),
        findings=findings,
    )


def summary_of(findings: Sequence[Finding]) -> str:
    """One sentence: how many checks said what, and the first error."""
    counts = {
        status: sum(finding.status == status for finding in findings)
        for status in ("error", "warning", "skipped", "ok")
    }
    if not findings:
        return "There was nothing to check."
    if not counts["error"]:
        rest = f", {counts['warning']} warning{'s' if counts['warning'] != 1 else ''}" if counts["warning"] else ""
        skipped = f", {counts['skipped']} not checked for want of input" if counts["skipped"] else ""
        return f"No check found an error ({counts['ok']} passed{rest}{skipped})."
    first = next(finding for finding in findings if finding.status == "error")
    more = f" ({counts['error']} errors in all.)" if counts["error"] > 1 else ""
    return f"This configuration would fail: {first.title}.{more}"
