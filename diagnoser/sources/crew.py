"""Threads that search files ahead of whoever reads their lines.

Reading and searching both run outside the interpreter's lock, so threads use as many processors as there are. They
take the windows of all scans in the order in which the scans were added.
"""

from __future__ import annotations

import atexit
import threading
from collections import deque

from .buffers import aligned
from .bytestreams import FileStream
from .scanning import Found, Scan
from .triggers import Finder

_AT_ONCE = 4
"""Windows that a thread takes at once: each time it has to wait for the interpreter's lock."""
_MOST_KEPT = 64 * 1024
"""Windows and triggers that were found and not asked for yet; with more, threads wait."""
_PATIENCE = 1.0  # seconds


class Crew:
    """So many threads, which begin with the first scan and end with `stop`, at the latest with the program."""

    def __init__(self, threads: int) -> None:
        self._size = threads
        self._threads: list[threading.Thread] = []
        self._changed = threading.Condition()
        self._scans: deque[_CrewScan] = deque()
        self._kept = 0
        self._starved = False
        self._stopped = False

    def scan(self, stream: FileStream, begin: int, room: int, size: int, find: Finder) -> Scan:
        """Begin to search a file."""
        scan = _CrewScan(self, stream, begin, room, size, find)
        with self._changed:
            self._scans.append(scan)
            self._changed.notify_all()
        if not self._threads:
            atexit.register(self.stop)  # a thread in native code must not outlive the interpreter
            self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(self._size)]
            for thread in self._threads:
                thread.start()
        return scan

    def stop(self) -> None:
        """Ends the threads."""
        atexit.unregister(self.stop)
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join(_PATIENCE)

    def take(self, scan: _CrewScan, number: int) -> Found:
        """Waits for a window's triggers. Raises what went wrong in the thread that searched it."""
        with self._changed:
            scan.wanted = number
            if number not in scan.found:
                if scan.next <= number and self._scans[0] is not scan:  # not read in the order of adding
                    self._scans.remove(scan)
                    self._scans.appendleft(scan)
                while number not in scan.found:
                    self._starved = scan.next <= number  # threads that wait with other windows must go on
                    self._changed.notify_all()
                    self._changed.wait()
                self._starved = False
            found = scan.found.pop(number)
            was_full = self._kept > _MOST_KEPT
            self._kept -= _weight(found)
            if was_full:
                self._changed.notify_all()
        if isinstance(found, BaseException):
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
        while (ticket := self._ticket()) is not None:
            scan, first, stop = ticket
            if buffer is None or len(buffer) < scan.room + scan.size:
                buffer = aligned(scan.room + scan.size)
            number, clean = first, []
            while number < stop and not scan.ended and not self._stopped:
                found = _tried(scan, number, buffer)
                clean.append(found)
                number += 1
                if number == stop or _weight(found) > 1:  # keep little that nobody has counted
                    self._give(scan, number - len(clean), clean)
                    clean = []

    def _ticket(self) -> tuple[_CrewScan, int, int] | None:
        """The next windows to search; None at the end."""
        with self._changed:
            while not self._stopped:
                while self._scans and self._scans[0].next >= self._scans[0].count:
                    self._scans.popleft()
                if self._scans:
                    scan = self._scans[0]
                    first, scan.next = scan.next, min(scan.next + _AT_ONCE, scan.count)
                    return scan, first, scan.next
                self._changed.wait()
        return None

    def _give(self, scan: _CrewScan, first: int, found: list[Found | BaseException]) -> None:
        """Keeps what was found, once there is room for it or somebody waits for it."""
        with self._changed:
            while self._kept > _MOST_KEPT and not self._starved and not first <= scan.wanted < first + len(found):
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
        self.found: dict[int, Found | BaseException] = {}
        self.wanted = 0
        """The window that is asked for next."""
        self.ended = False

    def take(self, number: int) -> Found:
        """See `Scan`."""
        return self._crew.take(self, number)

    def end(self) -> None:
        """See `Scan`."""
        self._crew.end(self)


def _tried(scan: Scan, number: int, buffer: memoryview) -> Found | BaseException:
    try:
        return scan.searched(number, buffer)
    except BaseException as error:  # whoever waits for this window has to learn of it
        return error


def _weight(found: Found | BaseException) -> int:
    return 1 if isinstance(found, BaseException) else 1 + len(found.strong) + len(found.weak)
