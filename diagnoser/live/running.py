"""Runs a command as if we were not there: its output, its signals, its exit status.

The command stays in our process group and keeps our standard input, so that a terminal's Ctrl-C and Ctrl-Z reach it
as they always do. What reaches only us is passed on.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable, Sequence

from diagnoser.live.backlog import ENDED, PASSED_ON
from diagnoser.live.feed import Feed
from diagnoser.live.outputs import Output, Plan, above_standard, copy_size, plan, widen
from diagnoser.live.passing import Passage, go_on
from diagnoser.records import NamedTuple

PASSED_SIGNALS = (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGWINCH,
)
_FROM_TERMINAL = frozenset({signal.SIGINT, signal.SIGQUIT, signal.SIGWINCH})
_ASKS_TO_END = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT})
_BY_KERNEL = 0x80  # SI_KERNEL: a terminal sent it, and to the whole process group
QUIET_SECONDS = 0.5
"""Output of processes that the command left behind is waited for until it is silent for so long."""
DRAIN_SECONDS = 5.0
"""…but no longer than this."""
REPORT_SECONDS = 60.0
"""How long the analysis may take after the command's end."""

Analyse = Callable[[int, dict[int, str]], None]
"""Run in a process of its own with the end of the feed and the names of the streams."""


class Ended(NamedTuple):
    """How the command ended."""

    status: int
    """The exit status as a shell gives it: the code, or 128 + the signal."""
    signal: int = 0
    core: bool = False


def run_command(command: Sequence[str], analyse: Analyse, *, pty: bool | None = None) -> int:
    """Runs the command and returns its exit status (128 + n for signal n); 126 or 127 when it can't be started."""
    return _Run(list(command), analyse, pty).run()


class _Run:
    def __init__(self, command: list[str], analyse: Analyse, pty: bool | None) -> None:
        self._command, self._analyse, self._pty = command, analyse, pty
        self._mask: set[int] = set()
        self._signals: set[signal.Signals] = set()
        self._feed: Feed | None = None
        self._analyst = 0
        self._analyst_killed = False
        self._child = 0
        self._ended: Ended | None = None
        self._terminals: list[Output] = []

    def run(self) -> int:
        self._hold_signals()
        planned = plan(self._pty)
        self._start_analyst(planned)
        started = time.time()
        try:
            self._child = self._spawn(planned)
        except OSError as error:
            self._say(f"cannot run {self._command[0]}: {error.strerror or error}")
            return 126 if isinstance(error, PermissionError) else 127
        stop, stopper = os.pipe()
        passages = [self._passage(output, stop) for output in planned.outputs]
        passages = self._started(passages)
        while self._ended is None:
            self._await_signal(None)
        self._drain(passages)
        os.write(stopper, b".")
        self._report(self._ended, passages, started)
        self._leave_behind(passages)
        return self._ended.status

    def _started(self, passages: list[Passage]) -> list[Passage]:
        """Starts the passing and the analysis' feed; where no more threads may be had, what is left passes here."""
        rest = list(passages)
        with contextlib.suppress(RuntimeError):
            while rest:
                rest[0].start()
                rest.pop(0)
            if self._feed is not None:
                self._feed.start()
            return passages
        self._say("no more threads may be started: the output is passed through without analysis")
        self._feed = None
        go_on([(passage.source, passage.target) for passage in rest])
        return [passage for passage in passages if passage not in rest]

    def _hold_signals(self) -> None:
        """Blocks the signals that we wait for; those that were ignored when we were started stay ignored."""
        self._signals = {number for number in PASSED_SIGNALS if signal.getsignal(number) is not signal.SIG_IGN}
        self._signals.add(signal.SIGCHLD)
        for number in self._signals:  # what has no handler never reaches the first process of a container
            signal.signal(number, lambda number, frame: None)
        self._mask = {int(number) for number in signal.pthread_sigmask(signal.SIG_BLOCK, self._signals)}

    def _start_analyst(self, planned: Plan) -> None:
        try:
            reading, writing = map(above_standard, os.pipe())
            widen(writing)
            self._analyst = os.fork()
        except OSError as error:
            self._say(f"no analysis: {error.strerror or error}")
            return
        if self._analyst == 0:
            for fd in (writing, *(end for output in planned.outputs for end in (output.source, output.given))):
                os.close(fd)
            self._become_analyst(reading, {output.kind: output.name for output in planned.outputs})
        os.close(reading)
        self._feed = Feed(writing)

    def _become_analyst(self, reading: int, names: dict[int, str]) -> None:
        """Never returns. Signals are for the command; the end of the feed ends the analysis."""
        status = 1
        try:
            for number in _ASKS_TO_END:  # a handler, as what is ignored stays ignored in the programs we start
                signal.signal(number, lambda number, frame: None)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)
            with contextlib.suppress(OSError):
                os.nice(5)
            nothing = os.open(os.devnull, os.O_RDONLY)
            os.dup2(nothing, 0)
            with contextlib.suppress(OSError):
                os.dup2(2, 1)  # whatever is printed is a report or a complaint
            if sys.stderr is not None:  # the old one takes the descriptor for what it was, a file for instance
                sys.stdout = sys.stderr
            self._analyse(reading, names)
            status = 0
        except BaseException as error:
            self._say(f"the analysis failed ({type(error).__name__}: {error}); the command is not affected")
        finally:
            with contextlib.suppress(BaseException):
                sys.stdout.flush()
            with contextlib.suppress(BaseException):
                sys.stderr.flush()
            os._exit(status)

    def _spawn(self, planned: Plan) -> int:
        child = os.posix_spawnp(
            self._command[0],
            self._command,
            os.environ,
            file_actions=planned.actions,
            setsigmask=list(self._mask),
            setsigdef=[signal.SIGPIPE, signal.SIGXFSZ],
        )
        for output in planned.outputs:
            os.close(output.given)
        self._terminals = [output for output in planned.outputs if output.terminal]
        return child

    def _passage(self, output: Output, stop: int) -> Passage:
        feed, kind = self._feed, output.kind
        take = (lambda data: feed.put(kind, data)) if feed is not None else (lambda data: None)
        return Passage(output.source, output.target, take, stop)

    def _await_signal(self, timeout: float | None) -> int:
        """Waits for the next signal and deals with it; returns its number, 0 when none came in time."""
        number, by_terminal = _next_signal(self._signals, timeout)
        if number == signal.SIGCHLD:
            self._reap()
        elif number:
            if number == signal.SIGWINCH:
                for output in self._terminals:
                    copy_size(output.target, output.source)
                by_terminal = False  # the terminal told the command before the new size was known to it
            if self._ended is None and not (by_terminal and number in _FROM_TERMINAL):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self._child, number)
            if self._ended is None and number in _ASKS_TO_END and self._feed is not None:
                self._feed.tell(PASSED_ON, signal=signal.Signals(number).name)
        return number

    def _reap(self) -> None:
        """Takes every child that ended, those that we inherited as the first process of a container included."""
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return
                if pid == self._child:
                    self._ended = _how(status)
                elif pid == self._analyst:
                    self._analyst, self._analyst_killed = 0, os.WIFSIGNALED(status)

    def _drain(self, passages: list[Passage]) -> None:
        """Waits for the rest of the output: to its end, or until what the command left behind is silent."""
        begun = time.monotonic()
        for passage in passages:
            passage.join(0.05)
        while alive := [passage for passage in passages if passage.is_alive()]:
            if self._await_signal(0.02) in _ASKS_TO_END:
                return
            now = time.monotonic()
            last = max(begun, *(passage.last for passage in alive))
            if not any(passage.busy for passage in alive) and (
                now - last > QUIET_SECONDS or now - begun > DRAIN_SECONDS
            ):
                return

    def _report(self, ended: Ended, passages: list[Passage], started: float) -> None:
        """Has the analysis report, and waits for it."""
        for passage in passages:
            if passage.lost:
                self._say(f"{passage.lost} bytes of output could not be written: {passage.problem}")
        if self._feed is None:
            return
        self._feed.tell(
            ENDED,
            status=ended.status,
            signal=ended.signal,
            core=ended.core,
            pid=self._child,
            started=started,
            reader_gone=any(passage.reader_gone for passage in passages),
        )
        self._feed.close()
        limit = time.monotonic() + REPORT_SECONDS
        while self._analyst and time.monotonic() < limit:
            if self._await_signal(0.2) in _ASKS_TO_END:
                break
        if self._analyst:
            with contextlib.suppress(OSError):
                os.kill(self._analyst, signal.SIGKILL)
            self._say("the analysis was stopped before it was done")
        elif self._analyst_killed:
            self._say("the analysis ended early; the output was passed through unchanged")

    def _leave_behind(self, passages: list[Passage]) -> None:
        """Leaves a process that goes on passing output for processes that outlive the command."""
        left = [passage for passage in passages if not passage.ended and not passage.reader_gone]
        for passage in left:
            passage.join(1.0)
        if not left or any(passage.is_alive() for passage in left) or os.getpid() == 1:
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with contextlib.suppress(OSError):
                if os.fork() == 0:
                    try:
                        go_on([(passage.source, passage.target) for passage in left])
                    finally:
                        os._exit(0)

    def _say(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):
            os.write(2, f"diagnose: {text}\n".encode("utf-8", "replace"))


def _how(status: int) -> Ended:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return Ended(128 + number, number, os.WCOREDUMP(status))
    return Ended(os.waitstatus_to_exitcode(status))


def _next_signal(signals: set[signal.Signals], timeout: float | None) -> tuple[int, bool]:
    """The next of the signals, and whether a terminal sent it to the whole process group; (0, False) for none."""
    if hasattr(signal, "sigwaitinfo"):
        info = signal.sigwaitinfo(signals) if timeout is None else signal.sigtimedwait(signals, timeout)
        return (info.si_signo, info.si_code == _BY_KERNEL) if info is not None else (0, False)
    if timeout is not None:  # systems that can't wait for a time: look now and then
        limit = time.monotonic() + timeout
        while not signal.sigpending() & signals:
            if time.monotonic() > limit:
                return 0, False
            time.sleep(0.02)
    return int(signal.sigwait(signals)), _in_foreground()


def _in_foreground() -> bool:
    for fd in (0, 1, 2):
        with contextlib.suppress(OSError):
            return os.tcgetpgrp(fd) == os.getpgrp()
    return False
