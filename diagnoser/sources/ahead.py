"""Reads a stream that can't be read twice, a pipe or a compressed file, in two threads of its own.

The first thread reads or expands, and searches too where reading is cheap. The second one counts newlines, searches
what the first did not, and drops the windows that no reader can need, however far behind it is: while the program
still starts, gigabytes can go by in flat memory.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from . import newlines
from .buffers import aligned
from .bytestreams import ByteStream
from .limits import Settings
from .skipping import Window
from .triggers import LONGEST, Finder, Hits
from .workers import Workers

_SLOTS = 5
_SEEN_BYTES = 64 * 1024
"""How far a newline is looked for at both ends of a window."""
_LULL = 0.02
"""Seconds without new bytes after which those at hand are passed on."""
_NOTHING = bytearray()


class _Slot:
    """Memory for one window, with what came before it."""

    def __init__(self, size: int) -> None:
        self.view = aligned(size)
        self.low = self.end = self.base = self.newlines = 0
        self.hits: Hits | None = None


class Ahead(Workers):
    """Reads the stream that `opener` opens: its head, then window by window."""

    patience = 0.1

    def __init__(self, opener: Callable[[], ByteStream], find: Finder, room: int, settings: Settings) -> None:
        super().__init__()
        self._opener, self._find, self._room, self._settings = opener, find, room, settings
        self._free = deque(_Slot(room + settings.window) for _ in range(_SLOTS))
        self._full: deque[_Slot] = deque()
        self._done: deque[_Slot | Exception | Window] = deque()
        self._stream: ByteStream | None = None
        head = bytearray(room + max(settings.window, settings.head))
        self._head = Window(head, room, room, room, -room)
        self._head_complete = False
        self._failed: Exception | None = None
        self._start([partial(self._guarded, work) for work in (self._read, self._count)])

    def stream(self) -> ByteStream:
        """Waits for the stream. Raises what opening it raised."""
        with self._changed:
            while self._stream is None and self._failed is None:
                self._changed.wait()
        if self._stream is None:
            self.stop()
            raise self._failed or RuntimeError
        return self._stream

    def head(self) -> Iterator[Window]:
        """The first bytes as they come in: as many as the settings name, fewer at the end of the stream."""
        given, complete = self._room, False
        while not complete:
            with self._changed:
                while self._head.end == given and not self._head_complete and self._failed is None:
                    self._changed.wait()
                window, complete = self._head._replace(start=given), self._head_complete
                if self._failed is not None:
                    raise self._failed
            given = window.end
            yield window

    def windows(self) -> Iterator[Window]:
        """The windows behind the head, at last one without new bytes; those that nobody needs are empty.

        A window is good until the next is asked for.
        """
        buffer = bytearray(self._room + self._settings.window)
        ended = False
        while not ended:
            with self._changed:
                while not self._done:
                    self._changed.wait()
                item = self._done.popleft()
            if isinstance(item, Exception):
                raise item
            if isinstance(item, Window):
                yield item
                continue
            buffer[item.low : item.end] = item.view[item.low : item.end]
            strong, weak = item.hits or ((), ())
            window = Window(buffer, item.low, self._room, item.end, item.base, strong, weak, item.newlines)
            ended = item.end == self._room
            self._put(self._free, item)
            yield window

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except _StoppedError:
            return
        except Exception as error:  # the reader waits for these threads and has to learn of it
            with self._changed:
                self._failed = error
                self._done.append(error)
                self._changed.notify_all()

    def _put(self, queue: deque[Any], slot: _Slot) -> None:
        with self._changed:
            queue.append(slot)
            self._changed.notify_all()

    def _taken(self, queue: deque[_Slot]) -> _Slot:
        with self._changed:
            while not queue and not self._stopped:
                self._changed.wait()
            if self._stopped:
                raise _StoppedError
            return queue.popleft()

    def _read(self) -> None:
        """The work of the first thread."""
        stream, room = self._opener(), self._room
        with self._changed:
            self._stream = stream
            self._changed.notify_all()
        head = self._read_head(stream)
        if head.end < room + self._settings.head:
            return
        kept = min(room, head.end - room)
        tail, place, ended = bytes(head.buffer[head.end - kept : head.end]), head.end - room, False
        while True:
            slot = self._taken(self._free)
            slot.low, slot.base = room - len(tail), place - room
            slot.view[slot.low : room] = tail
            slot.end, slot.hits = room, None
            ended = ended or self._fill(stream, slot)
            size, low = slot.end - room, max(slot.low, slot.end - room)
            tail, place = bytes(slot.view[low : slot.end]), place + size
            self._put(self._full, slot)
            if not size:
                return

    def _read_head(self, stream: ByteStream) -> Window:
        limit, view = self._room + self._settings.head, memoryview(self._head.buffer)
        while not self._head_complete:
            end = self._head.end
            read = stream.readinto(view[end:limit])
            with self._changed:
                self._head = self._head._replace(end=end + read)
                self._head_complete = not read or end + read == limit
                self._changed.notify_all()
        return self._head

    def _fill(self, stream: ByteStream, slot: _Slot) -> bool:
        """Reads new bytes into a slot, until nothing comes for a while; True when the stream has ended."""
        limit, ended = self._room + self._settings.window, False
        while slot.end < limit and not ended and not self._stopped:
            if slot.end > self._room and not stream.is_ready(_LULL):
                break
            read = stream.readinto(slot.view[slot.end : limit])
            slot.end += read
            ended = not read
        if not stream.expands:
            slot.hits = self._search(slot)
        return ended

    def _search(self, slot: _Slot) -> Hits:
        return self._find(slot.view[: slot.end], max(slot.low, self._room - LONGEST + 1), self._room)

    def _count(self) -> None:
        """The work of the second thread."""
        room, idle = self._room, False
        while True:
            slot = self._taken(self._full)
            strong, weak = slot.hits = slot.hits or self._search(slot)
            slot.newlines = newlines.in_buffer(slot.view, room, slot.end)
            clean = not strong and not weak
            if clean and idle and slot.end > room:
                self._drop(slot)
            else:
                self._put(self._done, slot)
            if slot.end == room:
                return
            idle = clean and self._leaves_idle(slot)

    def _drop(self, slot: _Slot) -> None:
        """Passes on that a window went by, together with those just before it that went by too."""
        place, count = slot.base + slot.end, slot.newlines
        with self._changed:
            if self._done and isinstance(last := self._done[-1], Window):
                self._done.pop()
                count += last.newlines or 0
            self._done.append(Window(_NOTHING, 0, 0, 0, place, newlines=count))
            self._free.append(slot)
            self._changed.notify_all()

    def _leaves_idle(self, slot: _Slot) -> bool:
        """True when a reader needs no window without triggers that follows on this one, which has none.

        Whatever was being read before it ends within it: a line that was open, and what is read behind that line.
        """
        first = bytes(slot.view[self._room : min(self._room + _SEEN_BYTES, slot.end)]).find(b"\n")
        begin = max(self._room, slot.end - _SEEN_BYTES)
        last = bytes(slot.view[begin : slot.end]).rfind(b"\n")
        return first >= 0 and last >= 0 and begin + last >= self._room + first + 1 + self._settings.after


class _StoppedError(Exception):
    """The threads have to end."""
