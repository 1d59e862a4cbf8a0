"""Where a command's standard output and standard error go: pipes, or pseudo-terminals where ours are terminals.

When both of ours lead to the same place, the command gets one descriptor for both, so that what it writes to the one
and to the other stays in the order in which it wrote it.
"""

from __future__ import annotations

import contextlib
import os
from typing import Any

from diagnoser.live.backlog import STDERR, STDOUT
from diagnoser.records import NamedTuple

PIPE_BYTES = 1024 * 1024
_SET_PIPE_SIZE = 1031  # F_SETPIPE_SZ of Linux
_NAMES = {STDOUT: "<stdout>", STDERR: "<stderr>"}


class Output(NamedTuple):
    """One way from the command to us."""

    kind: int
    """STDOUT or STDERR of `feed`."""
    name: str
    """What reports call it."""
    source: int
    """The end that we read."""
    target: int
    """Where we write."""
    given: int
    """The end that the command gets; closed here once it runs."""
    terminal: bool


class Plan(NamedTuple):
    """The outputs, and what `os.posix_spawn` has to do for them."""

    outputs: list[Output]
    actions: list[Any]


def plan(pty: bool | None = None) -> Plan:
    """Makes the pipes and pseudo-terminals; `pty` forces or forbids the latter. A closed output stays closed."""
    status = {fd: state for fd in (1, 2) if (state := _status(fd)) is not None}
    outputs: list[Output] = []
    actions: list[Any] = []
    for fd, kind in ((1, STDOUT), (2, STDERR)):
        if fd not in status:
            continue
        if outputs and _same(status[1], status[2]):
            outputs[0] = outputs[0]._replace(name="<output>")
        else:
            outputs.append(_output(fd, kind, os.isatty(fd) if pty is None else pty))
        actions.append((os.POSIX_SPAWN_DUP2, outputs[-1].given, fd))
    return Plan(outputs, actions)


def _status(fd: int) -> os.stat_result | None:
    try:
        return os.fstat(fd)
    except OSError:
        return None


def _same(one: os.stat_result, other: os.stat_result) -> bool:
    return (one.st_dev, one.st_ino, one.st_rdev) == (other.st_dev, other.st_ino, other.st_rdev)


def _output(target: int, kind: int, terminal: bool) -> Output:
    if terminal:
        with contextlib.suppress(OSError, ImportError):
            source, given = map(above_standard, os.openpty())
            _like_ours(given, target)
            return Output(kind, _NAMES[kind], source, target, given, True)
    source, given = map(above_standard, os.pipe())
    widen(source)
    widen(target)
    return Output(kind, _NAMES[kind], source, target, given, False)


def widen(fd: int) -> None:
    """Gives a pipe more room, which halves the switches between its two ends; nothing for anything else."""
    with contextlib.suppress(OSError, ImportError):
        import fcntl

        fcntl.fcntl(fd, _SET_PIPE_SIZE, PIPE_BYTES)


def above_standard(fd: int) -> int:
    """The same with a number above 2, which the command's own descriptors have."""
    if fd > 2:
        return fd
    import fcntl

    moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3)
    os.close(fd)
    return moved


def _like_ours(given: int, target: int) -> None:
    """Sets the pseudo-terminal up like our terminal, but so that it passes bytes on as they are: ours treats them."""
    import termios

    modes = termios.tcgetattr(target if os.isatty(target) else given)
    modes[1] &= ~termios.OPOST
    termios.tcsetattr(given, termios.TCSANOW, modes)
    copy_size(target, given)


def copy_size(target: int, terminal: int) -> None:
    """Gives a pseudo-terminal the size of our terminal."""
    import fcntl
    import termios

    with contextlib.suppress(OSError):
        size = fcntl.ioctl(target, termios.TIOCGWINSZ, b"\0" * 8)
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, size)
