"""Leaves this tool's own reports out of a log: what they quote has not happened again.

A container's entry point may run `diagnose` when the server dies, so that the report stands in the same log; and people
pass a report on instead of the log. Only bare lines can be part of a report, it must end as reports end within
`MAX_LINES`, and the report says that it was left out, so that nobody can hide a failure by imitating one.
"""

import re
from collections.abc import Sequence

from diagnoser.lazy import lazy
from diagnoser.model import LogRecord
from diagnoser.records import NamedTuple

MAX_LINES = 3_000
"""Lines of one report at most; more than that is taken for a log."""

_IMPACTS = (
    "the server did not start", "the server died", "the server stopped answering",
    "the server stayed up, but requests failed",
)  # fmt: skip
_LAST_WORDS = tuple(impact.rpartition(" ")[2] for impact in _IMPACTS)
_SIGNS = ("iagnoser", "nearest to it: ", ") [", "it [", "log [", "[Bug]: ", "title=")
"""What the first line of a report holds or, of one in plain words, ends with: a cheap test before the patterns."""
_WRAPPED = 3
"""Lines that the first line of a report takes on a narrow terminal at most."""

_QUIET = lazy(
    r"^\S.{0,300}:\d+: .{1,300} (?:\((?:certain|likely|possible)\)|no rule explains it|not in this log) \[[\w-]+\]$"
    r"|^::(?:error|warning|notice) (?:file=[^,]{0,300},line=\d+,)?title="
)
"""Lines that are a report by themselves: of `--quiet`, and annotations."""


class _Kind(NamedTuple):
    """How a report of one format begins and ends."""

    start: re.Pattern[str]
    end: re.Pattern[str]
    body: re.Pattern[str] | None = None
    """What it must hold besides, where begin and end alone could be anything."""


_KINDS = (
    _Kind(
        lazy(rf"^(?:# )?\S.{{0,600}}[:;] (?:{'|'.join(_IMPACTS)})(?:; nearest to it: .*)?$"),
        lazy(r"^(?:Input: |Diagnoser \d\S*, \d+ rules$|fingerprint: [0-9a-f]{16}$|deployment: |input: )"),
        lazy(r"(?i)^(?:#+ )?(?:\w+ )?cause\b|^(?:#+ )?What to (?:do|collect)$|^(?:collect|step) \d+: "),
    ),
    _Kind(lazy(r'^\s{0,40}(?:\{\s{0,40})?"schema": ?"diagnoser\.report/\d'), lazy(r"^\}$|^\{.*\}$")),
    _Kind(lazy(r"^<title>.* - Diagnoser</title>$"), lazy(r"^</html>$")),
    _Kind(lazy(r'^\s{0,40}<testsuite name="diagnoser" '), lazy(r"^</testsuites>$")),
    _Kind(lazy(r"^::group::Diagnoser report$"), lazy(r"^::endgroup::$")),
    _Kind(lazy(r"^# \[Bug\]: "), lazy(r"^Written by Diagnoser \S+; fingerprint ")),
)


class _Open:
    """A report whose end has not come."""

    __slots__ = ("kind", "records", "told")

    def __init__(self, kind: _Kind, record: LogRecord) -> None:
        self.kind, self.records, self.told = kind, [record], kind.body is None


class OwnReports:
    """Fed with the records of all sources, gives those that are no part of a report."""

    def __init__(self) -> None:
        self.lines = 0
        """Lines that were left out."""
        self._open: dict[str, _Open] = {}
        self._before: dict[str, tuple[str, ...]] = {}

    def feed(self, record: LogRecord) -> Sequence[LogRecord]:
        """The records to go on with: none while a report may be going on, all of it when it was none."""
        if record.level is not None or record.site is not None:
            return (record,)
        report = self._open.get(record.source)
        if report is None:
            return self._begin(record)
        report.records.append(record)
        report.told = report.told or (report.kind.body is not None and report.kind.body.search(record.body) is not None)
        if report.told and report.kind.end.search(record.body):
            self.lines += len(report.records)
            del self._open[record.source]
            return ()
        return self.close(record.source) if len(report.records) >= MAX_LINES else ()

    def close(self, source: str) -> Sequence[LogRecord]:
        """What was held back of a source that has ended, or that has said too much."""
        report = self._open.pop(source, None)
        return report.records if report is not None else ()

    @property
    def waiting(self) -> Sequence[str]:
        """Sources of which something is held back."""
        return list(self._open)

    def notes(self) -> list[str]:
        """What a reader must know of it."""
        return [f"Lines that are a report of this tool were left out: {self.lines}."] if self.lines else []

    def _begin(self, record: LogRecord) -> Sequence[LogRecord]:
        body = record.body.rstrip()
        before = self._before.get(record.source, ())
        self._before[record.source] = (*before[2 - _WRAPPED :], body[:400])
        for sign in _SIGNS:  # a generator would cost more than the search
            if sign in body:
                break
        else:
            if not body.endswith(_LAST_WORDS):
                return (record,)
        if _QUIET.search(body):
            self.lines += 1
            return ()
        for kind in _KINDS:
            if kind.start.search(body) or (kind.body is not None and _is_wrapped(kind, before, body)):
                opened = _Open(kind, record)
                if kind.body is None and kind.end.search(body) and body.endswith("}"):
                    self.lines += 1
                    return ()
                self._open[record.source] = opened
                return ()
        return (record,)


def _is_wrapped(kind: _Kind, before: Sequence[str], body: str) -> bool:
    """Whether the first line of a report was broken into several, of which this is the last."""
    return any(
        kind.start.search(" ".join(part.strip() for part in (*before[-count:], body))) is not None
        for count in range(1, min(len(before), _WRAPPED - 1) + 1)
    )
