"""Moments in a deployment's life that decide how a failure is read: it started, served, was told to stop.

    (APIServer pid=1) INFO 03-14 10:20:30 [launcher.py:254] [shutdown] API server: shutdown triggered

A failure after an order to stop is part of stopping. A failure that is followed by served requests did not
kill the server. Source of the texts: vLLM 0.8.5 to 0.32, uvicorn, Ray.
"""

import re
from collections.abc import Collection, Sequence
from typing import Literal

from diagnoser.lazy import lazy
from diagnoser.model import LogRecord, Process
from diagnoser.model.words import LOUD
from diagnoser.records import NamedTuple, new

MomentKind = Literal["start", "ready", "served", "refused", "stop", "down"]


ACCESS = " HTTP/1"
"""Stands in every line of an access log; what such a line means depends on its number."""
ACCESS_KINDS: tuple[MomentKind, ...] = ("served", "refused")
"""What a line of an access log may mean."""


class Moment(NamedTuple):
    """One such line."""

    kind: MomentKind
    order: int
    source: str
    line: int
    time: str | None
    process: Process
    text: str


Kinds = tuple[tuple[MomentKind, tuple[str, ...], re.Pattern[str]], ...]
"""What it is, texts of which the line holds one, and how the line reads."""
ALL: Kinds = (
    ("served", ('" 200', "/1.1 200"), lazy(r'"(?:POST|GET) /(?!health|metrics|ping|version)\S* HTTP/1\.\d"? 200\b')),
    ("refused", ('" 5',), lazy(r'"(?:POST|GET) /\S* HTTP/1\.\d" 5\d\d\b')),
    ("served", ("Processed prompts",), lazy(r"Processed prompts: 100%")),
    (
        "start",
        ("version ", "non-default args"),
        lazy(r"vLLM (?:API )?server version \d|^[^A-Za-z]*version \d+\.\d[\w.+]*\s*$|^non-default args: "),
    ),
    ("ready", ("startup complete", "Started server"), lazy(r"^Application startup complete|Started server process")),
    ("ready", ("throughput: ",), lazy(r"^Engine \d+: Avg prompt throughput: |^Avg prompt throughput: ")),
    ("stop", ("shutdown triggered",), lazy(r"^\[shutdown\] (?:API server|DPSupervisor): shutdown triggered")),
    ("stop", ("SIGTERM", "SIGINT"), lazy(r"[Rr]eceived (?:signal[= ]?\s?)?SIG(?:TERM|INT)\b")),
    ("stop", ("KeyboardInterrupt",), lazy(r"^KeyboardInterrupt$")),
    (
        "stop",
        ("hutting down", "signalling", "Finished server"),
        lazy(
            r"^Shutting down FastAPI HTTP server|^\[shutdown\] API server: (?:signalling|shutting)|^Shutting down\.?$"
            r"|^Finished server process"
        ),
    ),
    ("down", ("shutdown complete",), lazy(r"^Application shutdown complete")),
)


_MOST_RECORDS = 50
_QUOTE = lazy("[\\'\"`{\u201c]")
"""Behind one of these stands what somebody else wrote: a prompt in a request's line may hold any text."""
_LONGEST_BEFORE = 300
"""Characters before the text of a moment: an address, a time, a name."""


def _is_quoted(body: str, start: int) -> bool:
    return start > _LONGEST_BEFORE or _QUOTE.search(body, 0, start) is not None


def kinds_of(names: Collection[MomentKind]) -> Kinds:
    """Those of `ALL` that have these names: all that is left to look for where others were ruled out."""
    return tuple(kind for kind in ALL if kind[0] in names)


def moments_of(records: Sequence[LogRecord], order: int, kinds: Kinds = ALL) -> list[Moment]:
    """The moments that the records of one block mark; `order` is the reading order of the first.

    The text of an error, and a traceback, may quote anything; only Ctrl-C ends a traceback and is a moment.
    """
    if records[0].level in LOUD:
        return []
    if len(records) == 1:
        only = moment_of(records[0], order, kinds)
        return [] if only is None else [only]
    printed = records[0].level is None and len(records) > 1
    found = [moment_of(record, order + offset, kinds) for offset, record in enumerate(records[:_MOST_RECORDS])]
    return [moment for moment in found if moment is not None and (moment.kind == "stop" or not printed)]


def moment_of(record: LogRecord, order: int, kinds: Kinds = ALL) -> Moment | None:
    """The moment that a record marks, or None."""
    kind = marked_by(record.body, kinds)
    if kind is None:
        return None
    body, process = record.body[:200], record.process
    return new(Moment, (kind, order, record.source, record.line, record.time, process, body))


def marked_by(body: str, kinds: Kinds = ALL) -> MomentKind | None:
    """The kind of moment that a line marks, or None."""
    for kind, needles, pattern in kinds:
        for needle in needles:
            if needle in body:
                found = pattern.search(body)
                if found is not None and not _is_quoted(body, found.start()):
                    return kind
                break
    return None
