"""Cuts a stream into searched windows, each with what came before it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .bytestreams import ByteStream, FileStream
from .limits import Settings
from .scanning import Scan, striped
from .skipping import Skipper, Window
from .triggers import LONGEST, Finder

if TYPE_CHECKING:
    from .crew import Crew

STRIPED_BYTES = 8 * 1024 * 1024
"""Smaller files are not worth threads."""


def windows(
    stream: ByteStream, head: Window, find: Finder, settings: Settings, skipper: Skipper, scan: Scan | None = None
) -> Iterator[Window]:
    """The head, then windows of new bytes, at last one without any; a window is good until the next is asked for.

    `head` holds the first bytes of the stream, from index `skipper.lookback` on, in a buffer that has room for a
    window. Windows that the skipper does not need may be empty. `scan` has searched the stream already.
    """
    room, window = skipper.lookback, searched(head, find)
    yield window
    threads = min(settings.threads, processors())
    if isinstance(stream, FileStream) and stream.regular and hasattr(os, "preadv"):
        if scan is None:
            scan, crew = begin_scan(stream, window.end + window.base, room, find, settings, threads)
        else:
            crew = None
        try:
            window = yield from striped(scan, head.buffer, lambda: skipper.idle)
        finally:
            if crew is not None:
                crew.stop()
        stream.go_to(window.end + window.base)
    yield from _following(stream, window, head.buffer, find, room, settings)


def begin_scan(
    stream: FileStream, begin: int, room: int, find: Finder, settings: Settings, threads: int
) -> tuple[Scan, Crew | None]:
    """A scan of a regular file, and the threads that work at it where it is worth threads."""
    if threads < 2 or (stream.size or 0) < STRIPED_BYTES:
        return Scan(stream, begin, room, settings.window, find), None
    from .crew import Crew

    crew = Crew(threads)
    return crew.scan(stream, begin, room, settings.window, find), crew


def processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _following(
    stream: ByteStream, window: Window, buffer: bytearray, find: Finder, room: int, settings: Settings
) -> Iterator[Window]:
    """The windows behind this one, all in the same buffer."""
    view = memoryview(buffer)
    while True:
        kept = min(room, window.end - window.low)
        view[room - kept : room] = memoryview(window.buffer)[window.end - kept : window.end]
        read = stream.readinto(view[room : room + settings.window])
        window = Window(buffer, room - kept, room, room + read, window.end + window.base - room)
        if not read:
            break
        window = searched(window, find)
        yield window
    yield window


def searched(window: Window, find: Finder) -> Window:
    """The window with its triggers."""
    view = memoryview(window.buffer)[: window.end]
    strong, weak = find(view, max(window.low, window.start - LONGEST + 1), window.start)
    return window._replace(strong=strong, weak=weak) if strong or weak else window
