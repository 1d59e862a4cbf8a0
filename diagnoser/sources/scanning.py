"""Which triggers a regular file has behind its head, window by window.

Only what was found is kept, never the text. So threads can search far ahead of whoever reads the lines, in flat
memory: most windows have no trigger and are never looked at again; one that has is read once more when its turn
comes, for a small part of what parsing it takes.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Generator, Sequence

from diagnoser.records import NamedTuple

from .buffers import ALIGNED, aligned
from .bytestreams import FileStream
from .skipping import NUMBERS, Window
from .triggers import LONGEST, Finder

Idle = Callable[[], bool]
"""Whether a window without triggers is not needed now."""
AT_ONCE = 4
"""Windows that are read at once."""
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
        self._found: list[Found] = []

    def searched(self, first: int, stop: int, buffer: memoryview) -> list[Found]:
        """The triggers of some windows; `buffer`, used to read them, has `room` bytes and those of the windows."""
        room, size, offset = self.room, self.size, self.begin + first * self.size
        front = min(_OVERLAP, room, offset)  # a trigger may begin in the window before
        end = room + (stop - first) * size
        read = max(0, self._stream.read_at(offset - front, buffer[room - front : end]) - front)
        strong, weak = self._find(buffer[: room + read], room - min(front, LONGEST - 1), room)
        if not strong and not weak:
            return [Found(max(0, min(size, read - at))) for at in range(0, end - room, size)]
        return [_part(read, strong, weak, at, at + size, room) for at in range(0, end - room, size)]

    def take(self, number: int) -> Found:
        """The triggers of one window; each is asked for once, in order."""
        if not self._found:
            if self._buffer is None:
                self._buffer = aligned(self.room + AT_ONCE * self.size)
            self._found = self.searched(number, min(number + AT_ONCE, self.count), self._buffer)
            self._found.reverse()
        return self._found.pop()

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


def _part(read: int, strong: Sequence[int], weak: Sequence[int], begin: int, end: int, room: int) -> Found:
    """What was found in one window of several that were searched together."""
    first, last = bisect_right(strong, room + begin), bisect_right(strong, room + end)
    codes = bisect_left(weak, (room + begin + 1) * NUMBERS), bisect_left(weak, (room + end + 1) * NUMBERS)
    return Found(
        max(0, min(end, read) - begin),
        array("q", [place - begin for place in strong[first:last]]),
        array("q", [code - begin * NUMBERS for code in weak[slice(*codes)]]),
    )
