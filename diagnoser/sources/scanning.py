"""Which triggers a regular file has behind its head, window by window.

Only what was found is kept, never the text. So threads can search far ahead of whoever reads the lines, in flat
memory: most windows have no trigger and are never looked at again; one that has is read once more when its turn
comes, for a small part of what parsing it takes.
"""

from collections.abc import Callable, Generator, Sequence
from typing import NamedTuple

from .buffers import ALIGNED, aligned
from .bytestreams import FileStream
from .skipping import Window
from .triggers import LONGEST, Finder

Idle = Callable[[], bool]
"""Whether a window without triggers is not needed now."""
_OVERLAP = -(-(LONGEST - 1) // ALIGNED) * ALIGNED
_NOTHING = bytearray()


class Found(NamedTuple):
    """The triggers of one window; see `Window` for the indices."""

    read: int
    """New bytes; fewer than a window holds when the file was truncated."""
    strong: Sequence[int] = ()
    weak: Sequence[int] = ()


class Scan:
    """One file's windows of `size` new bytes each, from the byte `begin` on; only full ones are counted."""

    def __init__(self, stream: FileStream, begin: int, room: int, size: int, find: Finder) -> None:
        self.begin, self.size, self.room = begin, size, room
        self.count = max(0, ((stream.size or 0) - begin) // size)
        """How many windows there are, by the size that the file had when it was opened."""
        self._stream, self._find = stream, find
        self._buffer: memoryview | None = None

    def searched(self, number: int, buffer: memoryview) -> Found:
        """The triggers of one window; `buffer` is used to read it and has `room + size` bytes."""
        room, offset = self.room, self.begin + number * self.size
        front = min(_OVERLAP, room, offset)  # a trigger may begin in the window before
        read = max(0, self._stream.read_at(offset - front, buffer[room - front : room + self.size]) - front)
        strong, weak = self._find(buffer[: room + read], room - min(front, LONGEST - 1), room)
        return Found(read, strong, weak) if strong or weak else Found(read)

    def take(self, number: int) -> Found:
        """The triggers of one window; each is asked for once, in order."""
        if self._buffer is None:
            self._buffer = aligned(self.room + self.size)
        return self.searched(number, self._buffer)

    def end(self) -> None:
        """Nothing more is wanted."""

    def text(self, number: int, buffer: bytearray, size: int) -> tuple[int, int]:
        """Read what came before a window, and its first `size` bytes; returns how many bytes of each there were."""
        offset = self.begin + number * self.size
        kept = min(self.room, offset)
        with memoryview(buffer) as view:
            read = self._stream.read_at(offset - kept, view[self.room - kept : self.room + size])
        return min(read, kept), max(0, read - kept)


def striped(scan: Scan, buffer: bytearray, idle: Idle) -> Generator[Window, None, Window]:
    """The windows of a scan, in `buffer`; those that nobody needs are empty.

    Ends early when the file turns out to be shorter than it was. Returns a window without new bytes, behind which
    reading can go on.
    """
    room, number = scan.room, 0
    try:
        while number < scan.count:
            found, offset = scan.take(number), scan.begin + number * scan.size
            if found.read < scan.size:
                break
            if not found.strong and not found.weak and idle():
                yield Window(_NOTHING, 0, 0, 0, offset + scan.size)
            else:
                kept, read = scan.text(number, buffer, scan.size)
                if read < scan.size:
                    break
                yield Window(buffer, room - kept, room, room + read, offset - room, found.strong, found.weak)
            number += 1
    finally:
        scan.end()
    offset = scan.begin + number * scan.size
    low = room - min(room, offset)
    end = low + scan.text(number, buffer, 0)[0]
    return Window(buffer, low, end, end, offset - room)
