"""Cuts a stream into searched windows, each with what came before it."""

from __future__ import annotations

from collections.abc import Iterator

from .bytestreams import ByteStream, FileStream
from .limits import Settings
from .skipping import Window
from .triggers import LONGEST, Finder


def windows(stream: ByteStream, head: Window, find: Finder, room: int, settings: Settings) -> Iterator[Window]:
    """The head, then windows of new bytes, at last one without any; a window is good until the next is asked for.

    `head` holds the first bytes of the stream, from index `room` on, in a buffer that has room for a window.
    """
    window = searched(head, find)
    yield window
    if isinstance(stream, FileStream):
        from .striping import stripes, threads_for

        if (threads := threads_for(stream, settings.threads)) > 1:
            for striped in stripes(stream, window, find, room, settings.window, threads):
                yield striped
                window = striped
            stream.go_to(window.end + window.base)
    view = memoryview(head.buffer)
    while True:
        kept = min(room, window.end - window.low)
        view[room - kept : room] = memoryview(window.buffer)[window.end - kept : window.end]
        read = stream.readinto(view[room : room + settings.window])
        window = Window(head.buffer, room - kept, room, room + read, window.end + window.base - room)
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
