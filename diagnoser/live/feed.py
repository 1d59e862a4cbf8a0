"""The copy of a command's output on its way to the analysing process: a bounded queue that never makes anyone wait.

Frames go through a pipe: one byte for the kind, four for the length, then the payload. When the analysis lags behind
by more than `BACKLOG_BYTES`, output is left out of the analysis, counted, and reported as a gap (see `backlog`).
"""

from __future__ import annotations

import json
import os
import select
import struct
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from diagnoser.live.backlog import Backlog, Frame

BACKLOG_BYTES = 24 * 1024 * 1024
"""How far the analysis may lag behind before output is left out of it."""
_HEADER = struct.Struct(">BI")
_FIRST_WAIT = 0.02


class Feed:
    """The writing end. `put` and `tell` may be called from any thread and return at once."""

    def __init__(self, fd: int, backlog: int = BACKLOG_BYTES) -> None:
        self.broken = False
        """True when the analysing process is gone."""
        self._fd = fd
        self._waiting = Backlog(backlog)
        self._changed = threading.Condition(threading.Lock())
        self._closing = False
        self._thread = threading.Thread(target=self._send, name="feed", daemon=True)

    def start(self) -> None:
        """Starts the thread that writes to the pipe."""
        self._thread.start()

    def put(self, kind: int, data: bytes) -> None:
        """Output of the command, some of which is left out when too much of it waits."""
        with self._changed:
            if not self.broken:
                self._waiting.put(kind, data)
                self._changed.notify()

    def tell(self, kind: int, **values: Any) -> None:
        """Something about the command; never left out."""
        with self._changed:
            self._waiting.tell(kind, values)
            self._changed.notify()

    def close(self) -> None:
        """Closes the pipe as soon as everything that waits is sent."""
        with self._changed:
            self._closing = True
            self._changed.notify()

    def _send(self) -> None:
        try:
            while (frame := self._next()) is not None:
                _write_frame(self._fd, *frame)
                with self._changed:
                    self._waiting.sent(frame)
        except OSError:
            with self._changed:
                self.broken = True
                self._waiting.clear()
        finally:
            os.close(self._fd)

    def _next(self) -> Frame | None:
        with self._changed:
            while not self._waiting and not self._closing:
                self._changed.wait()
            return self._waiting.next()


def _write_frame(fd: int, kind: int, data: bytes) -> None:
    header = _HEADER.pack(kind, len(data))
    written = os.writev(fd, [header, data])
    while written < len(header) + len(data):
        if written < len(header):
            written += os.writev(fd, [header[written:], data])
        else:
            written += os.write(fd, memoryview(data)[written - len(header) :])


class FeedReader:
    """The reading end: `frames` gives each frame's kind and length; `read_into` or `read` its payload."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def frames(self, tick: Callable[[], None], seconds: float = 1.0) -> Iterator[tuple[int, int]]:
        """Kind and length of each frame; the payload must be read before the next one is asked for.

        `tick` is called about every `seconds`, and as soon as no frame is at hand for the first time.
        """
        poll = select.poll()
        poll.register(self._fd, select.POLLIN)
        wait = _FIRST_WAIT
        due = time.monotonic() + seconds
        while True:
            if not poll.poll(wait * 1000) or time.monotonic() >= due:
                tick()
                wait, due = seconds, time.monotonic() + seconds
                continue
            header = self.read(_HEADER.size)
            if len(header) < _HEADER.size:
                return
            kind, length = _HEADER.unpack(header)
            yield kind, length

    def read(self, size: int) -> bytes:
        """The next `size` bytes; fewer when the other end is gone."""
        data = bytearray(size)
        view = memoryview(data)
        have = 0
        while have < size and (read := self.read_into(view[have:])):
            have += read
        return bytes(data[:have])

    def values(self, size: int) -> dict[str, Any]:
        """The payload of a frame that `Feed.tell` or a gap made."""
        values: dict[str, Any] = json.loads(self.read(size))
        return values

    def read_into(self, buffer: memoryview) -> int:
        """Bytes put into the buffer; 0 when the other end is gone."""
        return os.readv(self._fd, [buffer])
