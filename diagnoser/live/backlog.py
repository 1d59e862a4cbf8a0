"""Output that waits for the analysis, as much of it as has room: its beginning and its end.

Where the analysis lags behind, something has to be left out. What failed first stands early in a flood of errors, and
what a command died of stands last in what it printed; so it is the middle, which is counted and told of as a gap.
"""

from __future__ import annotations

import json
from collections import deque
from typing import Any

STDOUT, STDERR, GAP, PASSED_ON, ENDED = 1, 2, 3, 4, 5
"""Kinds of frames: output of the command, output that was left out, a signal passed on to it, its end."""
_OUTPUT = (STDOUT, STDERR)

Frame = tuple[int, bytes]


class Backlog:
    """A queue of frames, of whose output at most `size` bytes are kept."""

    def __init__(self, size: int) -> None:
        self._half = size // 2
        self._first: deque[Frame] = deque()
        self._room = self._half
        """Bytes of output that the first half still has room for."""
        self._last: deque[Frame] = deque()
        self._kept = 0
        """Bytes of output in the last half."""
        self._left_out: dict[int, tuple[int, int]] = {}
        """Bytes and newlines left out between the halves, by kind."""

    def __bool__(self) -> bool:
        return bool(self._first or self._last or self._left_out)

    def put(self, kind: int, data: bytes) -> None:
        """Adds output; the oldest of the last half is left out where it has no more room."""
        if not self._last and not self._left_out and len(data) <= self._room:
            self._first.append((kind, data))
            self._room -= len(data)
            return
        self._last.append((kind, data))
        self._kept += len(data)
        while self._kept > self._half:
            self._leave_out(*self._last.popleft())

    def _leave_out(self, kind: int, data: bytes) -> None:
        if kind not in _OUTPUT:  # what is told is kept, a little early
            self._first.append((kind, data))
            return
        self._kept -= len(data)
        size, newlines = self._left_out.get(kind, (0, 0))
        self._left_out[kind] = size + len(data), newlines + data.count(b"\n")

    def tell(self, kind: int, values: dict[str, Any]) -> None:
        """Adds something about the command, which is never left out."""
        frames = self._last if self._last or self._left_out else self._first
        frames.append((kind, json.dumps(values).encode()))

    def next(self) -> Frame | None:
        """The next frame; `sent` says when it no longer takes room."""
        if not self._first:
            for stream, (size, newlines) in self._left_out.items():
                gap = {"stream": stream, "size": size, "newlines": newlines}
                self._first.append((GAP, json.dumps(gap).encode()))
            self._first += self._last
            self._room -= self._kept
            self._left_out, self._last, self._kept = {}, deque(), 0
        return self._first.popleft() if self._first else None

    def sent(self, frame: Frame) -> None:
        """Makes room for as much output as the frame held."""
        kind, data = frame
        if kind in _OUTPUT:
            self._room += len(data)

    def clear(self) -> None:
        """Drops everything."""
        self._first, self._last, self._left_out = deque(), deque(), {}
