"""The records of failures whose lines do not simply follow each other.

Where processes write at the same time, or one line holds several, the place of a line can't be told by counting from
the failure's first one: evidence is looked up in these records then.
"""

from __future__ import annotations

from collections.abc import Sequence

from diagnoser.model import LogRecord

MAX_RECORDS = 20_000
"""Records kept in all."""


class Scattered:
    """Records by the key of their failure."""

    def __init__(self) -> None:
        self._records: dict[object, Sequence[LogRecord]] = {}
        self._room = MAX_RECORDS

    def keep(self, key: object, records: Sequence[LogRecord]) -> None:
        """Keeps the records if they are scattered and there is room."""
        count = len(records)
        if records[-1].line - records[0].line != count - 1 and self._room >= count:
            self._records[key] = records
            self._room -= count

    def of(self, key: object) -> Sequence[LogRecord]:
        """What was kept; nothing where counting lines is right."""
        return self._records.get(key, ())

    def clear(self) -> None:
        """Starts anew."""
        self._records.clear()
        self._room = MAX_RECORDS
