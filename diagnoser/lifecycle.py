"""Moments in a deployment's life that decide how a failure is read: it started, served, was told to stop.

    (APIServer pid=1) INFO 03-14 10:20:30 [launcher.py:254] [shutdown] API server: shutdown triggered

A failure after an order to stop is part of stopping. A failure that is followed by served requests did not
kill the server. Source of the texts: vLLM 0.8.5 to 0.32, uvicorn, Ray.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

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


_QUICK = re.compile(
    r"startup complete|HTTP/1|hutdown|hutting down|SIG(?:TERM|INT)|version \d|non-default args|KeyboardInterrupt"
    r"|(?:Started|Finished) server|Processed prompts"
)
_KINDS: tuple[tuple[MomentKind, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern))  # type: ignore[misc]
    for kind, pattern in (
        ("served", r'"(?:POST|GET) /(?!health|metrics|ping|version)\S* HTTP/1\.\d" 200\b'),
        ("refused", r'"(?:POST|GET) /\S* HTTP/1\.\d" 5\d\d\b'),
        ("served", r"Processed prompts: 100%"),
        ("start", r"vLLM (?:API )?server version \d|^[^A-Za-z]*version \d+\.\d[\w.+]*\s*$|^non-default args: "),
        ("ready", r"^Application startup complete|Started server process"),
        ("stop", r"\[shutdown\] API server: shutdown triggered|\[shutdown\] DPSupervisor: shutdown triggered"),
        (
            "stop",
            r"[Rr]eceived (?:signal )?SIG(?:TERM|INT)\b|[Rr]eceived signal=?\s?SIG(?:TERM|INT)|^KeyboardInterrupt$",
        ),
        (
            "stop",
            r"^Shutting down FastAPI HTTP server|\[shutdown\] API server: (?:signalling|shutting)|^Shutting down\.?$"
            r"|^Finished server process",
        ),
        ("down", r"^Application shutdown complete"),
    )
)


def moment_of(record: LogRecord, order: int) -> Moment | None:
    """The moment that a record marks, or None."""
    body = record.body
    if not _QUICK.search(body):
        return None
    for kind, pattern in _KINDS:
        if pattern.search(body):
            return Moment(kind, order, record.source, record.line, record.time, record.process, body[:200])
    return None
