"""What is rendered, and what it says of the deployment and of its own input."""

from collections.abc import Mapping

from diagnoser.model.incident import Incident
from diagnoser.model.rule import Remedy
from diagnoser.model.words import FindingStatus, Verdict
from diagnoser.records import NamedTuple


class Fact(NamedTuple):
    """Something the log says about the deployment."""

    value: str | int | float | bool
    source: str
    line: int


Facts = Mapping[str, Fact]


class Finding(NamedTuple):
    """The result of one preflight check."""

    status: FindingStatus
    check: str
    """Name of the check, kebab-case."""
    title: str
    rule: str | None = None
    message: str = ""
    inputs: tuple[tuple[str, str], ...] = ()
    """What was read: pairs of name and value as text."""
    suggestions: tuple[Remedy, ...] = ()
    missing: str | None = None
    """Skipped checks: the input that was not given."""
    runbook: str | None = None


class SourceInfo(NamedTuple):
    """One input as it was read."""

    name: str
    lines: int | None
    """None when healthy stretches were skipped without counting their lines."""
    bytes: int
    formats: tuple[str, ...] = ()


class Coverage(NamedTuple):
    """What of the input was looked at."""

    lines_read: int = 0
    lines_skipped: int | None = 0
    """None when healthy stretches were skipped without counting their lines."""
    lines_cut: int = 0
    undecodable_bytes: int = 0
    notes: tuple[str, ...] = ()


class ToolInfo(NamedTuple):
    """Which tool and catalogue made a report."""

    version: str
    rules: int = 0
    catalogue: str = ""


class Report(NamedTuple):
    """What is rendered."""

    verdict: Verdict
    summary: str
    tool: ToolInfo
    sources: tuple[SourceInfo, ...] = ()
    coverage: Coverage = Coverage()
    facts: tuple[tuple[str, Fact], ...] = ()
    incidents: tuple[Incident, ...] = ()
    findings: tuple[Finding, ...] = ()
    redactions: tuple[tuple[str, int], ...] = ()
    """Pairs of kind and how many different values of it were hidden."""

    @property
    def exit_code(self) -> int:
        """0 no failure, 1 diagnosed, 3 unknown or incomplete (see the README)."""
        if self.verdict in ("unknown", "incomplete"):
            return 3
        if self.incidents or any(finding.status == "error" for finding in self.findings):
            return 1
        return 0
