"""Decides which stretches of a large log are read line by line: those around trigger hits.

Read are the head of the log, each line that holds a trigger, the lines before it that fill `before` bytes, and those
that begin within `after` bytes after it; and, when a strong trigger was hit behind the head, the tail of the log.
Around a weak trigger less is read, and only around its first `weak_lines` lines, so that a chatty warning does not make
the whole log interesting. All this rests on the bytes of the log alone, never on how they were cut into windows.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from diagnoser.records import NamedTuple

from .limits import Settings

NUMBERS = 64
"""More than there are triggers."""
_LINE_ENDS = (b"\n", b"\r", b"\0")


class Window(NamedTuple):
    """New bytes with what came before them, in one buffer."""

    buffer: bytearray
    low: int
    """Index of the first byte at hand; the beginning of the log, or at least `Skipper.lookback` before `start`."""
    start: int
    """Index of the first new byte."""
    end: int
    base: int
    """Place in the log of index 0 (negative at the beginning of the log)."""
    strong: Sequence[int] = ()
    """Indices just behind the strong triggers that end in the new bytes, ascending."""
    weak: Sequence[int] = ()
    """The same for the weak ones, each times `NUMBERS` plus the number of the trigger."""
    newlines: int | None = None
    """How many newlines the new bytes hold, if they were counted."""


class Skipper:
    """Fed with windows that follow each other without a gap, gives the stretches of them to read."""

    def __init__(self, settings: Settings, line_bytes: int) -> None:
        self.hit = False
        """True when a trigger was found behind the head."""
        self.chatty: set[int] = set()
        """Weak triggers that came on more lines than were read for them."""
        self.lookback = max(line_bytes + settings.before + settings.slack, settings.tail + 1)
        self._settings = settings
        self._line_bytes = line_bytes
        self._done = 0  # every byte before this one was given out or dropped
        self._reading = True
        self._until = settings.head  # while reading: lines that begin before this byte are read
        self._open_after = 0  # not 0: how much to read after the end of the current line, which has not come yet
        self._passed_over = 0  # triggers before this byte lie in what is cut off
        self._weak_lines: dict[int, list[int]] = {}  # where the lines with each weak trigger begin

    @property
    def idle(self) -> bool:
        """True while windows without triggers change nothing."""
        return not self._reading and not self._open_after

    def given(self, end: int) -> None:
        """The log up to the byte `end`, within the head, was read already."""
        self._done = end

    def feed(self, window: Window) -> Iterator[tuple[int, int]]:
        """Index pairs of the stretches to read, in order."""
        if self._open_after:
            self._find_line_end(window, window.start, self._open_after)
        for end, after in self._marks(window):
            line = self._line_start(window, end - 1)
            if line is not None:
                yield from self._begin(window, line)
                self._find_line_end(window, end - 1, after)
        if self._reading:
            stop = self._stop(window)
            self._reading = stop is None
            begin, stop = self._done - window.base, window.end if stop is None else stop
            self._done = max(self._done, stop + window.base)
            if begin < stop:
                yield begin, stop

    def finish(self, window: Window) -> tuple[int, int] | None:
        """The rest to read when nothing follows the last window."""
        if self._reading or not self.hit:
            return None
        at = window.end - self._settings.tail
        at = window.buffer.find(b"\n", at - 1, window.end) + 1 if at + window.base > 0 else window.low
        begin = max(at, self._done - window.base)
        return (begin, window.end) if at > 0 and begin < window.end else None

    def _marks(self, window: Window) -> Iterator[tuple[int, int]]:
        """The triggers that matter: where each ends, and how much to read after its line; ascending.

        Of strong triggers that follow each other closely, only the last one matters: nothing between them is healthy.
        """
        weak = self._weak_marks(window)
        strong, at, after = window.strong, 0, self._settings.after
        while at < len(strong) or weak:
            at = bisect_right(strong, self._passed_over - window.base, at)
            if self._open_after == after or (at == len(strong) and not weak):
                return  # every other one is on the same line, whose end has not come
            if weak and (at == len(strong) or weak[0] < strong[at]):
                yield weak.pop(0), self._settings.weak_after
                continue
            if self._reading:
                at = max(at, bisect_right(strong, self._until - window.base) - 1)
            while weak and weak[0] < strong[at]:
                weak.pop(0)
            self.hit = self.hit or strong[at] + window.base > self._settings.head
            yield strong[at], after
            at += 1

    def _weak_marks(self, window: Window) -> list[int]:
        """Ends of the weak triggers on the first lines that hold each of them."""
        marks: list[int] = []
        for code in window.weak:
            end, number = divmod(code, NUMBERS)
            if end + window.base <= self._passed_over:
                continue
            line = self._line_start(window, end - 1) if number not in self.chatty else None
            lines = self._weak_lines.setdefault(number, [])
            if line is None or (lines and lines[-1] == line + window.base):
                continue
            if len(lines) == self._settings.weak_lines:
                self.chatty.add(number)
                continue
            lines.append(line + window.base)
            marks.append(end)
        return marks

    def _begin(self, window: Window, line: int) -> Iterator[tuple[int, int]]:
        """Start to read with what precedes the line at index `line`; gives the stretch that ended before, if any."""
        context = self._context_start(window, line) + window.base
        if not self._reading:
            self._done = max(self._done, context)
        elif (stop := self._stop(window)) is not None and stop + window.base < context:
            if self._done < stop + window.base:
                yield self._done - window.base, stop
            self._done = context
        self._reading = True

    def _find_line_end(self, window: Window, at: int, after: int) -> None:
        newline = window.buffer.find(b"\n", at, window.end)
        if newline < 0:
            self._open_after = max(self._open_after, after)
            return
        self._open_after = 0
        self._until = max(self._until, newline + 1 + window.base + after)

    def _stop(self, window: Window) -> int | None:
        """Index just behind the last line to read; None when its end has not come yet."""
        last = max(self._until - 1, self._done - 1) - window.base
        if self._open_after or last >= window.end:
            return None
        newline = window.buffer.find(b"\n", last, window.end)
        return None if newline < 0 else newline + 1

    def _line_start(self, window: Window, at: int) -> int | None:
        """Index where the line or piece begins that `at` is in; None when that part of it is cut off anyway."""
        floor = max(window.low, at - self._line_bytes)
        found = window.buffer.rfind(b"\n", floor, at)
        if found < 0:
            found = max(window.buffer.rfind(sign, floor, at) for sign in _LINE_ENDS[1:])
        if found >= 0:
            return found + 1
        if floor + window.base == 0:
            return floor
        ends = [found for found in (window.buffer.find(sign, at, window.end) for sign in _LINE_ENDS) if found >= 0]
        self._passed_over = min(ends, default=window.end) + window.base
        return None

    def _context_start(self, window: Window, line: int) -> int:
        """Index of the first line that is read before the line that begins at `line`."""
        wanted = line - self._settings.before
        if wanted + window.base <= 0:
            return window.low
        found = window.buffer.rfind(b"\n", max(window.low, wanted - self._settings.slack), wanted)
        if found < 0:
            found = window.buffer.find(b"\n", wanted, line)
        return found + 1 if found >= 0 else line
