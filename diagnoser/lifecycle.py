"""Moments in a deployment's life that decide how a failure is read: it started, served, was told to stop.

    (APIServer pid=1) INFO 03-14 10:20:30 [launcher.py:254] [shutdown] API server: shutdown triggered

A failure after an order to stop is part of stopping. A failure that is followed by served requests did not
kill the server. Source of the texts: vLLM 0.8.5 to 0.32, uvicorn, Ray.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from diagnoser.lazy import lazy
from diagnoser.model import LogRecord, Process

MomentKind = Literal["start", "ready", "served", "refused", "stop", "down"]


class Moment(NamedTuple):
    """One such line."""

    kind: MomentKind
    order: int
    source: str
    line: int
    time: str | None
    process: Process
    text: str


_KINDS: tuple[tuple[MomentKind, tuple[str, ...], re.Pattern[str]], ...] = (
    ("served", ('" 200', "/1.1 200"), lazy(r'"(?:POST|GET) /(?!health|metrics|ping|version)\S* HTTP/1\.\d"? 200\b')),
    ("refused", ("HTTP/1",), lazy(r'"(?:POST|GET) /\S* HTTP/1\.\d" 5\d\d\b')),
    ("served", ("Processed prompts",), lazy(r"Processed prompts: 100%")),
    (
        "start",
        ("version ", "non-default args"),
        lazy(r"vLLM (?:API )?server version \d|^[^A-Za-z]*version \d+\.\d[\w.+]*\s*$|^non-default args: "),
    ),
    ("ready", ("startup complete", "Started server"), lazy(r"^Application startup complete|Started server process")),
    ("ready", ("throughput: ",), lazy(r"^Engine \d+: Avg prompt throughput: |^Avg prompt throughput: ")),
    ("stop", ("shutdown triggered",), lazy(r"\[shutdown\] (?:API server|DPSupervisor): shutdown triggered")),
    ("stop", ("SIGTERM", "SIGINT"), lazy(r"[Rr]eceived (?:signal[= ]?\s?)?SIG(?:TERM|INT)\b")),
    ("stop", ("KeyboardInterrupt",), lazy(r"^KeyboardInterrupt$")),
    (
        "stop",
        ("hutting down", "signalling", "Finished server"),
        lazy(
            r"^Shutting down FastAPI HTTP server|\[shutdown\] API server: (?:signalling|shutting)|^Shutting down\.?$"
            r"|^Finished server process"
        ),
    ),
    ("down", ("shutdown complete",), lazy(r"^Application shutdown complete")),
)


def moment_of(record: LogRecord, order: int) -> Moment | None:
    """The moment that a record marks, or None."""
    body = record.body
    for kind, needles, pattern in _KINDS:
        for needle in needles:
            if needle in body:
                if pattern.search(body):
                    return Moment(kind, order, record.source, record.line, record.time, record.process, body[:200])
                break
    return None
