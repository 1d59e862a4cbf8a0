"""Files that grow, as `tail -F` reads them: rotated, truncated, deleted, or not there yet."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator

from diagnoser.records import NamedTuple

CHUNK_BYTES = 256 * 1024
MAX_TURN_BYTES = 8 * 1024 * 1024
"""Bytes that are read of one file before the next one has its turn."""


class News(NamedTuple):
    """What is new in a file: bytes, or that it begins anew."""

    data: bytes = b""
    anew: bool = False


class GrowingFile:
    """One path. `news` gives what was written since it was asked last."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._fd = -1
        self._place: tuple[int, int] | None = None
        self._offset = 0

    def news(self) -> Iterator[News]:
        """What came since the last call, at most some megabytes of it; nothing when there is nothing new."""
        if self._fd < 0 and not self._open():
            return
        left = MAX_TURN_BYTES
        while left > 0:
            data = self._read()
            if data:
                left -= len(data)
                yield News(data)
            elif self._replaced():
                yield News(anew=True)
                if not self._open():
                    return
            elif self._truncated():
                yield News(anew=True)
            else:
                return

    def close(self) -> None:
        """Gives the file back."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _open(self) -> bool:
        self.close()
        try:
            self._fd = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)
            status = os.fstat(self._fd)
        except OSError:
            return False
        if stat.S_ISDIR(status.st_mode):
            self.close()
            return False
        self._place, self._offset = (status.st_dev, status.st_ino), 0
        return True

    def _read(self) -> bytes:
        try:
            data = os.read(self._fd, CHUNK_BYTES)
        except OSError:  # a network file that went stale, say: looked at again next time
            return b""
        self._offset += len(data)
        return data

    def _replaced(self) -> bool:
        """True when another file has the name now; what was deleted is kept open until there is one."""
        try:
            status = os.stat(self.path)
        except OSError:
            return False
        return (status.st_dev, status.st_ino) != self._place

    def _truncated(self) -> bool:
        with contextlib.suppress(OSError):
            if os.fstat(self._fd).st_size < self._offset:
                self._offset = os.lseek(self._fd, 0, os.SEEK_SET)
                return True
        return False
