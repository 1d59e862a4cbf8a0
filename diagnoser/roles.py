"""What part each failure plays: candidate for the root, wrapper, symptom, noise or a client's own error.

Rules say it (their `role`); this module applies them to a whole failure, which may hold a chain of exceptions of
which only some are wrappers, and picks the exception that the failure is about.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from diagnoser.fingerprints import fingerprint
from diagnoser.model import CONFIDENCES, Failure, Match, Rule

Part = Literal["candidate", "wrapper", "symptom", "noise", "client"]

DEPTHS = {"Worker": 5, "EngineCore": 4, "DPCoordinator": 3, "APIServer": 2, "launcher": 1, "raylet": 1}
"""Deeper processes fail first: a worker's failure surfaces in the engine core, then in the API server."""
_LOUD = frozenset({"ERROR", "CRITICAL", "FATAL"})
_THREADED = ("Exception in thread", "Exception ignored", "Task exception was never", "Exception in callback", "Unhandled exception")


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

    @property
    def failure(self) -> Failure:
        """The failure, its primary exception chosen."""
        return self.case.failure


def play(case: Case, rules: Mapping[str, Rule]) -> Played:
    """Decides the part of one failure."""
    failure, matches, marks = case
    loud = failure.level is None or failure.level in _LOUD
    chosen, part, deciding = _choose(failure, matches)
    if failure.exceptions:
        about = failure.exceptions[chosen]
        failure = failure._replace(
            primary=chosen, fingerprint=fingerprint("exception", about.type, about.message, about.frames)
        )
    causes = tuple(match for match in matches if match.role == "cause" and match.exception in (None, chosen))
    if part == "candidate" and causes and rules.get(causes[0].rule) and rules[causes[0].rule].severity == "client":
        part = "client"
    fatal = any(rule is not None and rule.points_to == "same-record" for rule in map(rules.get, marks))
    return Played(Case(failure, matches, marks), part, causes, deciding, _terminal(failure, part, deciding, rules, loud=loud, fatal=fatal), loud)


def _choose(failure: Failure, matches: tuple[Match, ...]) -> tuple[int, Part, tuple[Match, ...]]:
    """The primary exception's index, the failure's part, and the matches that decided it."""
    whole = [match for match in matches if match.exception is None]
    if not failure.exceptions:
        return -1, *_part_of(whole)
    noise = tuple(m for m in matches if m.role == "noise" and m.exception in (None, len(failure.exceptions) - 1))
    if noise:
        return len(failure.exceptions) - 1, "noise", noise
    candidates: list[tuple[int, tuple[Match, ...]]] = []
    deciding: tuple[Match, ...] = ()
    outer_part: Part = "wrapper"
    for index in range(len(failure.exceptions)):
        own = [match for match in matches if match.exception == index]
        part, because = _part_of(own)
        if part == "candidate":
            candidates.append((index, tuple(m for m in own if m.role == "cause")))
        else:
            deciding, outer_part = because, part
    if not candidates:
        return len(failure.exceptions) - 1, outer_part, deciding
    return _primary(failure, candidates), "candidate", ()


def _part_of(matches: list[Match]) -> tuple[Part, tuple[Match, ...]]:
    for role in ("noise", "wrapper", "symptom"):
        found = tuple(match for match in matches if match.role == role)
        if found:
            return role, found  # type: ignore[return-value]
    return "candidate", ()


def _primary(failure: Failure, candidates: list[tuple[int, tuple[Match, ...]]]) -> int:
    """Which exception of a chain the failure is about.

    An exception that a rule explains beats one that none does; better confidence beats worse. Between equals
    the oldest wins, as what came later was raised because of it, or while handling it.
    """
    matched = [(index, causes) for index, causes in candidates if causes]
    if matched:
        return min(matched, key=lambda item: (CONFIDENCES.index(item[1][0].confidence), item[0]))[0]
    substantial = [index for index, _ in candidates if failure.exceptions[index].type is not None]
    return (substantial or [candidates[0][0]])[0]


def _terminal(
    failure: Failure, part: Part, deciding: tuple[Match, ...], rules: Mapping[str, Rule], *, loud: bool, fatal: bool
) -> bool:
    if part in ("noise", "client") or not loud:
        return False
    if any(rule is not None and rule.impact == "requests" for rule in (rules.get(match.rule) for match in deciding)):
        return False
    if fatal or failure.kind in ("signal", "exit", "native") or part in ("wrapper", "symptom"):
        return True
    if failure.kind == "exception" and failure.level is None:
        return not failure.header.startswith(_THREADED)
    return failure.level in ("CRITICAL", "FATAL")


def depth(failure: Failure) -> float:
    """How deep in the deployment the failure's process is."""
    role = failure.speaker.role
    if role is None:
        return 4.5 if failure.kind in ("signal", "native") or failure.kind == "message" else 2.5
    return float(DEPTHS.get(role, 5 if failure.speaker.name and failure.exceptions and failure.exception
                            and failure.exception.process else 3))
