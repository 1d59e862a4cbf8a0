"""Memory stays flat, whatever comes in."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

MIB = 1024 * 1024
LIMIT_MIB = 48
READ = """
from diagnoser.sources import open_sources
sources, _ = open_sources([])
count = sum(1 for _ in sources[0].lines())
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(count, int(peak.split()[1]) // 1024)
"""


def endless_line() -> Iterator[bytes]:
    for _ in range(150):
        yield b"x" * MIB


def zeros() -> Iterator[bytes]:
    for _ in range(150):
        yield bytes(MIB)


def flood() -> Iterator[bytes]:
    for _ in range(20):
        yield b"ERROR it is all bad here\n" * (MIB // 25)


def flood_without_newlines() -> Iterator[bytes]:
    for _ in range(20):
        yield b"ERROR" * (MIB // 5)


def weak_flood_without_newlines() -> Iterator[bytes]:
    for _ in range(20):
        yield b"refused" * (MIB // 7)


def progress_bars() -> Iterator[bytes]:
    for _ in range(10):
        yield b"ERROR 50%|#####     | 1/2\r" * (MIB // 26)


def healthy() -> Iterator[bytes]:
    for _ in range(200):
        yield b"(APIServer pid=1) INFO 01-02 03:04:05 [async_llm.py:1] Added request cmpl-1.\n" * (MIB // 77)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs the figures of Linux")
@pytest.mark.parametrize(
    "make", [endless_line, zeros, flood, flood_without_newlines, weak_flood_without_newlines, progress_bars, healthy]
)
def test_peak_memory(make: object) -> None:
    process = subprocess.Popen([sys.executable, "-c", READ], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    for block in make():  # type: ignore[operator]
        process.stdin.write(block)
    process.stdin.close()
    _, peak = process.stdout.read().split()
    process.stdout.close()
    assert process.wait() == 0
    assert int(peak) <= LIMIT_MIB
