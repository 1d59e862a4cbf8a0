"""The nouns of Diagnoser: plain values that the stages hand to each other.

Every type is a `typing.NamedTuple`: immutable, without a `__dict__`, cheap to make by the million and
cheap to define at start-up (a frozen dataclass costs ten times as much to define). Change one with
`value._replace(field=…)`. Nothing in this module imports anything of ours.

Lines are numbered from 1. Times are kept as the log printed them. Paths are kept as printed; `short_path`
gives the form that reports show.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

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


class RawLine(NamedTuple):
    """One physical line as it was read, without its line end."""

    text: str
    source: str
    number: int
    offset: int = 0
    """Bytes before the line in its (decompressed) source."""


class Process(NamedTuple):
    """Who wrote a line. Any part may be unknown; two values are equal when they name the same writer."""

    name: str | None = None
    """As printed, for example `Worker_TP1`."""
    role: str | None = None
    """`Worker`, `EngineCore`, `APIServer`, `launcher`, `raylet`, a Ray actor class, …"""
    pid: int | None = None
    host: str | None = None
    pod: str | None = None
    container: str | None = None
    ranks: tuple[tuple[str, int], ...] = ()
    """Sorted pairs such as `("tp", 1)`; keys: dp, pp, tp, ep, pcp, dcp, rank (the global rank)."""

    @property
    def known(self) -> bool:
        """True when anything at all is known of the writer."""
        return bool(self.name or self.pid is not None or self.role or self.ranks)


UNKNOWN_PROCESS = Process()


class LogRecord(NamedTuple):
    """One physical line after every prefix was taken off."""

    body: str
    source: str
    line: int
    process: Process = UNKNOWN_PROCESS
    time: str | None = None
    level: str | None = None
    """DEBUG, INFO, WARNING, ERROR, CRITICAL or FATAL; None when the line states none."""
    site: str | None = None
    """The logger's place as printed, for example `multiproc_executor.py:597`."""
    format: str = "plain"
    """Name of the innermost envelope that was taken off."""
    repeated: int = 1
    """How many equal lines this one stands for (Ray's `[repeated 3x across cluster]`)."""
    prefixed: bool = False
    """True when an envelope named the writer or the level; False for bare text."""
    outer: tuple[Process, ...] = ()
    """Writers named by outer prefixes, outermost first (`(EngineCore …) (RayWorkerWrapper …)`)."""


class Frame(NamedTuple):
    """One entry of a traceback."""

    path: str
    line: int | None
    function: str | None
    code: str | None = None
    """The source text of the entry, lines joined by a newline; None when the log shows none."""
    log_line: int | None = None
    """Where the entry stands in the log."""

    @property
    def file(self) -> str:
        """The path from its package on (`vllm/…`)."""
        return short_path(self.path)


class ExceptionInfo(NamedTuple):
    """One exception as printed."""

    type: str | None
    """As printed, with its module if printed; None for a traceback whose end is missing."""
    message: str = ""
    """All lines joined by a newline."""
    frames: tuple[Frame, ...] = ()
    """Outermost first."""
    notes: tuple[str, ...] = ()
    link: LinkKind | None = None
    """How this exception leads to the NEXT one of the chain (the chain is in printed order, oldest first)."""
    process: Process | None = None
    """The writer, where it differs from the failure's own (the remote half of a RayTaskError)."""
    line: int = 0
    end_line: int = 0

    @property
    def frame(self) -> Frame | None:
        """The frame that raised."""
        return self.frames[-1] if self.frames else None

    @property
    def short_type(self) -> str | None:
        """The type without its module."""
        return self.type.rsplit(".", 1)[-1] if self.type else None


class Failure(NamedTuple):
    """Something that went wrong in one process."""

    kind: FailureKind
    process: Process
    source: str
    line: int
    end_line: int
    order: int = 0
    """Position in reading order over all sources."""
    time: str | None = None
    level: str | None = None
    site: str | None = None
    header: str = ""
    """Text of the log record that introduced it (`WorkerProc hit an exception.`); empty for bare text."""
    exceptions: tuple[ExceptionInfo, ...] = ()
    """Oldest first; the last one is what the process reported. Empty for kinds without exceptions."""
    primary: int = -1
    """Index in `exceptions` of the one this failure is about; -1 takes the last."""
    text: str = ""
    """What failed, in the log's words, for kinds without exceptions (all lines)."""
    name: str | None = None
    """Type-like word for kinds without exceptions: a signal (`SIGSEGV`), an exit (`exit code 1`), or None."""
    native_frames: tuple[Frame, ...] = ()
    """Frames of a native backtrace or faulthandler dump, outermost first."""
    outer: tuple[Process, ...] = ()
    fingerprint: str = ""
    count: int = 1  # type: ignore[assignment]  # hides tuple.count, which nothing here needs
    """How many equal failures of the same process this one stands for."""
    quoted: bool = False
    """True when it is known only from the text that another process quoted."""
    last: int | None = None
    """Reading order of the last of the equal failures that this one stands for."""

    @property
    def exception(self) -> ExceptionInfo | None:
        """The exception this failure is about."""
        return self.exceptions[self.primary] if self.exceptions else None

    @property
    def type(self) -> str | None:
        """Exception type as printed; the signal's or exit's name otherwise."""
        found = self.exception
        return found.type if found else self.name

    @property
    def message(self) -> str:
        """The whole message."""
        found = self.exception
        return found.message if found else self.text

    @property
    def frames(self) -> tuple[Frame, ...]:
        """Outermost first."""
        found = self.exception
        return found.frames if found else self.native_frames

    @property
    def frame(self) -> Frame | None:
        """The frame that raised."""
        found = self.frames
        return found[-1] if found else None

    @property
    def speaker(self) -> Process:
        """Where the primary exception happened."""
        found = self.exception
        return (found.process if found else None) or self.process


class Condition(NamedTuple):
    """One alternative of a rule; every key that is given must hold."""

    confidence: Confidence = "certain"
    exception: str | None = None
    message: str | None = None
    code: str | None = None
    frame: str | None = None
    any_frame: str | None = None
    log: str | None = None
    near: Literal["process", "anywhere"] = "process"
    fact: tuple[tuple[str, str], ...] = ()
    negate: Condition | None = None
    """The keys of `not`: none of them may hold."""


class Remedy(NamedTuple):
    """One step towards a working deployment."""

    do: str
    run: str | None = None
    verify: str | None = None
    why: str | None = None


class Reference(NamedTuple):
    """Where a reader finds more."""

    title: str
    url: str


class Sample(NamedTuple):
    """A piece of log that a rule must, or must not, match."""

    expect: Literal["match", "no-match"]
    log: str


class Rule(NamedTuple):
    """One entry of the catalogue."""

    id: str
    title: str
    role: Role
    family: str
    severity: Severity | None = None
    status: Status = "draft"
    matches: tuple[Condition, ...] = ()
    cause: str = ""
    """A Jinja2 template."""
    remedies: tuple[Remedy, ...] = ()
    references: tuple[Reference, ...] = ()
    samples: tuple[Sample, ...] = ()
    outranks: tuple[str, ...] = ()
    fetch: str | None = None
    """Wrapper and symptom rules: what to collect when the root is not in this log."""
    points_to: str | None = None
    """Wrapper rules that quote nothing: worker, engine-core, other-host, native-line or same-record."""
    impact: Impact | None = None
    """Overrides the computed impact (a symptom rule of hangs says `hang`)."""
    applies: tuple[tuple[str, str], ...] = ()
    """Pairs of package and version range, for example `("vllm", ">=0.6")`."""
    fixed_in: str | None = None
    check: str | None = None
    """Subject of `diagnose check` that would have found it before launch."""
    path: str = ""
    """Where the rule was read from."""


class Evidence(NamedTuple):
    """A line of the log that a statement rests on."""

    source: str
    line: int
    text: str


class Match(NamedTuple):
    """A rule that held for a failure."""

    rule: str
    role: Role
    confidence: Confidence
    captures: tuple[tuple[str, str], ...] = ()
    evidence: tuple[Evidence, ...] = ()
    exception: int | None = None
    """Index in the failure's `exceptions` that it held for; None for kinds without exceptions."""


class Fact(NamedTuple):
    """Something the log says about the deployment."""

    value: str | int | float | bool
    source: str
    line: int


Facts = Mapping[str, Fact]


class ChainLink(NamedTuple):
    """One wrapper around the root."""

    link: LinkKind
    type: str | None
    message: str
    process: Process
    source: str
    line: int
    rule: str | None = None


class Symptom(NamedTuple):
    """Something that merely followed from the root."""

    type: str | None
    message: str
    process: Process
    source: str
    line: int
    count: int  # type: ignore[assignment]  # hides tuple.count, which nothing here needs
    because: str
    """The rule id, or the reason in words."""


class TimelineEntry(NamedTuple):
    """One event of an incident."""

    time: str | None
    process: Process
    what: str
    source: str
    line: int
    kind: EntryKind = "symptom"


class RunnerUp(NamedTuple):
    """A failure that was not taken for the root, and why."""

    type: str | None
    message: str
    process: Process
    source: str
    line: int
    why: str


class Diagnosis(NamedTuple):
    """A cause rule applied to an incident; every text is filled in."""

    rule: str
    title: str
    severity: Severity | None
    confidence: Confidence
    cause: str
    captures: tuple[tuple[str, str], ...] = ()
    evidence: tuple[Evidence, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    references: tuple[Reference, ...] = ()
    fixed_in: str | None = None
    runbook: str | None = None
    check: str | None = None
    """The `diagnose check` command line that would have found it before launch."""


class Incident(NamedTuple):
    """One outage."""

    root: Failure
    impact: Impact
    fingerprint: str
    chain: tuple[ChainLink, ...] = ()
    """Outermost wrapper first; the root itself is not in it."""
    symptoms: tuple[Symptom, ...] = ()
    also_on: tuple[Process, ...] = ()
    reasons: tuple[str, ...] = ()
    timeline: tuple[TimelineEntry, ...] = ()
    runners_up: tuple[RunnerUp, ...] = ()
    matches: tuple[Match, ...] = ()
    """Cause matches of the root, best first."""
    diagnoses: tuple[Diagnosis, ...] = ()
    incomplete: bool = False
    """True when the root shown is only the nearest thing to a root that this log holds."""
    fetch: tuple[str, ...] = ()
    """What to collect, when incomplete."""


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


_PACKAGE_ROOTS = ("site-packages/", "dist-packages/")
_CHECKOUT_PACKAGES = (
    "vllm",
    "mooncake",
    "torch",
    "ray",
    "sglang",
    "lmcache",
    "transformers",
    "triton",
    "deep_gemm",
    "deep_ep",
    "flashinfer",
)


def short_path(path: str) -> str:
    """The path as reports show it: from the package on, inside site-packages, dist-packages or a source checkout."""
    slashed = path.replace("\\", "/")
    for root in _PACKAGE_ROOTS:
        at = slashed.rfind(root)
        if at >= 0:
            return slashed[at + len(root) :]
    if slashed.startswith("/"):
        for package in _CHECKOUT_PACKAGES:
            at = slashed.find(f"/{package}/{package}/")
            if at >= 0:
                return slashed[at + len(package) + 2 :]
            at = slashed.find(f"/{package}/")
            if at >= 0 and "/lib/python" not in slashed:
                return slashed[at + 1 :]
    return path
