"""Reads and searches one large file with several threads; the windows still come in order.

Reading and searching both run outside the interpreter's lock. Each thread takes the next window of the file that no
other has taken, reads it at its place and searches it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator

from .bytestreams import FileStream
from .skipping import Window
from .triggers import LONGEST, Finder, Hits


def stripes(stream: FileStream, before: Window, find: Finder, room: int, size: int, threads: int) -> Iterator[Window]:
    """The full windows that follow on the window `before`, up to the size that the file had when it was opened.

    Ends early when the file turns out to be shorter.
    """
    crew = _Crew(stream, before.end + before.base, find, room, size, threads)
    try:
        for number in range(crew.count):
            slot = crew.filled(number)
            kept = min(room, before.end - before.low)
            slot.view[room - kept : room] = memoryview(before.buffer)[before.end - kept : before.end]
            if number:
                crew.give_back()
            strong, weak = slot.hits
            base = before.end + before.base - room
            before = Window(slot.buffer, room - kept, room, room + slot.read, base, strong, weak)
            yield before
            if slot.read < size:
                return
    finally:
        crew.stop()


class _Slot:
    """A buffer for one window."""

    def __init__(self, size: int) -> None:
        self.buffer = bytearray(size)
        self.view = memoryview(self.buffer)
        self.ready = threading.Semaphore(0)
        self.read = 0
        self.hits: Hits = ([], [])
        self.error: BaseException | None = None


class _Crew:
    """The threads, and the slots that they fill in turn."""

    def __init__(self, stream: FileStream, begin: int, find: Finder, room: int, size: int, threads: int) -> None:
        self.count = max(0, ((stream.size or 0) - begin) // size)
        """How many windows there are to fill."""
        self._stream, self._begin, self._find, self._room, self._size = stream, begin, find, room, size
        self._slots = [_Slot(room + size) for _ in range(threads + 2)]
        self._free = threading.Semaphore(len(self._slots))
        self._lock = threading.Lock()
        self._taken = 0
        self._stopped = False
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(threads)]
        for thread in self._threads:
            thread.start()

    def filled(self, number: int) -> _Slot:
        """Waits for a window; called with each number in order."""
        slot = self._slots[number % len(self._slots)]
        slot.ready.acquire()
        if slot.error is not None:
            raise slot.error
        return slot

    def give_back(self) -> None:
        """The oldest slot in use may be filled again."""
        self._free.release()

    def stop(self) -> None:
        """Ends the threads."""
        self._stopped = True
        self._free.release(len(self._threads))
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        while True:
            self._free.acquire()
            with self._lock:
                number = self._taken
                self._taken += 1
            if self._stopped or number >= self.count:
                return
            slot = self._slots[number % len(self._slots)]
            try:
                self._fill(slot, self._begin + number * self._size)
            except BaseException as error:  # the consumer waits for this slot and has to learn of it
                slot.error = error
            slot.ready.release()

    def _fill(self, slot: _Slot, offset: int) -> None:
        overlap = min(LONGEST - 1, offset)  # a trigger may begin in the window before
        begin = self._room - overlap
        slot.read = max(0, self._stream.read_at(offset - overlap, slot.view[begin:]) - overlap)
        slot.hits = self._find(slot.view[: self._room + slot.read], begin, self._room)
