"""Lets another thread expand a compressed stream while this one searches what came before."""

from __future__ import annotations

import threading
from collections import deque

from .bytestreams import ByteStream

_CHUNK_BYTES = 256 * 1024
_CHUNKS = 4


class ReadAhead(ByteStream):
    """The same bytes as the stream below, which from now on only the thread reads."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._full: deque[tuple[memoryview, int]] = deque()
        self._free: deque[memoryview] = deque(memoryview(bytearray(_CHUNK_BYTES)) for _ in range(_CHUNKS))
        self._changed = threading.Condition()
        self._ended = False
        self._stopped = False
        self._error: BaseException | None = None
        self._rest = memoryview(b"")
        self._current: memoryview | None = None
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def readinto(self, buffer: memoryview) -> int:
        """See `ByteStream`."""
        have = 0
        while have < len(buffer) and (self._rest or self._next(wait=not have)):
            part = self._rest[: len(buffer) - have]
            buffer[have : have + len(part)] = part
            self._rest = self._rest[len(part) :]
            have += len(part)
        return have

    def close(self) -> None:
        """Ends the thread; the stream below stays open for its owner to close."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        self._thread.join()

    def _next(self, *, wait: bool) -> bool:
        """Take the next chunk; False when there is none, or none yet and `wait` is False."""
        with self._changed:
            if self._current is not None:
                self._free.append(self._current)
                self._current = None
                self._changed.notify_all()
            while wait and not self._full and not self._ended:
                self._changed.wait()
            if not self._full:
                if self._ended and self._error is not None:
                    raise self._error
                return False
            self._current, read = self._full.popleft()
        self._rest = self._current[:read]
        return True

    def _work(self) -> None:
        try:
            while True:
                with self._changed:
                    while not self._free and not self._stopped:
                        self._changed.wait()
                    if self._stopped:
                        return
                    chunk = self._free.popleft()
                read = self._stream.readinto(chunk)
                if not read:
                    return
                with self._changed:
                    self._full.append((chunk, read))
                    self._changed.notify_all()
        except BaseException as error:  # the reader waits for this thread and has to learn of it
            self._error = error
        finally:
            with self._changed:
                self._ended = True
                self._changed.notify_all()
