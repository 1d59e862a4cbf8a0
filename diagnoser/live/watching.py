"""When to speak about a log that goes on: once per incident, soon after its last line, never twice.

A block is taken as complete when its writer has been silent for `QUIET_SECONDS`; one that breaks off inside a
traceback gets `UNFINISHED_SECONDS`. Judged is when nothing new has come for `SETTLE_SECONDS`, so that blocks that
were written at the same time are seen together, but no later than `LONGEST_SECONDS` after the first of them. An
incident of which only the consequences have shown up waits for its root for `PATIENCE_SECONDS`.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Literal

from diagnoser.live.session import Session
from diagnoser.model import Incident, Report
from diagnoser.records import NamedTuple

if TYPE_CHECKING:
    from diagnoser.pipeline import Analysis

QUIET_SECONDS = 0.3
SETTLE_SECONDS = 0.3
LONGEST_SECONDS = 2.0
UNFINISHED_SECONDS = 3.0
PATIENCE_SECONDS = 4.0
FORGET_SECONDS = 30.0
"""Failures are forgotten when nothing new has come for so long: what comes then is an incident of its own."""


class Event(NamedTuple):
    """Something to say."""

    kind: Literal["new", "update", "repeat"]
    """`update`: a better root for what was told before."""
    report: Report
    """With this one incident."""
    times: int
    """How often it has happened since we watch."""

    @property
    def incident(self) -> Incident:
        """The incident that it is about."""
        return self.report.incidents[0]


class Watcher:
    """Asked now and then, says what is new."""

    def __init__(self, session: Session, *, runbook_url: str | None = None) -> None:
        self.session = session
        self._runbook_url = runbook_url
        self._orders: deque[tuple[float, int]] = deque()
        self._seen = 0
        self._counts: dict[str, int] = {}
        self._told: dict[str, int] = {}
        self._totals: dict[str, int] = {}
        self._held: dict[str, float] = {}
        self._roots: set[str] = set()
        self._crash_order: int | None = None
        self._changed = 0.0
        self._first_new: float | None = None

    def pass_over(self) -> list[Incident]:
        """Takes what the logs hold so far as known, and returns its incidents."""
        pipeline = self.session.pipeline
        analysis = pipeline.finish()
        self._seen = pipeline.seen
        incidents = list(analysis.incidents.incidents)
        self._counts = _counts(incidents)
        self._roots = set(self._counts)
        return incidents

    def look(self, now: float, *, final: bool = False) -> list[Event]:
        """What is to be said at the time `now` (seconds of any clock that runs evenly).

        `final` says that nothing will follow.
        """
        pipeline = self.session.pipeline
        self._orders.append((now, pipeline.order))
        if final:
            pipeline.flush()
        else:
            pipeline.flush(self._order_before(now - QUIET_SECONDS), self._order_before(now - UNFINISHED_SECONDS))
        while len(self._orders) > 2 and self._orders[1][0] <= now - UNFINISHED_SECONDS:
            self._orders.popleft()
        if not self._due(now, final=final):
            return []
        self._first_new = None
        return self._events(pipeline.finish(flush=final), now, final=final)

    def _due(self, now: float, *, final: bool) -> bool:
        """Whether it is time to judge."""
        seen = self.session.pipeline.seen
        if seen != self._seen:
            self._seen, self._changed = seen, now
            self._first_new = now if self._first_new is None else self._first_new
        if final or any(now >= until for until in self._held.values()):
            return True
        if self._first_new is None:
            self._tidy(now)
            return False
        return now - self._changed >= SETTLE_SECONDS or now - self._first_new >= LONGEST_SECONDS

    def _order_before(self, moment: float) -> int:
        """The reading order that was reached by then."""
        reached = -1
        for time, order in self._orders:
            if time > moment:
                break
            reached = order
        return reached

    def _events(self, analysis: Analysis, now: float, *, final: bool) -> list[Event]:
        incidents = analysis.incidents.incidents
        counts = _counts(incidents)
        self._note_start()
        events: list[Event] = []
        for incident in incidents:
            key = incident.fingerprint
            more = counts.pop(key, 0) - self._counts.get(key, 0)
            if more <= 0 or (_without_root(incident) and not self._may_tell(key, now, final=final)):
                continue
            self._held.pop(key, None)
            self._counts[key] = self._counts.get(key, 0) + more
            self._totals[key] = self._totals.get(key, 0) + more
            if incident.impact != "requests":
                self._crash_order = self.session.pipeline.order
            replaced = self._roots - {other.fingerprint for other in incidents}
            if key in self._told:
                if not _worth_telling(self._told[key], self._totals[key]):
                    continue
                kind: Literal["new", "update", "repeat"] = "repeat"
            else:
                kind = "update" if replaced & set(self._told) else "new"
            self._told[key] = self._totals[key]
            events.append(Event(kind, self._report(analysis, incident), self._totals[key]))
        self._roots = {incident.fingerprint for incident in incidents}
        return events

    def _may_tell(self, key: str, now: float, *, final: bool) -> bool:
        """Whether an incident without its root may be told of: not while the root may come, nor after it was told."""
        if self._crash_order is not None:
            self._held.pop(key, None)
            return False
        return final or now >= self._held.setdefault(key, now + PATIENCE_SECONDS)

    def _note_start(self) -> None:
        """After a new start, consequences are no longer those of the crash that was told."""
        starts = [moment.order for moment in self.session.pipeline.moments if moment.kind == "start"]
        if self._crash_order is not None and starts and starts[-1] > self._crash_order:
            self._crash_order = None

    def _tidy(self, now: float) -> None:
        pipeline = self.session.pipeline
        if pipeline.kept and now - self._changed > FORGET_SECONDS and not self._held:
            pipeline.forget()
        if pipeline.seen < self._seen:
            self._seen, self._counts, self._roots = pipeline.seen, {}, set()

    def _report(self, analysis: Analysis, incident: Incident) -> Report:
        outcome = analysis.incidents._replace(incidents=(incident,), stopped=False)
        return self.session.report(analysis._replace(incidents=outcome), runbook_url=self._runbook_url)


def _without_root(incident: Incident) -> bool:
    """True when only reports of another process's failure have come so far."""
    return incident.incomplete or bool(incident.fetch)


def _counts(incidents: list[Incident] | tuple[Incident, ...]) -> dict[str, int]:
    """How often each incident happened: once per run of the server, or once per failed request."""
    counts: dict[str, int] = {}
    for incident in incidents:
        times = incident.root.count if incident.impact == "requests" else 1
        counts[incident.fingerprint] = counts.get(incident.fingerprint, 0) + times
    return counts


def _worth_telling(told: int, total: int) -> bool:
    """True for the second and third time, then whenever the count has doubled."""
    return total <= 3 or total >= 2 * told
