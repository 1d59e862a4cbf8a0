"""Splits bytes into numbered lines of text, whatever the line ends, the encoding damage and the line lengths are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate, count, repeat

from diagnoser.model import RawLine

_BREAK = rb"[\r\0]+"
_ANY_END = rb"[\n\r\0]"
_ESCAPED = "[\udc80-\udcff]"
_PLUS_NEWLINE = (1).__add__
_AT_ONCE = 64 * 1024
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Splitter:
    """Turns pieces of a byte stream into `RawLine` values; the same lines come out however the stream is cut up.

    A line ends at a newline. Inside a line, carriage returns (progress bars) and NUL bytes (holes left by a log that
    was truncated while it was open) end a piece: each piece is a value of its own with the number of its line, so
    that numbers agree with `grep -n` and `sed -n`. Empty pieces are dropped; an empty line is kept.
    """

    def __init__(self, name: str, line_bytes: int, *, strip_mark: bool = True) -> None:
        self.name = name
        self.lines_read = 0
        self.lines_cut = 0
        self.undecodable_bytes = 0
        self._limit = line_bytes
        self._pending = b""
        self._offset = 0  # of the first byte of `_pending`, or of the next byte
        self._number = 1
        self._in_line = False  # a piece of the current line was already given out
        self._begun: int | None = None  # where the current line began, when bytes of it went by, given out or not
        self._dropping = False  # inside a piece that was cut; its rest is thrown away
        self._at_start = strip_mark

    @property
    def position(self) -> tuple[int, int]:
        """Offset and line number of the next byte that is expected."""
        return self._offset + len(self._pending), self._number

    def jump(self, offset: int, number: int, *, inside_line: bool = False) -> None:
        """Go on at another place of the stream; `inside_line` says that the line's beginning was left out."""
        self._offset, self._number = offset, number
        self._pending, self._dropping, self._in_line, self._begun = b"", False, inside_line, None
        self._at_start = self._at_start and offset == 0

    def feed_all(self, data: memoryview) -> Iterator[RawLine]:
        """The lines that much data completes, made a few at a time: empty lines take a hundred times its size."""
        for at in range(0, len(data), _AT_ONCE):
            yield from self.feed(bytes(data[at : at + _AT_ONCE]))

    def feed(self, data: bytes) -> list[RawLine]:
        """The lines that `data`, the next bytes of the stream, completes."""
        if self._at_start:
            data = self._without_mark(data)
            if self._at_start:
                return []
        lines: list[RawLine] = []
        if self._dropping:
            data = self._drop(data, lines)
        if self._pending:
            data = self._pending + data
            self._pending = b""
        end = data.rfind(b"\n") + 1
        if end:
            self._whole_lines(data[:end] if end < len(data) else data, lines)
            data, self._begun = data[end:], None
        if len(data) > self._limit:
            data = self._open_line(data, lines)
        self._pending = data
        return lines

    def close(self) -> list[RawLine]:
        """The last line, when it has no newline."""
        lines: list[RawLine] = []
        if self._at_start and self._pending:
            self._at_start = False
        data, self._pending = self._pending, b""
        if data:
            self._pieces(data, lines)
            self._offset += len(data)
        if data or self._begun is not None or self._in_line or self._dropping:
            self.lines_read += 1
        self._begun, self._in_line, self._dropping = None, False, False
        return lines

    def _without_mark(self, data: bytes) -> bytes:
        data = self._pending + data
        if len(data) < 3 and _BYTE_ORDER_MARK.startswith(data):
            self._pending = data
            return b""
        self._pending, self._at_start = b"", False
        if data.startswith(_BYTE_ORDER_MARK):
            self._offset += 3
            return data[3:]
        return data

    def _drop(self, data: bytes, lines: list[RawLine]) -> bytes:
        found = re.search(_ANY_END, data)
        if found is None:
            self._offset += len(data)
            return b""
        self._dropping = False
        self._offset += found.start()
        return data[found.start() :]

    def _whole_lines(self, block: bytes, lines: list[RawLine]) -> None:
        """`block` ends with a newline."""
        if self._in_line or self._begun is not None or b"\r" in block or b"\0" in block or not block.isascii():
            self._careful(block, lines)
            return
        texts = block.decode("ascii").split("\n")
        texts.pop()
        lengths = list(map(len, texts))
        if max(lengths) > self._limit:
            self._careful(block, lines)
            return
        offsets = accumulate(map(_PLUS_NEWLINE, lengths), initial=self._offset)
        # the constructor of a NamedTuple is written in Python; this way no Python runs per line
        values = zip(texts, repeat(self.name), count(self._number), offsets)
        lines.extend(map(tuple.__new__, repeat(RawLine), values))
        self._offset += len(block)
        self._number += len(texts)
        self.lines_read += len(texts)

    def _careful(self, block: bytes, lines: list[RawLine]) -> None:
        raw = block.split(b"\n")
        raw.pop()
        for line in raw:
            self._pieces(line, lines)
            if not self._in_line:
                start = self._offset if self._begun is None else self._begun
                lines.append(RawLine("", self.name, self._number, start))
            self._offset += len(line) + 1
            self._number += 1
            self.lines_read += 1
            self._in_line, self._begun = False, None

    def _open_line(self, data: bytes, lines: list[RawLine]) -> bytes:
        """Give out what can be given of a line longer than the limit whose end has not come; the rest is returned."""
        start = max(data.rfind(b"\r"), data.rfind(b"\0")) + 1
        if start:
            self._pieces(data[:start], lines)
            self._begun = self._offset if self._begun is None else self._begun
            self._offset += start
            data = data[start:]
        if len(data) > self._limit:
            self._pieces(data, lines)
            self._offset += len(data)
            self._dropping = True
            return b""
        return data

    def _pieces(self, line: bytes, lines: list[RawLine]) -> None:
        """Give out the pieces of (a part of) one line, which starts at `_offset`."""
        if b"\r" not in line and b"\0" not in line:
            if line:
                self._piece(line, self._offset, lines)
            return
        at = 0
        for found in re.finditer(_BREAK, line):
            if found.start() > at:
                self._piece(line[at : found.start()], self._offset + at, lines)
            at = found.end()
        if at < len(line):
            self._piece(line[at:], self._offset + at, lines)

    def _piece(self, data: bytes, offset: int, lines: list[RawLine]) -> None:
        if len(data) > self._limit:
            self.lines_cut += 1
            data = _whole_characters(data[: self._limit])
        try:
            text = data.decode()
        except UnicodeDecodeError:
            text, damaged = re.subn(_ESCAPED, "\ufffd", data.decode("utf-8", "surrogateescape"))
            self.undecodable_bytes += damaged
        self._in_line = True
        lines.append(RawLine(text, self.name, self._number, offset))


def _whole_characters(data: bytes) -> bytes:
    """Without the first bytes of a UTF-8 character that the cut went through."""
    for back in range(1, min(4, len(data) + 1)):
        byte = data[-back]
        if byte >= 0xC0:
            needed = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return data[:-back] if needed > back else data
        if byte < 0x80:
            return data
    return data
