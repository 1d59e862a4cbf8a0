"""Begins to read before anyone asks for lines, while the caller still gets ready."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from .limits import DEFAULT_SETTINGS
from .source import Source

if TYPE_CHECKING:
    from .crew import Crew

_OPEN_AT_ONCE = 32
"""Files that are opened before their turn."""


def read_ahead(sources: Sequence[Source], threads: int | None = None) -> None:
    """Let threads search the large files among the sources, in order, some of them ahead of whoever reads the lines.

    The lines, their numbers and the notes are the same as without. `threads` is by default that of the sources'
    settings, at most one for each processor; with one nothing is begun.
    """
    large = [source for source in sources if source.skip and (source.size or 0) > source.settings.whole]
    if not large or not hasattr(os, "preadv"):
        return
    from .windows import STRIPED_BYTES, processors

    wanted = min(DEFAULT_SETTINGS.threads, processors()) if threads is None else threads
    if wanted < 2 or sum(source.size or 0 for source in large) < STRIPED_BYTES:
        return
    from .crew import Crew

    _Fleet(large, Crew(wanted))


class _Fleet:
    """Starts as many sources as may be open, and another one whenever one has ended."""

    def __init__(self, sources: Iterable[Source], crew: Crew) -> None:
        self._waiting = iter(sources)
        self._crew = crew
        self._begun = 0
        for _ in range(_OPEN_AT_ONCE):
            self._start_next()

    def _start_next(self) -> None:
        for source in self._waiting:
            if source.start(self._crew):
                self._begun += 1
                source.ended = self._one_ended
                return

    def _one_ended(self) -> None:
        self._begun -= 1
        self._start_next()
        if not self._begun:
            self._crew.stop()
