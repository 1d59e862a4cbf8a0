"""What part each failure plays: candidate for the root, wrapper, symptom, noise or a client's own error.

Rules say it (their `role`); this module applies them to a whole failure, which may hold a chain of exceptions of
which only some are wrappers, and picks the exception that the failure is about.
"""

from collections.abc import Mapping
from typing import Literal

from diagnoser.fingerprints import fingerprint
from diagnoser.lazy import lazy
from diagnoser.model import CONFIDENCES, Failure, Match, Rule
from diagnoser.model.words import LOUD
from diagnoser.records import NamedTuple

Part = Literal["candidate", "wrapper", "symptom", "noise", "client"]

DEPTHS = {"Worker": 5, "EngineCore": 4, "DPCoordinator": 3, "APIServer": 2, "launcher": 1, "raylet": 1}
"""Deeper processes fail first: a worker's failure surfaces in the engine core, then in the API server."""
_THREADED = (
    "Exception in thread",
    "Exception ignored",
    "Task exception was never",
    "Exception in callback",
    "Unhandled exception",
)

_ONE_REQUEST = lazy(r"completion stream generator|Exception in ASGI application")
"""Headers of what the server catches for one request, and answers. Source of the texts: vLLM 0.5 to 0.32, uvicorn."""


class Case(NamedTuple):
    """A failure with the rules that hold for it."""

    failure: Failure
    matches: tuple[Match, ...] = ()
    marks: frozenset[str] = frozenset()
    """Rules whose log pattern the header of the failure satisfies."""


class Played(NamedTuple):
    """A case and the part it plays."""

    case: Case
    part: Part
    causes: tuple[Match, ...]
    """Cause matches of the primary exception, best first; for wrappers and symptoms, the fallback ones."""
    roles: tuple[Match, ...]
    """Wrapper, symptom or noise matches that decided the part."""
    terminal: bool
    """True when the failure ended a process or is the report of one that ended."""
    loud: bool
    """False for what was logged as a warning or below: the program went on."""
    soft: bool = False
    """True for a wrapper that stands for itself because a cause rule explains it; real native evidence outweighs it."""
    innermost: bool = False
    """True for a wrapper whose true error no other process's exception can be: only a native line would tell more."""

    @property
    def failure(self) -> Failure:
        """The failure, its primary exception chosen."""
        return self.case.failure


def play(case: Case, rules: Mapping[str, Rule]) -> Played:
    """Decides the part of one failure."""
    failure, matches, marks = case
    loud = failure.level is None or failure.level in LOUD
    chosen, part, deciding = _choose(failure, matches, rules)
    soft = part == "candidate" and any(match.role == "wrapper" and match.exception == chosen for match in matches)
    if failure.exceptions:
        about = failure.exceptions[chosen]
        failure = failure._replace(
            primary=chosen, fingerprint=fingerprint("exception", about.type, about.message, about.frames)
        )
    causes = tuple(match for match in matches if match.role == "cause" and match.exception in (None, chosen))
    best = rules.get(causes[0].rule) if causes else None
    fatal = bool(failure.exceptions) and any(
        rule is not None and rule.points_to == "same-record" and rule.impact != "requests"
        for rule in map(rules.get, marks)
    )
    of_client = best is not None and best.severity == "client" and best.family == "request"
    if part == "candidate" and of_client and not fatal:
        part = "client"
    fatal = fatal or (part == "candidate" and best is not None and best.family == "process")
    return Played(
        Case(failure, matches, marks),
        part,
        causes,
        deciding,
        _terminal(failure, part, deciding, rules, loud=loud, fatal=fatal),
        loud,
        soft,
        part == "wrapper" and _native_line(deciding, rules),
    )


def _choose(
    failure: Failure, matches: tuple[Match, ...], rules: Mapping[str, Rule]
) -> tuple[int, Part, tuple[Match, ...]]:
    """The primary exception's index, the failure's part, and the matches that decided it."""
    if not failure.exceptions:
        part, because = _part_of([match for match in matches if match.exception is None])
        if (
            part == "wrapper"
            and _says_itself(because, rules)
            and any(name.startswith("inner") and text for name, text in because[0].captures)
        ):
            return -1, "candidate", because
        return -1, part, because
    last = len(failure.exceptions) - 1
    noise = tuple(match for match in matches if match.role == "noise" and match.exception in (None, last))
    if noise:
        return last, "noise", noise
    candidates: list[tuple[int, tuple[Match, ...]]] = []
    nearly: list[tuple[int, tuple[Match, ...]]] = []
    deciding: tuple[Match, ...] = ()
    outer_part: Part = "wrapper"
    for index in range(last + 1):
        own = [match for match in matches if match.exception == index]
        part, because = _part_of(own)
        causes = tuple(match for match in own if match.role == "cause")
        if part == "candidate":
            candidates.append((index, causes))
        elif part == "wrapper" and (_says_itself(because, rules) or (causes and _native_line(because, rules))):
            nearly.append((index, causes))
        else:
            deciding, outer_part = because, part
    if candidates or nearly:
        return _primary(failure, candidates or nearly), "candidate", ()
    explained = [match.exception for match in matches if match.role == "cause" and match.exception is not None]
    return min(explained, default=last), outer_part, deciding


def _part_of(matches: list[Match]) -> tuple[Part, tuple[Match, ...]]:
    for role in ("noise", "wrapper", "symptom"):
        found = tuple(match for match in matches if match.role == role)
        if found:
            return role, found
    return "candidate", ()


def _says_itself(matches: tuple[Match, ...], rules: Mapping[str, Rule]) -> bool:
    """True for a wrapper whose own record holds the error that it wraps (pydantic, argparse): there may be no other."""
    rule = rules.get(matches[0].rule)
    return rule is not None and rule.points_to == "same-record"


def _native_line(matches: tuple[Match, ...], rules: Mapping[str, Rule]) -> bool:
    """True for a wrapper whose true error is an un-prefixed line; that line may be missing while the text is clear."""
    rule = rules.get(matches[0].rule) if matches else None
    return rule is not None and rule.points_to == "native-line"


def _primary(failure: Failure, candidates: list[tuple[int, tuple[Match, ...]]]) -> int:
    """Which exception of a chain the failure is about.

    An exception that a rule explains beats one that none does; better confidence beats worse. Between equals
    the oldest wins, as what came later was raised because of it. Where one rule explains an exception and the one
    raised while handling it, the later wins: it says in the program's own words what the first one meant.
    """
    matched = [(index, causes[0]) for index, causes in candidates if causes]
    if matched:
        index, best = min(matched, key=lambda item: (CONFIDENCES.index(item[1].confidence), item[0]))
        for later, match in matched:
            handled = failure.exceptions[index].link == "context"
            if later > index and handled and (match.rule, match.confidence) == (best.rule, best.confidence):
                index = later
        return index
    substantial = [index for index, _ in candidates if failure.exceptions[index].type is not None]
    return (substantial or [candidates[0][0]])[0]


def _terminal(
    failure: Failure, part: Part, deciding: tuple[Match, ...], rules: Mapping[str, Rule], *, loud: bool, fatal: bool
) -> bool:
    if part in ("noise", "client") or not loud:
        return False
    if any(rule is not None and rule.impact == "requests" for rule in (rules.get(match.rule) for match in deciding)):
        return False
    if fatal or failure.kind in ("signal", "exit", "native"):
        return True
    if part in ("wrapper", "symptom"):
        handled = failure.kind == "message" and (failure.message or "").startswith(_THREADED)
        return not handled and (failure.kind != "message" or failure.level is not None)
    if failure.kind == "exception" and failure.level is None:
        return not failure.header.startswith(_THREADED)
    return failure.level in ("CRITICAL", "FATAL")


def of_one_request(item: Played) -> bool:
    """True for an exception that no rule explains and that the server caught for the request that it failed."""
    failure = item.failure
    if item.part != "candidate" or item.terminal or item.causes or failure.kind != "exception":
        return False
    return bool(failure.header) and _ONE_REQUEST.search(failure.header) is not None


def depth(failure: Failure) -> float:
    """How deep in the deployment the failure's process is."""
    role = failure.speaker.role
    if role is None:
        return 4.5 if failure.kind in ("signal", "native", "message") else 2.5
    if role == "kernel" and failure.kind == "message":
        return 4.5
    return float(
        DEPTHS.get(
            role,
            5 if failure.speaker.name and failure.exceptions and failure.exception and failure.exception.process else 3,
        )
    )
