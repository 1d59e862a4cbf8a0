"""Reads, expands and searches a stream in another thread, while this one counts lines in what came before."""

from __future__ import annotations

import threading
from collections.abc import Iterator

from .bytestreams import ByteStream
from .skipping import Window
from .triggers import LONGEST, Finder, Hits

_SLOTS = 3
_PATIENCE = 1.0  # seconds


def ahead(stream: ByteStream, before: Window, find: Finder, room: int, size: int) -> Iterator[Window]:
    """The windows that follow on the window `before`; at last one without new bytes."""
    worker = _Worker(stream, before, find, room, size)
    try:
        while True:
            slot = worker.filled()
            kept = min(room, before.end - before.low)
            slot.view[room - kept : room] = memoryview(before.buffer)[before.end - kept : before.end]
            base = before.end + before.base - room
            strong, weak = slot.hits
            before = Window(slot.buffer, room - kept, room, room + slot.read, base, strong, weak)
            worker.give_back()
            yield before
            if not slot.read:
                return
    finally:
        worker.stop()


class _Slot:
    """A buffer for one window."""

    def __init__(self, size: int) -> None:
        self.buffer = bytearray(size)
        self.view = memoryview(self.buffer)
        self.read = 0
        self.hits: Hits = ([], [])


class _Worker:
    """The thread, and the slots that it fills in turn; one of them is the reader's, one holds what came before."""

    def __init__(self, stream: ByteStream, before: Window, find: Finder, room: int, size: int) -> None:
        self._stream, self._find, self._room, self._size = stream, find, room, size
        self._slots = [_Slot(room + size) for _ in range(_SLOTS)]
        self._overlap = bytes(memoryview(before.buffer)[max(before.low, before.end - LONGEST + 1) : before.end])
        self._full = threading.Semaphore(0)
        self._free = threading.Semaphore(_SLOTS - 1)
        self._number = 0
        self._stopped = False
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def filled(self) -> _Slot:
        """Waits for the next window."""
        self._full.acquire()
        if self._error is not None:
            raise self._error
        slot = self._slots[self._number % _SLOTS]
        self._number += 1
        return slot

    def give_back(self) -> None:
        """What came before the last window is not needed any more."""
        self._free.release()

    def stop(self) -> None:
        """Ends the thread, unless it is stuck in a read; then it ends with the program."""
        self._stopped = True
        self._free.release()
        self._thread.join(_PATIENCE)

    def _work(self) -> None:
        number = 0
        try:
            while True:
                self._free.acquire()
                if self._stopped:
                    return
                slot = self._slots[number % _SLOTS]
                self._fill(slot)
                number += 1
                self._full.release()
                if not slot.read:
                    return
        except BaseException as error:  # the reader waits for this thread and has to learn of it
            self._error = error
            self._full.release()

    def _fill(self, slot: _Slot) -> None:
        room, overlap = self._room, self._overlap
        slot.read = self._stream.readinto(slot.view[room : room + self._size])
        begin, end = room - len(overlap), room + slot.read
        slot.view[begin:room] = overlap
        slot.hits = self._find(slot.view[:end], begin, room)
        self._overlap = bytes(slot.view[max(begin, end - LONGEST + 1) : end])
