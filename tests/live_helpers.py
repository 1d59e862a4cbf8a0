"""Runs the command line as a user does."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

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


def start(*arguments: str, **more: object) -> subprocess.Popen[bytes]:
    settings: dict[str, object] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": environment()}
    return subprocess.Popen(tool(*arguments), **{**settings, **more})


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def until(condition: Callable[[], object], seconds: float = 20.0) -> None:
    """Waits until the condition holds."""
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, "waited too long"
        time.sleep(0.02)
