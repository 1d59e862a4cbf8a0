"""Helpers for tests of the catalogue: rules from text, failures from a few words."""

from __future__ import annotations

from diagnoser.model import ExceptionInfo, Failure, Frame, Process

WORKER = Process("Worker_TP1", "Worker", 4242)
HEAD = """
id     = "{id}"
title  = "A title"
role   = "{role}"
family = "test"
"""


def rule_text(identifier: str, body: str, role: str = "cause", extra: str = "") -> str:
    """A rule file with the required keys and `body` below them."""
    return HEAD.format(id=identifier, role=role) + extra + body


def exception_failure(
    kind: str, message: str = "", *, code: str | None = None, path: str = "/opt/venv/lib/python3.12/site-packages/vllm/a.py",
    function: str = "load", process: Process = WORKER, quoted: bool = False, order: int = 5,
) -> Failure:  # fmt: skip
    """A failure with one exception that stands on lines 10 to 14."""
    frames = (
        Frame("/opt/venv/lib/python3.12/site-packages/vllm/run.py", 7, "run_worker", "worker.load()", 11),
        Frame(path, 81, function, code, 12),
    )
    last = 14 + message.count("\n")
    info = ExceptionInfo(kind, message, frames, line=14, end_line=last)
    return Failure("exception", process, "worker.log", 10, last, order, exceptions=(info,), quoted=quoted)


def record_failure(text: str, *, process: Process = WORKER, order: int = 5) -> Failure:
    """A failure that is a log record."""
    return Failure("message", process, "worker.log", 10, 10 + text.count("\n"), order, text=text)
