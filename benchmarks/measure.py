"""Times whole processes in turn, with the operating system's own figures of each finished run."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple


class Command(NamedTuple):
    """A tool's command line and its standard input."""

    tool: str
    argv: tuple[str, ...]
    stdin: Path | None = None
    pipe: bool = False
    """Feed `stdin` through a pipe, by `cat`."""
    cores: int | None = None
    """Run on so many processors."""


class Run(NamedTuple):
    """One finished run."""

    wall: float
    cpu: float
    peak_mib: float
    status: int


class Figures(NamedTuple):
    """Medians of a command's runs."""

    tool: str
    wall: float
    cpu: float
    peak_mib: float
    ratio: float
    """Median over the rounds of the reference's wall time divided by this one's: above 1 is faster."""
    cpu_ratio: float
    """The same of processor time, which says more on a machine that others use too."""
    runs: int


def run_once(command: Command) -> Run:
    """Start the command, wait for it, and take its figures; output is thrown away."""
    feeder: subprocess.Popen[bytes] | None = None
    stdin = os.open(command.stdin if command.stdin and not command.pipe else os.devnull, os.O_RDONLY)
    if command.pipe:
        feeder = subprocess.Popen(["cat", str(command.stdin)], stdout=subprocess.PIPE)
        assert feeder.stdout is not None
        os.close(stdin)
        stdin = os.dup(feeder.stdout.fileno())
        feeder.stdout.close()
    null = os.open(os.devnull, os.O_WRONLY)
    started = time.perf_counter()
    process = subprocess.Popen(command.argv, stdin=stdin, stdout=null, stderr=null, preexec_fn=_pinned(command.cores))
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    os.close(stdin)
    os.close(null)
    if feeder is not None:
        feeder.wait()
    scale = 1024 if sys.platform == "darwin" else 1
    return Run(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / scale / 1024, process.returncode)


def compare(commands: Sequence[Command], runs: int) -> list[Figures]:
    """Run the commands in turn, after one warm-up round; the first one is the reference of the ratios."""
    for command in commands:
        run_once(command)
    rounds = [[run_once(command) for command in commands] for _ in range(runs)]
    figures = []
    for place, command in enumerate(commands):
        mine = [row[place] for row in rounds]
        ratios = [
            statistics.median(row[0][field] / max(row[place][field], 1e-6) for row in rounds) for field in range(2)
        ]
        median = [statistics.median(run[field] for run in mine) for field in range(3)]
        figures.append(Figures(command.tool, *median, *ratios, runs))
    return figures


def _pinned(cores: int | None) -> object:
    if cores is None or not hasattr(os, "sched_setaffinity"):
        return None
    chosen = sorted(os.sched_getaffinity(0))[:cores]
    return lambda: os.sched_setaffinity(0, chosen)
