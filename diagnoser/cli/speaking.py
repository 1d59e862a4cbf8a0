"""How incidents of a log that goes on are told: in full once, then counted."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from diagnoser.cli.settings import Settings, catalogue_of, deliver
from diagnoser.records import NamedTuple

if TYPE_CHECKING:
    from diagnoser.live.inputs import Input
    from diagnoser.live.watching import Event
    from diagnoser.model import Incident, Report


class Wishes(NamedTuple):
    """What is to be done with what is found."""

    exit_on_crash: bool = False
    from_start: bool = True
    """False: what the logs held before we came is not told."""
    on_crash: str | None = None
    """A command that gets the JSON report."""


def watch(source: Input, settings: Settings, wishes: Wishes) -> int:
    """Watches until the input ends or a crash was told; returns the exit status."""
    from diagnoser.live.inputs import Stop
    from diagnoser.live.session import Session
    from diagnoser.live.watching import Watcher

    session = Session(lambda: catalogue_of(settings))
    watcher = Watcher(session, runbook_url=settings.runbook_url)
    speaker = _Speaker(settings, wishes)
    passed_over = wishes.from_start

    def tick() -> None:
        nonlocal passed_over
        if not passed_over:
            passed_over = True
            speaker.old(watcher.pass_over())
        speaker.tell(watcher.look(time.monotonic()))

    try:
        source.feed(session, tick)
        speaker.tell(watcher.look(time.monotonic(), final=True))
    except Stop:
        return speaker.status
    except KeyboardInterrupt:
        return 130
    if not any(stream.bytes for stream in session.streams.values()):
        from diagnoser.cli.diagnosing import say_empty

        say_empty(list(session.streams))
        return 2
    return speaker.status


class _Speaker:
    def __init__(self, settings: Settings, wishes: Wishes) -> None:
        self.status = 0
        self._settings, self._wishes = settings, wishes

    def old(self, incidents: list[Incident]) -> None:
        """Says on standard error what was there before."""
        if not incidents:
            return
        what = _name(incidents[-1])
        several = f"{len(incidents)} incidents were" if len(incidents) > 1 else "1 incident was"
        print(f"diagnose: {several} there before, the last: {what}; --from-start tells of it", file=sys.stderr)

    def tell(self, events: list[Event]) -> None:
        """Tells of each event; raises Stop when that was enough."""
        from diagnoser.live.inputs import Stop

        for event in events:
            report = self._settings.prepare(event.report)
            if not report.incidents:  # the user asked to ignore it
                continue
            if event.kind == "repeat":
                self._again(event, report)
                continue
            self._in_full(event, report)
            if self.status == 0 or report.exit_code == 1:
                self.status = report.exit_code
            if self._wishes.on_crash:
                from diagnoser.cli.run import call

                call(report, self._wishes.on_crash, self._settings)
            if self._wishes.exit_on_crash and event.incident.impact != "requests":
                raise Stop

    def _in_full(self, event: Event, report: Report) -> None:
        if self._json():
            import json

            from diagnoser.render.json import as_dict

            _say(json.dumps(as_dict(report), ensure_ascii=True))
            return
        if event.kind == "update":
            _say("A better answer for the incident that was told of before:\n")
        deliver(report, self._settings)
        if not self._settings.outputs:
            _say("")

    def _again(self, event: Event, report: Report) -> None:
        incident = report.incidents[0]
        if self._json():
            import json

            _say(
                json.dumps({"schema": "diagnoser.repeat/1", "fingerprint": incident.fingerprint, "count": event.times})
            )
            return
        _say(f"Again, {event.times} times so far: {_name(incident)} [{incident.fingerprint}]")

    def _json(self) -> bool:
        return self._settings.formats == ("json",) and not self._settings.outputs


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _name(incident: Incident) -> str:
    root = incident.root
    what = root.type or root.message.split("\n", 1)[0][:120]
    where = root.speaker.name or root.speaker.role
    return f"{what} in {where}" if where else what
