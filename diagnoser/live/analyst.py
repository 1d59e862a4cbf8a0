"""The side of `run` that analyses: reads the copy of the command's output and says what its end means."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from diagnoser.live import evidence
from diagnoser.live.backlog import ENDED, GAP, PASSED_ON
from diagnoser.live.endings import Ending, with_ending
from diagnoser.live.feed import FeedReader
from diagnoser.live.session import Session
from diagnoser.model import Process, Report
from diagnoser.records import NamedTuple

if TYPE_CHECKING:
    from diagnoser.catalogue import Catalogue
    from diagnoser.pipeline import Analysis

COMMAND_SOURCE = "<command>"
SIGNAL_SOURCE = "<signals>"
LAST_WORDS = 5
"""Lines of each stream that are shown when nothing explains a death."""
_BROKEN_PIPE = 13
_ORDERS = frozenset({1, 2, 15})
"""Signals that ask a process to end: a death by one of them is no failure by itself."""


class Outcome(NamedTuple):
    """What came of a command."""

    status: int
    """As a shell gives it."""
    report: Report | None
    """None when there is nothing to say: the command ended as it should."""


def watch(
    fd: int,
    names: Mapping[int, str],
    command: Sequence[str],
    load: Callable[[], Catalogue],
    *,
    runbook_url: str | None = None,
) -> Outcome | None:
    """Reads the feed to its end and judges; None when the feed broke off, because the passing side was killed."""
    return _Watch(fd, names, command, load).run(runbook_url)


class _Watch:
    def __init__(
        self, fd: int, names: Mapping[int, str], command: Sequence[str], load: Callable[[], Catalogue]
    ) -> None:
        self._names, self._command = names, command
        self._session = Session(load)
        self._reader = FeedReader(fd)
        self._begun = evidence.kernel_time()
        self._kills = evidence.oom_kills()
        self._killed = False
        self._session.say(COMMAND_SOURCE, [shlex.join(command)])

    def run(self, runbook_url: str | None) -> Outcome | None:
        session = self._session
        for kind, size in self._reader.frames(self._tick):
            if kind in self._names:
                session.take(self._names[kind], size, self._reader.read_into)
                continue
            values = self._reader.values(size)
            if kind == GAP:
                session.gap(self._names[values["stream"]], values["size"], values["newlines"])
            elif kind == PASSED_ON:
                session.say(SIGNAL_SOURCE, [f"Received {values['signal']}, passed on to the command."])
            elif kind == ENDED:
                return self._judged(values, runbook_url)
        return None

    def _tick(self) -> None:
        """Looks now and then whether memory killed a process, so that this stands in its place among the lines."""
        self._session.prepare()
        kills = evidence.oom_kills()
        if kills is not None and self._kills is not None and kills > self._kills:
            victim = Process(name="a process of the command", role="Worker")
            self._session.say(evidence.MEMORY_SOURCE, [evidence.oom_line(kills - self._kills)], victim)
            self._kills, self._killed = kills, True

    def _judged(self, ended: Mapping[str, Any], runbook_url: str | None) -> Outcome:
        status, number = int(ended["status"]), int(ended["signal"])
        ending = self._said(ended)
        analysis = self._session.pipeline.finish()
        report = self._session.report(analysis, runbook_url=runbook_url)
        if status == 0:
            died = report.exit_code != 0 and _died(analysis, self._session)
            return Outcome(status, report if died else None)
        if ended["reader_gone"] and _by_broken_pipe(number, report):
            return Outcome(status, None)
        crashed = any(incident.impact != "requests" for incident in report.incidents)
        if not crashed and (report.verdict == "shutdown" or number in _ORDERS):
            return Outcome(status, None)
        if not crashed:
            report = self._session.report(with_ending(analysis, ending), runbook_url=runbook_url)
        return Outcome(status, report)

    def _said(self, ended: Mapping[str, Any]) -> Ending:
        """Adds all evidence of the end to the log, and returns the end itself, should nothing explain it."""
        session, status, number, pid = self._session, int(ended["status"]), int(ended["signal"]), int(ended["pid"])
        for name in self._names.values():
            session.end(name, tail=status != 0)
        self._tick()
        sentence = evidence.status_line(status, number, core=bool(ended["core"]))
        process = Process(name=self._command[0].rsplit("/", 1)[-1], role="launcher", pid=pid)
        if status:
            lines = evidence.kernel_lines(self._begun, killed=self._killed, pid=pid)
            session.say(evidence.KERNEL_SOURCE, lines)
            session.say(evidence.STATUS_SOURCE, [sentence], process)
        name = evidence.signal_name(number) if number else f"exit code {status}"
        up = any(moment.kind in ("ready", "served") for moment in session.pipeline.moments)
        return Ending(sentence, name, process, evidence.STATUS_SOURCE, last_words=self._last_words(), up=up)

    def _last_words(self) -> str:
        """The end of what the command printed, for a reader who has no other log."""
        lines = [line for name in self._names.values() for line in self._session.stream(name).last_lines(LAST_WORDS)]
        shown = [line if len(line) <= 300 else line[:299] + "…" for line in lines]
        return "\nIts last words:" + "".join(f"\n  {line}" for line in shown) if shown else ""


def _died(analysis: Analysis, session: Session) -> bool:
    """True when the log holds a report of a process's death, not only errors that may have been handled."""
    from diagnoser.roles import play

    rules = session.pipeline.catalogue.rules
    for case in analysis.cases:
        played = play(case, rules)
        death = played.part in ("wrapper", "symptom") or any(
            rules[match.rule].family == "process" for match in played.causes
        )
        if played.terminal and death:
            return True
    return False


def _by_broken_pipe(number: int, report: Report) -> bool:
    """True when the command ended because nobody read its output any more."""
    if number == _BROKEN_PIPE or not report.incidents:
        return True
    root = report.incidents[0].root
    return (root.type or "").rpartition(".")[2] == "BrokenPipeError" or root.source == evidence.STATUS_SOURCE
