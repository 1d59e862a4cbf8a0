"""Reads a live stream whose bytes are handed in as they come: what a process prints, what is added to a file.

The same stretches are skipped as in a file; the lines of a stretch come out as soon as their bytes are in.
"""

from __future__ import annotations

from collections.abc import Iterator

from diagnoser.model import RawLine

from .bytestreams import ByteStream
from .limits import DEFAULT_LIMITS, DEFAULT_SETTINGS, Limits, Settings
from .reading import RunningCounter, SkipReader
from .skipping import Skipper, Window
from .splitting import Splitter
from .triggers import Finder, finder
from .windows import searched

LIVE_SETTINGS = DEFAULT_SETTINGS._replace(weak_lines=1000)
"""A live log goes on for weeks, so the weak triggers must not be used up in its first hour."""
_LEAST_ROOM = 64 * 1024


class PushReader(SkipReader):
    """`feed` bytes, or read them into `room()` and say how many with `advance`; `close` at the end."""

    def __init__(
        self, name: str, *, settings: Settings = LIVE_SETTINGS, limits: Limits = DEFAULT_LIMITS, skip: bool = True
    ) -> None:
        super().__init__(ByteStream(), Splitter(name, limits.line_bytes), settings, limits.line_bytes)
        self.name = name
        self.bytes = 0
        """Bytes handed in so far, left out ones included."""
        self.left_out = 0
        """Bytes that were left out."""
        self.notes: list[str] = []
        self._line_bytes = limits.line_bytes
        self._running = self._counter = RunningCounter()
        self._skip = skip
        self._find: Finder | None = None
        self._back = self._skipper.lookback
        self._buffer = bytearray(self._back + max(settings.window, settings.head))
        self._view = memoryview(self._buffer)
        self._window = Window(self._buffer, self._back, self._back, self._back, -self._back)
        self._head_left = settings.head if skip else 0

    @property
    def lines_read(self) -> int:
        """Physical lines given out."""
        return self._splitter.lines_read

    @property
    def lines_cut(self) -> int:
        """Lines longer than the limit."""
        return self._splitter.lines_cut

    @property
    def undecodable_bytes(self) -> int:
        """Bytes that were no text."""
        return self._splitter.undecodable_bytes

    def feed(self, data: bytes | memoryview) -> Iterator[RawLine]:
        """The lines to read that the next bytes complete."""
        left = memoryview(data)
        while left:
            room = self.room()
            size = min(len(left), len(room))
            room[:size] = left[:size]
            left = left[size:]
            yield from self.advance(size)

    def room(self) -> memoryview:
        """Where the next bytes are to be put."""
        if self._head_left and self._skip:
            return self._view[self._window.end : self._window.end + self._head_left]
        if len(self._buffer) - self._window.end < _LEAST_ROOM:
            self._shift()
        return self._view[self._window.end :]

    def advance(self, size: int) -> Iterator[RawLine]:
        """The lines to read that the `size` bytes just put into `room()` complete."""
        self.bytes += size
        window = self._window
        begin, end = window.end, window.end + size
        if not self._skip:
            self._window = window._replace(start=end, end=end)
            yield from self._splitter.feed(bytes(self._view[begin:end]))
            return
        if self._head_left:
            self._head_left -= size
            self._window = window = window._replace(end=end)
            yield from self._splitter.feed(bytes(self._view[begin:end]))
            if self._head_left:
                return
            self._skipper.given(end + window.base)
            yield from self._search(window)
        else:
            yield from self._search(window._replace(start=begin, end=end))

    def gap(self, size: int, newlines: int) -> Iterator[RawLine]:
        """Says that the next `size` bytes, with so many newlines, are left out."""
        self.bytes += size
        self.left_out += size
        yield from self._splitter.close()
        window = self._window
        if self._head_left or not self._skip:  # nothing was counted yet
            self._running.add(self._splitter.position[1] - 1)
            self._head_left = 0
        base = window.end + window.base + size - self._back
        self._window = Window(self._buffer, self._back, self._back, self._back, base)
        self._buffer[self._back - 1] = 0  # no newline: what comes next may begin inside a line
        self._running.add(newlines)
        hit = self._skipper.hit
        self._skipper = Skipper(self._settings, self._line_bytes)
        self._skipper.hit = hit
        self._skipper.given(self._window.end + base)
        if not self._skip:
            number = self._splitter.position[1] + newlines
            self._splitter.jump(self._window.end + base, number, inside_line=True)
        self.lines_skipped = None

    def close(self, *, tail: bool = False) -> Iterator[RawLine]:
        """The last lines; with `tail` the end of the stream is read even if nothing pointed to it."""
        window = self._window._replace(start=self._window.end)
        if self._head_left or not self._skip:
            yield from self._splitter.close()
            return
        self._skipper.hit = self._skipper.hit or tail
        if rest := self._skipper.finish(window):
            yield from self._stretch(window, *rest)
        yield from self._splitter.close()
        self._count_rest(window)

    def last_lines(self, count: int) -> list[str]:
        """Up to `count` last lines that hold anything, skipped ones included, as far as they are still at hand."""
        kept = bytes(self._view[self._window.low : self._window.end]).rpartition(b"\0")[2]
        lines = kept.replace(b"\r", b"\n").decode("utf-8", "replace").split("\n")
        return [line for line in lines if line.strip()][-count:]

    def _search(self, window: Window) -> Iterator[RawLine]:
        if self._find is None:
            self._find = finder()
        window = searched(window, self._find)
        for start, stop in self._skipper.feed(window):
            yield from self._stretch(window, start, stop)
        self._counter.leave(window, self._splitter)
        self._window = window._replace(strong=(), weak=())

    def _shift(self) -> None:
        """Moves what must stay at hand to the front of the buffer."""
        window = self._window
        kept = min(self._back, window.end - window.low)
        self._view[self._back - kept : self._back] = self._view[window.end - kept : window.end]
        base = window.base + window.end - self._back
        self._window = Window(self._buffer, self._back - kept, self._back, self._back, base)
