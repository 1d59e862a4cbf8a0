"""What an envelope is, and the state of one line while its envelopes come off."""

import re
from collections.abc import Callable
from typing import Literal

from diagnoser.model import UNKNOWN_PROCESS, Process
from diagnoser.records import NamedTuple

Kind = Literal["collector", "process", "record"]

ANY_HEAD = ""
"""Value of `Envelope.heads` for an envelope that may begin with any character."""

LAST = 99
"""Order of an envelope that takes any text for a prefix: it proves nothing about what stands before it."""

SYSTEM_UNITS = frozenset((
    "kernel", "systemd", "systemd-coredump", "systemd-oomd", "earlyoom", "kubelet", "dockerd", "containerd", "crio",
))  # fmt: skip
"""Writers of their own in the system's log, not services whose output it collects."""

DIGITS = "0123456789"
LOWER = "abcdefghijklmnopqrstuvwxyz"
UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
WORD = LOWER + UPPER + DIGITS + "_"


class Peeling:
    """One line while its envelopes come off, outermost first."""

    __slots__ = (
        "bodies", "collector", "container", "done", "format", "host", "inner", "level", "number", "outer", "owed",
        "partial", "pod", "prefixed", "process", "section", "site", "stream", "text", "time", "writer",
    )  # fmt: skip

    def __init__(self, text: str) -> None:
        self.text = text
        self.process: Process = UNKNOWN_PROCESS
        self.outer: tuple[Process, ...] = ()
        self.host: str | None = None
        self.pod: str | None = None
        self.container: str | None = None
        self.time: str | None = None
        self.level: str | None = None
        self.site: str | None = None
        self.format = "plain"
        self.prefixed = False
        self.done = False
        """True when nothing further may come off: the text is a logger's message."""
        self.bodies: list[str] | None = None
        """Several lines that one physical line holds (JSON); replaces `text`."""
        self.partial: bool | None = None
        """True for a piece of a longer line, False for its last piece, None where the collector says nothing."""
        self.stream: str | None = None
        """stdout or stderr, where a collector says so: the pieces of two streams are not one line."""
        self.number: int | None = None
        """Number of the line's first piece, where the line was put together."""
        self.collector: Envelope | None = None
        """The envelope before `inner`, if it was the only one."""
        self.inner: str | None = None
        """The text behind collectors that named nobody: what it begins with can be remembered by itself."""
        self.owed: Process | None = None
        """The other writer, where the prefixes of two writers stand on one line."""
        self.section: str | None = None
        """The file that the following lines come from, where a header says so."""
        self.writer: Process | None = None
        """The writer of the following lines, where a marker says so."""

    def speak(self, process: Process) -> None:
        """Name the writer; a writer named before becomes an outer one, unless both names mean the same process."""
        before = self.process
        if before.known:
            if before == process:
                return
            joined = same_process(before, process)
            if joined is not None:
                self.process = joined
                return
            self.outer += (before,)
        self.process = process

    def fork(self, text: str) -> "Peeling":
        """A copy with another text: one of several lines that an envelope held."""
        other = Peeling(text)
        other.process, other.outer = self.process, self.outer
        other.host, other.pod, other.container = self.host, self.pod, self.container
        other.time, other.level, other.site = self.time, self.level, self.site
        other.format, other.prefixed, other.done = self.format, self.prefixed, self.done
        return other

    def sibling(self, text: str) -> "Peeling":
        """What another writer wrote on the same line: collectors have spoken for both."""
        other = Peeling(text)
        other.host, other.pod, other.container = self.host, self.pod, self.container
        return other


def same_process(outer: Process, inner: Process) -> Process | None:
    """Both put together when the inner prefix cannot mean another process than the outer one, else None.

    torch's `[rank1]:` and NCCL's `host:pid:tid` are written by the process that the prefix before them names.
    """
    if inner.name is not None and not _is_rank_only(inner):
        return None
    if inner.pid is not None and outer.pid is not None and inner.pid != outer.pid:
        return None
    if outer.name is None and inner.name is not None:
        outer = outer._replace(name=inner.name, role=inner.role)
    ranks = tuple(sorted({**dict(inner.ranks), **dict(outer.ranks)}.items()))
    pid = outer.pid if outer.pid is not None else inner.pid
    return outer._replace(pid=pid, ranks=ranks, host=inner.host or outer.host)


def _is_rank_only(process: Process) -> bool:
    name = process.name or ""
    return name.startswith(("rank", "default")) and process.pid is None


class Envelope(NamedTuple):
    """One line format: how its prefix looks and what it says."""

    name: str
    kind: Kind
    """`collector` (docker, journald: knows host, pod, container), `process` (names the writer),
    `record` (a logger: what follows is its message, and no further prefix)."""
    pattern: str
    """Regular expression, matched at the start of the text; every repetition is bounded."""
    peel: Callable[[re.Match[str], Peeling], bool | None]
    """Writes what the prefix says into the peeling and cuts the text; False means: not this format after all."""
    samples: tuple[str, ...]
    """Whole lines of this format, outermost prefix first, in invented words."""
    heads: str = ANY_HEAD
    """Characters that the prefix can begin with."""
    needle: str = ""
    """Text that the first 400 characters must hold: a cheap test before the pattern."""
    order: int = 50
    """The smaller number is tried first; two formats that can claim the same line must differ."""
    confirm: bool = False
    """True for a prefix that plain text may begin with too: it comes off only when a known format or a traceback
    follows, or after the group `key` was once confirmed that way in the same source. A key of None needs none."""
    repeats: int = 0
    """With `confirm`: so many lines in a row with the same key confirm it too; 0: they do not."""
    shown_by: str = ""
    """With `confirm`: what must follow the prefix to confirm it, where a known format or a traceback is not enough."""


FOREIGN = (
    r"\((?:EngineCore|APIServer|VllmWorker|RayWorkerWrapper|Worker)[\w ]{0,40}?(?: rank=\d{1,6})? pid=\d{1,10}[,)]"
    r"|(?:DEBUG|INFO|WARNING|ERROR) (?:\d{4}-)?\d\d-\d\d \d\d:\d\d:\d\d [\[\w]"
    r'|  File "[^"\n]{1,300}", line \d{1,7}, in '
)
"""A record of vLLM or the frame of a traceback: what no program writes for itself behind a prefix of its own."""

HEADER_OR_FOREIGN = rf"Traceback \(most recent call last\)|{FOREIGN}"
"""The same, or the first line of a traceback."""

LEVELS = {
    "D": "DEBUG", "I": "INFO", "W": "WARNING", "E": "ERROR", "F": "FATAL", "C": "CRITICAL",
    "TRACE": "DEBUG", "DEBUG": "DEBUG", "INFO": "INFO", "INFORMATION": "INFO", "NOTICE": "INFO",
    "WARN": "WARNING", "WARNING": "WARNING", "ERR": "ERROR", "ERROR": "ERROR", "SEVERE": "ERROR",
    "CRIT": "CRITICAL", "CRITICAL": "CRITICAL", "ALERT": "CRITICAL", "EMERG": "CRITICAL", "EMERGENCY": "CRITICAL",
    "FATAL": "FATAL", "PANIC": "FATAL", "SUCCESS": "INFO", "ABORT": "FATAL",
}  # fmt: skip


def level_name(text: str | None) -> str | None:
    """The level in the words of `LogRecord.level`; None for a word that is no level."""
    return LEVELS.get(text.strip().upper()) if text else None
