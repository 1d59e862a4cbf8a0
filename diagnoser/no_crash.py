"""Incidents of a run that no failure ended: a wait without end, workers left alone, refused requests, an excerpt.

Part of the incident stage; `incidents` asks for them where it finds no crash.
"""

from collections.abc import Mapping, Sequence

from diagnoser.lifecycle import Moment
from diagnoser.model import CONFIDENCES, Impact, Rule
from diagnoser.picking import Picked, is_native
from diagnoser.records import NamedTuple
from diagnoser.roles import Played, depth, of_one_request

_EXCERPT_LINES = 30
"""A text without any sign of a start, of work or of an end is taken for an excerpt up to this length."""
_QUIET_LINES = 3
"""Lines that may follow the last wait of a hang."""


class Found(NamedTuple):
    """A root, what belongs to it, and the impact, None where that is what a crash would have."""

    picked: Picked
    cases: list[Played]
    impact: Impact | None


def quiet_end(
    cases: Sequence[Played], moments: Sequence[Moment], rules: Mapping[str, Rule], last: int | None
) -> Found | None:
    """An end that no failure reports: a wait that never ends, or workers whose parent is gone without an order.

    `last` is the reading order of the last line.
    """
    quiet = [item for item in cases if item.part == "symptom" and item.causes and not item.terminal]
    waits = [item for item in quiet if any(_waits(match.rule, rules) for match in item.roles)]
    if waits and last is not None and _never_ends(waits, moments, last):
        reason = "The log ends while a process waits for another that says nothing; no process reports a failure."
        return Found(Picked(waits[0], [reason]), waits, "hang")
    orphans = [item for item in quiet if item not in waits]
    if orphans and not any(moment.kind in ("served", "stop") for moment in _after(orphans[0], moments)):
        reason = (
            "Workers stopped because their parent was gone; nothing ordered that, and no process reports a failure."
        )
        return Found(Picked(orphans[0], [reason]), orphans, None)
    return None


def _never_ends(waits: Sequence[Played], moments: Sequence[Moment], last: int) -> bool:
    latest = max(item.failure.last or item.failure.order for item in waits)
    repeated = sum(item.failure.count for item in waits) >= 2
    return repeated and latest >= last - _QUIET_LINES and not _after(waits[0], moments)


def _after(item: Played, moments: Sequence[Moment]) -> list[Moment]:
    return [moment for moment in moments if moment.order > item.failure.order]


def _waits(rule_id: str, rules: Mapping[str, Rule]) -> bool:
    rule = rules.get(rule_id)
    return rule is not None and rule.role == "symptom" and rule.impact == "hang"


def excerpt(
    cases: list[Played], moments: Sequence[Moment], rules: Mapping[str, Rule], last: int | None
) -> Found | None:
    """A few lines that somebody asks about: of these, a warning that a rule explains is the answer.

    A wait in vain for another process is the answer too, if only that: it says whose log to fetch.
    """
    if last is None or last > _EXCERPT_LINES or moments:
        return None
    told = [item for item in cases if item.part == "candidate" and item.causes]
    told = [item for item in told if item.causes[0].confidence != "possible"]
    if not told:
        return _waited(cases, rules)
    best = min(told, key=lambda item: (CONFIDENCES.index(item.causes[0].confidence), item.failure.order))
    reason = "These few lines do not show what came of it; this is the one that a rule explains."
    return Found(Picked(best, [reason]), cases, "startup")


def _waited(cases: list[Played], rules: Mapping[str, Rule]) -> Found | None:
    """The first report of a wait in vain that a program printed as an error or without any level."""
    waits = [item for item in cases if item.loud and any(_waits(match.rule, rules) for match in item.roles)]
    if not waits:
        return None
    reason = "These few lines only show what follows from the failure of another process."
    return Found(Picked(waits[0], [reason], incomplete=True), cases, None)


def refused_requests(cases: Sequence[Played], moments: Sequence[Moment], rules: Mapping[str, Rule]) -> Found | None:
    """Requests that the server refused while it stayed up, as the server or the process that failed them says."""
    loud = [item for item in cases if item.loud and item.part != "client" and not item.terminal]
    refused = any(moment.kind == "refused" for moment in moments)
    told = refused or any(_fails_requests(item, rules) or _is_the_last(item, moments) for item in loud)
    if not told:
        return None
    candidates = [
        item
        for item in loud
        if item.part == "candidate" and (item.causes or item.roles or item.failure.kind == "exception")
    ]
    wrappers = [item for item in loud if item.part == "wrapper"]
    chosen = candidates or _native_reason(cases, moments, wrappers, rules) or wrappers
    if not chosen:
        return None
    root = min(chosen, key=lambda item: (not item.causes, -depth(item.failure), item.failure.order))
    incomplete = root.part == "wrapper" and not root.causes
    return Found(Picked(root, ["The server stayed up; only requests failed."], incomplete), loud, "requests")


def _is_the_last(item: Played, moments: Sequence[Moment]) -> bool:
    """True for a request that failed when no other was answered after it: what somebody asks about."""
    return of_one_request(item) and not any(moment.kind == "served" for moment in _after(item, moments))


def _fails_requests(item: Played, rules: Mapping[str, Rule]) -> bool:
    """True for a wrapper that tells of failed requests itself: a worker's log holds no answers of the server."""
    told = (rules.get(match.rule) for match in item.roles)
    return item.part == "wrapper" and any(
        rule is not None and rule.impact == "requests" and rule.points_to in ("native-line", "other-host")
        for rule in told
    )


def _native_reason(
    cases: Sequence[Played], moments: Sequence[Moment], wrappers: Sequence[Played], rules: Mapping[str, Rule]
) -> list[Played]:
    """The native line that a wrapper without a text of its own points to: native code logs some reasons as INFO."""
    pointing = [
        item
        for item in wrappers
        if any(getattr(rules.get(match.rule), "points_to", None) == "native-line" for match in item.roles)
    ]
    if not pointing:
        return []
    first = pointing[0].failure.order
    since = max((moment.order for moment in moments if moment.order < first), default=-1)
    return [
        item
        for item in cases
        if item.part == "candidate" and item.causes and is_native(item) and since < item.failure.order < first
    ]
