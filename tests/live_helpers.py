"""Runs the command line as a user does."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

TESTS = Path(__file__).parent


def tool(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "diagnoser", *arguments]


def environment(**more: str) -> dict[str, str]:
    path = os.pathsep.join([str(TESTS), str(TESTS.parent)])
    return {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", "NO_COLOR": "1", **more}


def run(*command: str, options: Sequence[str] = (), **more: object) -> subprocess.CompletedProcess[bytes]:
    """`diagnose run OPTIONS -- COMMAND`."""
    return subprocess.run(
        tool("run", *options, "--", *command), capture_output=True, timeout=60, env=environment(), **more
    )


@contextlib.contextmanager
def start(*arguments: str, **more: object) -> Iterator[subprocess.Popen[bytes]]:
    """The command line as a process, which does not outlive the test."""
    settings: dict[str, object] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": environment()}
    process = subprocess.Popen(tool(*arguments), **{**settings, **more})
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def line(stream: IO[bytes], seconds: float = 20.0) -> bytes:
    """The next line of a pipe, which must come in time."""
    found = b""
    limit = time.monotonic() + seconds
    while not found.endswith(b"\n"):
        ready, _, _ = select.select([stream], [], [], max(0.0, limit - time.monotonic()))
        assert ready, f"no line came; so far {found!r}"
        byte = os.read(stream.fileno(), 1)
        if not byte:
            break
        found += byte
    return found
