"""Joins the lines that a terminal broke at its right edge, in a log that was copied from its window.

    (EngineCore pid=43) ERROR 03-14 10:20:30 [core.py:1330] ValueError: To serve at lea
    st one request with the model's max seq len (100000), (4.26 GiB KV cache is needed,

In such a copy no line is longer than the window is wide, and every broken one is exactly that long.
"""

from __future__ import annotations

from collections.abc import Callable

from diagnoser.lazy import lazy
from diagnoser.model import RawLine

_NARROWEST = 60
_WIDEST = 512
"""Columns of a window."""
_WHOLE_FRAME = lazy(r'", line \d+, in [\w<>.]+$')


class Wraps:
    """The width of one source's window, once it is known, and the line that is not yet whole."""

    def __init__(self, is_prefix: Callable[[str], bool]) -> None:
        """`is_prefix` tells whether a text begins a line of its own."""
        self._is_prefix = is_prefix
        self._broken = False
        self._full: int | None = None
        self.width = _NARROWEST
        """Length of the longest line so far; shorter lines need not be shown to this object while it holds none."""
        self.held: RawLine | None = None

    def feed(self, raw: RawLine) -> list[RawLine]:
        """The lines that are whole now."""
        text, held = raw.text, self.held
        length = len(text)
        if length > self.width:
            self.width, self._broken, self._full = length, False, None
        if held is not None:
            self.held = None
            whole = text[:2] == "  " and _WHOLE_FRAME.search(held.text)
            if whole or not text or self._is_prefix(text):
                return [held, *self._take(raw, length)]
            raw = held._replace(text=held.text + text)
            if length == self.width and self._broken:
                self.held = raw
                return []
            return [raw]
        return self._take(raw, length)

    def close(self) -> list[RawLine]:
        """What is still held."""
        held, self.held = self.held, None
        return [held] if held is not None else []

    def _take(self, raw: RawLine, length: int) -> list[RawLine]:
        if length != self.width or length > _WIDEST:
            return [raw]
        if self._broken:
            self.held = raw
            return []
        # A record as long as the longest line, and behind it as long a line that begins nothing: it was broken there.
        if self._is_prefix(raw.text):
            self._full = raw.number
        elif self._full == raw.number - 1:
            self._broken = True
        return [raw]
