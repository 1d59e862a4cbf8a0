"""Begins to read before anyone asks for lines, while the caller still gets ready."""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from .limits import DEFAULT_SETTINGS
from .source import Source

if TYPE_CHECKING:
    from .crew import Crew

_OPEN_AT_ONCE = 32
"""Files that are opened before their turn."""
_STREAMS_AT_ONCE = 2
"""Of these so many that have threads and buffers of their own."""

_SWITCH_SECONDS = 0.0005
"""How long a thread waits for the interpreter's lock while another one computes. Python's 5 ms are as long as the
search of 30 MiB takes: the threads would stand still until the program has started."""


def read_ahead(sources: Sequence[Source], threads: int | None = None) -> None:
    """Let threads read and search the large logs among the sources, in order, ahead of whoever reads the lines.

    The lines, their numbers and the notes are the same as without. `threads` is by default that of the sources'
    settings, at most one for each processor; with one nothing is begun.
    """
    large = [source for source in sources if source.skip and (source.streamed or _is_large(source))]
    if not large:
        return
    from .windows import STRIPED_BYTES, processors

    wanted = min(DEFAULT_SETTINGS.threads, processors()) if threads is None else threads
    if wanted < 2:
        return
    if any(source.streamed for source in large) or sum(source.size or 0 for source in large) >= STRIPED_BYTES:
        from .crew import Crew

        _Fleet(large, Crew(wanted))


def _is_large(source: Source) -> bool:
    """A plain file that is skipped through; without `os.preadv` several threads can't read one file."""
    return (source.size or 0) > source.settings.whole and hasattr(os, "preadv")


class _Fleet:
    """Starts as many sources as may be open, and another one whenever one has ended."""

    def __init__(self, sources: Sequence[Source], crew: Crew) -> None:
        self._waiting = deque(sources)
        self._crew = crew
        self._files = self._streams = 0
        self._interval = sys.getswitchinterval()
        sys.setswitchinterval(_SWITCH_SECONDS)
        self._start_next()

    def _start_next(self) -> None:
        while self._waiting and self._files + self._streams < _OPEN_AT_ONCE:
            if self._waiting[0].streamed and self._streams == _STREAMS_AT_ONCE:
                return
            source = self._waiting.popleft()
            if source.start(self._crew):
                self._files += not source.streamed
                self._streams += source.streamed
                source.ended = partial(self._one_ended, source)

    def _one_ended(self, source: Source) -> None:
        source.ended = None
        self._files -= not source.streamed
        self._streams -= source.streamed
        self._start_next()
        if not self._files and not self._streams:
            self._crew.stop()
            sys.setswitchinterval(self._interval)
