"""Threads that search files ahead of whoever reads their lines.

Reading and searching both run outside the interpreter's lock, so threads use as many processors as there are. They
take the windows of all scans in the order in which the scans were added.
"""

from __future__ import annotations

from collections import deque

from .buffers import aligned
from .bytestreams import FileStream
from .scanning import AT_ONCE, Found, Scan
from .triggers import Finder
from .workers import Workers

_MOST_KEPT = 64 * 1024
"""Windows and triggers that were found and not asked for yet; with more, threads wait."""


class Crew(Workers):
    """Threads that begin with the first scan and end with `stop`, at the latest with the program.

    Whoever waits for a window searches too: of `threads`, which is at least two, one is the reader's. So there is
    never more to run than there are processors, and the reader, with all its other work, is not held up.
    """

    def __init__(self, threads: int) -> None:
        super().__init__()
        self._size = threads - 1
        self._scans: deque[_CrewScan] = deque()
        self._kept = 0
        self._own_buffer: memoryview | None = None

    def scan(self, stream: FileStream, begin: int, room: int, size: int, find: Finder) -> Scan:
        """Begin to search a file."""
        scan = _CrewScan(self, stream, begin, room, size, find)
        with self._changed:
            self._scans.append(scan)
            self._changed.notify_all()
        if not self._threads:
            self._start([self._work] * self._size)
        return scan

    def take(self, scan: _CrewScan, number: int) -> Found:
        """Waits for a window's triggers. Raises what went wrong in the thread that searched it."""
        while number not in scan.found:
            with self._changed:
                scan.wanted = number
                if scan.next <= number and self._scans[0] is not scan:  # not read in the order of adding
                    self._scans.remove(scan)
                    self._scans.appendleft(scan)
                self._changed.notify_all()
                ticket = self._next_ticket()
                while ticket is None and number not in scan.found:
                    self._changed.wait()
            if ticket is not None:
                self._own_buffer = self._search(ticket, self._own_buffer, wait=False)
        with self._changed:
            found = scan.found.pop(number)
            was_full = self._kept > _MOST_KEPT
            self._kept -= _weight(found)
            if was_full:
                self._changed.notify_all()
        if isinstance(found, Exception):
            raise found
        return found

    def end(self, scan: _CrewScan) -> None:
        """Nothing more is wanted of a scan."""
        with self._changed:
            scan.ended = True
            if scan in self._scans:
                self._scans.remove(scan)
            self._kept -= sum(map(_weight, scan.found.values()))
            scan.found.clear()
            self._changed.notify_all()

    def _work(self) -> None:
        buffer = None
        while True:
            with self._changed:
                ticket = self._next_ticket()
                while ticket is None and not self._stopped:
                    self._changed.wait()
                    ticket = self._next_ticket()
            if ticket is None or self._stopped:
                return
            buffer = self._search(ticket, buffer, wait=True)

    def _next_ticket(self) -> _Ticket | None:
        """The next windows to search, if there are any."""
        while self._scans and self._scans[0].next >= self._scans[0].count:
            self._scans.popleft()
        if not self._scans:
            return None
        scan = self._scans[0]
        first, scan.next = scan.next, min(scan.next + AT_ONCE, scan.count)
        return scan, first, scan.next

    def _search(self, ticket: _Ticket, buffer: memoryview | None, *, wait: bool) -> memoryview:
        """Does what a ticket says, in this buffer or a larger one, which is returned."""
        scan, first, stop = ticket
        needed = scan.room + AT_ONCE * scan.size
        if buffer is None or len(buffer) < needed:
            buffer = aligned(needed)
        self._give(scan, first, _tried(scan, first, stop, buffer), wait=wait)
        return buffer

    def _give(self, scan: _CrewScan, first: int, found: list[Found | Exception], *, wait: bool) -> None:
        """Keeps what was found, once there is room for it or somebody waits for it."""
        with self._changed:
            while wait and self._kept > _MOST_KEPT and not first <= scan.wanted < first + len(found):
                if scan.ended or self._stopped:
                    return
                self._changed.wait()
            if scan.ended:
                return
            scan.found.update(enumerate(found, first))
            self._kept += sum(map(_weight, found))
            if first <= scan.wanted < first + len(found):
                self._changed.notify_all()


class _CrewScan(Scan):
    """A scan that a crew works at."""

    def __init__(self, crew: Crew, stream: FileStream, begin: int, room: int, size: int, find: Finder) -> None:
        super().__init__(stream, begin, room, size, find)
        self._crew = crew
        self.next = 0
        """The first window that no thread has taken."""
        self.found: dict[int, Found | Exception] = {}
        self.wanted = 0
        """The window that is asked for next."""
        self.ended = False

    def take(self, number: int) -> Found:
        """See `Scan`."""
        return self._crew.take(self, number)

    def end(self) -> None:
        """See `Scan`."""
        self._crew.end(self)


_Ticket = tuple[_CrewScan, int, int]
"""A scan, and its windows to search: the first one, and the one behind the last."""


def _tried(scan: Scan, first: int, stop: int, buffer: memoryview) -> list[Found | Exception]:
    try:
        return [*scan.searched(first, stop, buffer)]
    except Exception as error:  # whoever waits for these windows has to learn of it
        return [error] * (stop - first)


def _weight(found: Found | Exception) -> int:
    return 1 if isinstance(found, Exception) else 1 + len(found.strong) + len(found.weak)
