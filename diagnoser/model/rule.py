"""The catalogue's entries and what they say when they hold."""

from typing import TYPE_CHECKING, Literal, TypeAlias

from diagnoser.model.words import Confidence, Impact, Role, Severity, Status
from diagnoser.records import NamedTuple

if TYPE_CHECKING:
    Negated: TypeAlias = "Condition"
else:  # a type given as text would be compiled at each start
    Negated = tuple


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
    negate: Negated | None = None
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
