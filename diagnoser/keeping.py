"""What is kept of failures: one of each different kind, with how often it came.

A flood of 41,000 equal failures takes as much memory as one.
"""

from collections.abc import Sequence

from diagnoser.fingerprints import mask
from diagnoser.model import Failure, LogRecord

MAX_FAILURES = 4_000
"""Different failures kept; later ones are counted only."""
MAX_MESSAGES = 1_500
"""Failures kept until which one may be a mere message that no rule knows: a flood must not crowd out exceptions."""
MAX_RECORDS = 20_000
"""Records kept in all, of failures whose lines do not simply follow each other."""


class Kept:
    """A failure that stands for all that are equal to it."""

    __slots__ = ("count", "failure", "last", "marks", "records")

    def __init__(self, failure: Failure, marks: frozenset[str], records: Sequence[LogRecord]) -> None:
        self.failure = failure
        self.marks = marks
        """Rules whose `log` conditions hold for its record and ask for nothing else."""
        self.records = records
        """Those that it was read from, where counting lines from the first one does not lead to the line of a piece of
        evidence: processes wrote at the same time, or one line holds several."""
        self.count = failure.count
        self.last: int | None = None
        """Reading order of the newest one, if it came again."""

    def again(self, count: int, order: int) -> None:
        """It came again."""
        self.count += count
        self.last = order

    def counted(self) -> Failure:
        """The failure, with how often it came."""
        return self.failure._replace(count=self.count, last=self.last)


class Failures:
    """All that are kept."""

    def __init__(self) -> None:
        self.dropped = 0
        """How many came when there was no room for more."""
        self._kept: dict[object, Kept] = {}
        self._room = MAX_RECORDS

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def all(self) -> Sequence[Kept]:
        """What is kept, in the order in which it came."""
        return tuple(self._kept.values())

    @property
    def seen(self) -> int:
        """How many came, repeated ones included."""
        return sum(kept.count for kept in self._kept.values()) + self.dropped

    def keep(self, failure: Failure, marks: frozenset[str], records: Sequence[LogRecord], run: int) -> Kept | None:
        """Keeps a failure of the deployment's run with this number, or counts it; None when there is no room.

        Equal are those of one process and run with the same fingerprint and, but for what differs each time, header.
        """
        process = failure.process
        place = (failure.source, process.host, process.pod, process.pid or process.name or process.role)
        what = failure.text if failure.kind == "message" else failure.fingerprint
        key = (run, place, what, failure.level, mask(failure.header)[:200])
        kept = self._kept.get(key)
        if kept is not None:
            kept.again(failure.count, failure.order)
        elif len(self._kept) < (MAX_FAILURES if failure.kind != "message" or marks else MAX_MESSAGES):
            kept = self._kept[key] = Kept(failure, marks, self._scattered(records))
        else:
            self.dropped += 1
        return kept

    def clear(self) -> None:
        """Starts anew."""
        self.dropped = 0
        self._kept.clear()
        self._room = MAX_RECORDS

    def _scattered(self, records: Sequence[LogRecord]) -> Sequence[LogRecord]:
        """The records if their lines do not follow each other and there is room."""
        count = len(records)
        if records[-1].line - records[0].line == count - 1 or self._room < count:
            return ()
        self._room -= count
        return records
