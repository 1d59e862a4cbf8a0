"""How far a long read is, on one line of the terminal that disappears at the end."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from diagnoser.sources import Source

_AFTER_SECONDS = 1.0
_EVERY_SECONDS = 0.2
_PACKED = (".gz", ".zst", ".xz", ".bz2", ".tgz", ".zip")


class Progress:
    """Shows bytes, rate and, where the sizes are known, the time left; nothing before a second has passed."""

    def __init__(
        self, sources: Sequence[Source], stream: TextIO = sys.stderr, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._stream, self._clock = stream, clock
        self._read = [0] * len(sources)
        self._begun = self._next = clock()
        self._next += _AFTER_SECONDS
        self._shown = False
        sizes = [_size(source.name) for source in sources]
        self._total = None if None in sizes else sum(size or 0 for size in sizes)
        for number, source in enumerate(sources):
            source.progress = partial(self._advance, number)

    def close(self) -> None:
        """Takes the line away."""
        if self._shown:
            self._stream.write("\r\x1b[K")
            self._stream.flush()

    def _advance(self, number: int, read: int) -> None:
        self._read[number] = read
        now = self._clock()
        if now < self._next:
            return
        self._next = now + _EVERY_SECONDS
        self._shown = True
        self._stream.write(f"\r\x1b[K{self._line(sum(self._read), now - self._begun)}")
        self._stream.flush()

    def _line(self, read: int, seconds: float) -> str:
        rate = read / seconds if seconds > 0 else 0.0
        line = f"read {_bytes(read)}"
        if self._total:
            line += f" of {_bytes(self._total)}"
        line += f", {_bytes(rate)}/s"
        if self._total and rate and read < self._total:
            line += f", {_duration((self._total - read) / rate)} left"
        return line


def shown() -> bool:
    """True when standard error is a terminal that can redraw a line."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def _size(name: str) -> int | None:
    """Bytes of a plain file; None for whatever has no size before it is read."""
    try:
        return None if name.lower().endswith(_PACKED) else os.path.getsize(name)
    except OSError:
        return None


def _bytes(size: float) -> str:
    for unit in ("B", "KB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def _duration(seconds: float) -> str:
    whole = round(seconds)
    return f"{whole // 60} min {whole % 60} s" if whole >= 60 else f"{whole} s"
