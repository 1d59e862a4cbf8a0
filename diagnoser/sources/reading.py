"""Reads one large stream with its healthy stretches skipped."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from itertools import chain
from typing import TYPE_CHECKING

from diagnoser.model import RawLine

from . import newlines
from .bytestreams import ByteStream, FileStream
from .limits import Settings
from .skipping import Skipper, Window
from .splitting import Splitter
from .triggers import LITERALS, finder
from .windows import searched, windows

if TYPE_CHECKING:
    from .ahead import Ahead
    from .crew import Crew
    from .scanning import Scan

Progress = Callable[[int], None]
"""Told how many bytes were read, now and then."""


class SkipReader:
    """Yields the lines around triggers, with the numbers and offsets that they have in the whole log."""

    def __init__(
        self, stream: ByteStream, splitter: Splitter, settings: Settings, line_bytes: int, ahead: Ahead | None = None
    ) -> None:
        """`ahead` has begun to read the stream."""
        self.lines_skipped: int | None = 0
        self._stream, self._splitter, self._settings = stream, splitter, settings
        self._skipper = Skipper(settings, line_bytes)
        self._counter: _Counter = RunningCounter()
        self._scan: Scan | None = None
        self._ahead = ahead
        if ahead is None and isinstance(stream, FileStream) and stream.regular:
            self._counter = _LateCounter(stream.fd, stream.origin)

    def start(self, crew: Crew) -> None:
        """Let the crew search the stream, a regular file, before `lines` is called."""
        assert isinstance(self._stream, FileStream)
        settings = self._settings
        self._scan = crew.scan(self._stream, settings.head, self._skipper.lookback, settings.window, finder())

    def stop(self) -> None:
        """Ends the search; called when no more lines are wanted."""
        if self._scan is not None:
            self._scan.end()
        if self._ahead is not None:
            self._ahead.stop()

    def lines(self, progress: Progress) -> Iterator[RawLine]:
        """Every line that is read."""
        head = window = yield from self._head(progress)
        if head.end == self._skipper.lookback + self._settings.head:
            for window in self._windows(head):
                progress(window.end + window.base)
                for begin, stop in self._skipper.feed(window):
                    yield from self._stretch(window, begin, stop)
                self._counter.leave(window, self._splitter)
        if rest := self._skipper.finish(window):
            yield from self._stretch(window, *rest)
        yield from self._splitter.close()
        self._count_rest(window)

    def limits_hit(self) -> list[str]:
        """What was left out by a limit."""
        if not self._skipper.chatty:
            return []
        texts = ", ".join(repr(LITERALS[number].decode().strip()) for number in sorted(self._skipper.chatty))
        return [
            f"lines with {texts} came more than {self._settings.weak_lines} times: "
            "later ones were read only beside other trouble"
        ]

    def _head(self, progress: Progress) -> Generator[RawLine, None, Window]:
        """Reads the lines of the head, which is returned in a buffer that has room for a window."""
        room, limit = self._skipper.lookback, self._skipper.lookback + self._settings.head
        if self._ahead is not None:
            for head in self._ahead.head():
                yield from self._splitter.feed_all(memoryview(head.buffer)[head.start : head.end])
                progress(head.end - room)
            head = head._replace(start=room)
        else:
            buffer, end = bytearray(room + max(self._settings.window, self._settings.head)), room
            view = memoryview(buffer)
            while end < limit and (read := self._stream.readinto(view[end:limit])):
                yield from self._splitter.feed_all(view[end : end + read])
                end += read
                progress(end - room)
            head = Window(buffer, room, room, end, -room)
        self._skipper.given(head.end - room)
        return head

    def _windows(self, head: Window) -> Iterator[Window]:
        if self._ahead is None:
            return windows(self._stream, head, finder(), self._settings, self._skipper, self._scan)
        return chain((searched(head, finder()),), self._ahead.windows())

    def _stretch(self, window: Window, begin: int, stop: int) -> Iterator[RawLine]:
        offset, number = self._splitter.position
        if begin + window.base != offset:
            found = self._counter.number_at(window, begin, offset, number)
            if self.lines_skipped is not None:
                self.lines_skipped += found - number
            inside_line = window.buffer[begin - 1 : begin] != b"\n"
            self._splitter.jump(begin + window.base, found, inside_line=inside_line)
        yield from self._splitter.feed_all(memoryview(window.buffer)[begin:stop])

    def _count_rest(self, window: Window) -> None:
        offset, number = self._splitter.position
        if self.lines_skipped is not None and offset < window.end + window.base:
            total = self._counter.newlines_at_end()
            unended = window.buffer[window.end - 1 : window.end] != b"\n"
            self.lines_skipped = None if total is None else self.lines_skipped + total + unended - (number - 1)


class _Counter:
    """Knows line numbers."""

    def number_at(self, window: Window, index: int, offset: int, number: int) -> int:
        """The line number at the index of the window; at the byte `offset`, before it, the number is `number`."""
        raise NotImplementedError

    def leave(self, window: Window, splitter: Splitter) -> None:
        """The window is about to go."""

    def newlines_at_end(self) -> int | None:
        """How many newlines the whole log has; None when they were not counted."""
        return None


class _LateCounter(_Counter):
    """Counts the newlines of a regular file when a number is asked for, by reading that part again.

    Counting takes longer than the search for triggers; a healthy log never needs it.
    """

    def __init__(self, fd: int, origin: int) -> None:
        self._fd, self._origin = fd, origin

    def number_at(self, window: Window, index: int, offset: int, number: int) -> int:
        here = max(offset, window.low + window.base)
        number += newlines.in_file(self._fd, self._origin + offset, self._origin + here)
        return number + newlines.in_buffer(window.buffer, here - window.base, index)


class RunningCounter(_Counter):
    """Counts the newlines of everything that goes by, for streams that can't be read twice."""

    def __init__(self) -> None:
        self._newlines = 0  # before the start of the window

    def add(self, count: int) -> None:
        """Counts newlines that go by in another way than in a window."""
        self._newlines += count

    def number_at(self, window: Window, index: int, offset: int, number: int) -> int:
        """See `_Counter`."""
        if index >= window.start:
            return self._newlines + newlines.in_buffer(window.buffer, window.start, index) + 1
        return self._newlines - newlines.in_buffer(window.buffer, index, window.start) + 1

    def leave(self, window: Window, splitter: Splitter) -> None:
        """See `_Counter`."""
        offset, number = splitter.position
        known = offset - window.base
        if known > window.start:  # the splitter counted up to here
            self._newlines = number - 1 + newlines.in_buffer(window.buffer, known, window.end)
        elif window.newlines is not None:
            self._newlines += window.newlines
        else:
            self._newlines += newlines.in_buffer(window.buffer, window.start, window.end)

    def newlines_at_end(self) -> int | None:
        """See `_Counter`."""
        return self._newlines
