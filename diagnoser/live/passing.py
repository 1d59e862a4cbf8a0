"""Passes what a command prints through, byte for byte, and hands a copy to the analysis.

Blocking reads and writes, as `cat` does: a slow reader slows the command down exactly as it would without us.
"""

from __future__ import annotations

import errno
import os
import select
import threading
import time
from collections.abc import Callable

CHUNK_BYTES = 256 * 1024
Take = Callable[[bytes], None]


class Passage(threading.Thread):
    """Copies from one descriptor to another until the first ends or the second has no reader left."""

    def __init__(self, source: int, target: int, take: Take, stop: int) -> None:
        super().__init__(name=f"passage to {target}", daemon=True)
        self.source, self.target = source, target
        self.ended = False
        """True when the source is at its end."""
        self.reader_gone = False
        """True when nobody reads the target any more: the source was closed, as it would be without us."""
        self.lost = 0
        """Bytes that could not be written (a full disk)."""
        self.problem = ""
        self.busy = False
        """True while bytes that were read wait to be written."""
        self.last = time.monotonic()
        """When bytes were read last."""
        self._take = take
        self._stop_pipe = stop

    def run(self) -> None:
        """Copies until the end, or until `stop` can be read and nothing waits."""
        poll = select.poll()
        poll.register(self.source, select.POLLIN)
        poll.register(self._stop_pipe, select.POLLIN)
        while True:
            ready = {fd for fd, _ in poll.poll()}
            if self.source not in ready:
                return
            self.busy = True
            data = read_some(self.source)
            if not data:
                self.ended = True
                break
            self.last = time.monotonic()
            if not self._write(data):
                self.reader_gone = True
                break
            self._hand_over(data)
            self.busy = False
        self.busy = False
        os.close(self.source)

    def _hand_over(self, data: bytes) -> None:
        try:
            self._take(data)
        except Exception:  # whatever is wrong with the analysis, the command's output goes on
            self._take = _nobody

    def _write(self, data: bytes) -> bool:
        """False when the reader is gone."""
        left = memoryview(data)
        while left:
            try:
                left = left[os.write(self.target, left) :]
            except BlockingIOError:
                select.select([], [self.target], [])
            except OSError as error:
                if error.errno in (errno.EPIPE, errno.EIO, errno.ECONNRESET):
                    return False
                self.lost += len(left)
                self.problem = error.strerror or str(error)
                return True
        return True


def _nobody(data: bytes) -> None:
    """Takes nothing."""


def read_some(fd: int) -> bytes:
    """What is at hand, empty at the end; a pseudo-terminal whose other side is closed is at its end."""
    try:
        return os.read(fd, CHUNK_BYTES)
    except OSError:
        return b""


def go_on(passages: list[tuple[int, int]]) -> None:
    """Passes on, without analysis, what processes left behind by the command still print, until they end."""
    poll = select.poll()
    targets = dict(passages)
    for source in targets:
        poll.register(source, select.POLLIN)
    while targets:
        for source, _ in poll.poll():
            data = read_some(source)
            try:
                written = 0
                while written < len(data):
                    written += os.write(targets[source], data[written:])
            except OSError:
                data = b""
            if not data:
                poll.unregister(source)
                os.close(source)
                del targets[source]
