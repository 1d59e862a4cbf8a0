"""An outage: the root, what surrounds it, and why it is the root."""


from diagnoser.model.failure import Failure
from diagnoser.model.log import Process
from diagnoser.model.rule import Evidence, Match, Reference, Remedy
from diagnoser.model.words import Confidence, EntryKind, Impact, LinkKind, Severity
from diagnoser.records import NamedTuple


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
