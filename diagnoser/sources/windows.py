"""Cuts a stream into searched windows, each with what came before it."""

from __future__ import annotations

import os
from collections.abc import Iterator

from .bytestreams import ByteStream, FileStream
from .limits import Settings
from .skipping import Window
from .triggers import LONGEST, Finder

STRIPED_BYTES = 32 * 1024 * 1024
"""Smaller files are not worth threads."""


def windows(stream: ByteStream, head: Window, find: Finder, room: int, settings: Settings) -> Iterator[Window]:
    """The head, then windows of new bytes, at last one without any; a window is good until the next is asked for.

    `head` holds the first bytes of the stream, from index `room` on, in a buffer that has room for a window.
    """
    window = searched(head, find)
    yield window
    threads = min(settings.threads, processors())
    if threads > 1 and isinstance(stream, FileStream) and _is_large(stream):
        from .striping import stripes

        for striped in stripes(stream, window, find, room, settings.window, threads):
            yield striped
            window = striped
        stream.go_to(window.end + window.base)
    elif threads > 1 and stream.worth_a_thread:
        from .ahead import ahead

        yield from ahead(stream, window, find, room, settings.window)
        return
    yield from _following(stream, window, head.buffer, find, room, settings)


def _is_large(stream: FileStream) -> bool:
    return (stream.size or 0) >= STRIPED_BYTES and hasattr(os, "preadv")


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
