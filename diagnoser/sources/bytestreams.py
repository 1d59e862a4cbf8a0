"""Plain bytes from files, pipes, memory and iterables, with one small interface.

`readinto` fills as much of the buffer as is at hand and returns the number of bytes, 0 at the end. A reading error
(EIO, a stale network file) ends the stream: what was read before stays good, and the reason is kept in `problem`.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from typing import BinaryIO

PIPE_BYTES = 1024 * 1024
_SKIP_BYTES = 256 * 1024
_SET_PIPE_SIZE = 1031  # F_SETPIPE_SZ of Linux; fcntl names it from Python 3.10 on, on Linux only


class ByteStream:
    """The interface, and an empty stream."""

    problem: str | None = None
    """Why the stream ended before its end."""
    stored: int | None = None
    """Bytes taken so far of the compressed file that this comes from; None where nothing was expanded."""
    worth_a_thread = False
    """True when reading takes time that another thread can spend."""
    expands = False
    """True when reading takes much of a processor's time."""

    def readinto(self, buffer: memoryview) -> int:
        """Bytes written to the front of `buffer`; 0 at the end."""
        return 0

    def is_ready(self, seconds: float) -> bool:
        """False when so much time went by without new bytes or the end of the stream; True where nobody can tell."""
        return True

    def skip(self, size: int) -> int:
        """Leave out the next `size` bytes; returns how many there were."""
        buffer = memoryview(bytearray(min(size, _SKIP_BYTES)))
        left = size
        while left and (read := self.readinto(buffer[:left])):
            left -= read
        return size - left

    def close(self) -> None:
        """Give back what the stream holds."""


class FileStream(ByteStream):
    """A file descriptor: a regular file, a pipe, a terminal, a device."""

    def __init__(self, fd: int, *, owned: bool) -> None:
        self.fd = fd
        self._owned = owned
        status = os.fstat(fd)
        self.regular = stat.S_ISREG(status.st_mode)
        self.size = status.st_size if self.regular else None
        """Bytes of a regular file when it was opened; it may grow or shrink while it is read."""
        self.origin = os.lseek(fd, 0, os.SEEK_CUR) if self.regular else 0
        """Where reading began (a redirected standard input need not stand at its start)."""
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(fd, "is a directory")
        self.worth_a_thread = not self.regular
        if stat.S_ISFIFO(status.st_mode):
            _widen_pipe(fd)

    def readinto(self, buffer: memoryview) -> int:
        """See `ByteStream`."""
        try:
            return os.readv(self.fd, [buffer]) if hasattr(os, "readv") else _read_into(self.fd, buffer)
        except OSError as error:
            self.problem = f"reading stopped: {error.strerror or error}"
            return 0

    def is_ready(self, seconds: float) -> bool:
        """See `ByteStream`."""
        if self.regular:
            return True
        import select

        try:
            return bool(select.select([self.fd], [], [], seconds)[0])
        except (OSError, ValueError):  # not a kind of file that it knows
            return True

    def skip(self, size: int) -> int:
        """See `ByteStream`; regular files need not be read for it."""
        if not self.regular:
            return super().skip(size)
        here = os.lseek(self.fd, 0, os.SEEK_CUR)
        there = max(here, min(here + size, os.fstat(self.fd).st_size))
        os.lseek(self.fd, there, os.SEEK_SET)
        return there - here

    def read_at(self, offset: int, buffer: memoryview) -> int:
        """Fill the buffer from a byte of a regular file; returns how many bytes there were. Needs `os.preadv`."""
        have = 0
        try:
            while have < len(buffer) and (read := os.preadv(self.fd, [buffer[have:]], self.origin + offset + have)):
                have += read
        except OSError as error:
            self.problem = f"reading stopped: {error.strerror or error}"
        return have

    def go_to(self, offset: int) -> None:
        """Let the next `readinto` of a regular file begin at a byte."""
        os.lseek(self.fd, self.origin + offset, os.SEEK_SET)

    def peek(self, wanted: int) -> bytes:
        """The first bytes of a regular file, without taking them."""
        try:
            return read_at(self.fd, wanted, self.origin)
        except OSError:
            return b""  # reading will fail too, and say why

    def close(self) -> None:
        """See `ByteStream`."""
        if self._owned and self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


class ObjectStream(ByteStream):
    """A binary file object without a descriptor."""

    def __init__(self, stream: BinaryIO) -> None:
        self._read = getattr(stream, "read1", stream.read)

    def readinto(self, buffer: memoryview) -> int:
        """See `ByteStream`."""
        try:
            data: bytes = self._read(len(buffer))
        except (OSError, ValueError, EOFError) as error:
            self.problem = f"reading stopped: {error}"
            return 0
        buffer[: len(data)] = data
        return len(data)


class MemoryStream(ByteStream):
    """Bytes at hand."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = memoryview(data), 0

    def readinto(self, buffer: memoryview) -> int:
        """See `ByteStream`."""
        part = self._data[self._at : self._at + len(buffer)]
        buffer[: len(part)] = part
        self._at += len(part)
        return len(part)


class IterableStream(ByteStream):
    """Lines from any iterable; a line end is added where one has none."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines: Iterator[str] = iter(lines)
        self._rest = memoryview(b"")

    def readinto(self, buffer: memoryview) -> int:
        """See `ByteStream`."""
        while not self._rest:
            line = next(self._lines, None)
            if line is None:
                return 0
            ended = line if line.endswith("\n") else line + "\n"
            self._rest = memoryview(ended.encode("utf-8", "replace"))
        part = self._rest[: len(buffer)]
        buffer[: len(part)] = part
        self._rest = self._rest[len(part) :]
        return len(part)


class Peeked(ByteStream):
    """A stream whose first bytes were looked at already."""

    def __init__(self, head: bytes, stream: ByteStream) -> None:
        self._head, self._stream = memoryview(head), stream
        self.worth_a_thread, self.stored, self.expands = stream.worth_a_thread, stream.stored, stream.expands

    def readinto(self, buffer: memoryview) -> int:
        """See `ByteStream`."""
        if self._head:
            part = self._head[: len(buffer)]
            buffer[: len(part)] = part
            self._head = self._head[len(part) :]
            return len(part)
        read = self._stream.readinto(buffer)
        self.stored = self._stream.stored
        if not read:
            self.problem = self._stream.problem
        return read

    def is_ready(self, seconds: float) -> bool:
        """See `ByteStream`."""
        return bool(self._head) or self._stream.is_ready(seconds)

    def close(self) -> None:
        """See `ByteStream`."""
        self._stream.close()


def read_at(fd: int, wanted: int, offset: int) -> bytes:
    """Bytes at a place of a regular file, without moving the place where reading goes on."""
    if hasattr(os, "pread"):
        return os.pread(fd, wanted, offset)
    here = os.lseek(fd, 0, os.SEEK_CUR)
    os.lseek(fd, offset, os.SEEK_SET)
    data = os.read(fd, wanted)
    os.lseek(fd, here, os.SEEK_SET)
    return data


def read_head(stream: ByteStream, wanted: int) -> bytes:
    """The first `wanted` bytes, fewer at the end of the stream."""
    buffer = bytearray(wanted)
    view = memoryview(buffer)
    have = 0
    while have < wanted and (read := stream.readinto(view[have:])):
        have += read
    return bytes(view[:have])


def open_path(path: str) -> FileStream:
    """The file at `path`, whatever kind it is. Raises OSError."""
    fd = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOCTTY", 0))
    try:
        return FileStream(fd, owned=True)
    except OSError:
        os.close(fd)
        raise


def open_object(stream: BinaryIO) -> ByteStream:
    """An open binary file object, by its descriptor where it has one and nothing of it was read ahead."""
    try:
        fd = stream.fileno()
    except (AttributeError, OSError, ValueError):
        return ObjectStream(stream)
    return FileStream(fd, owned=False)


def _read_into(fd: int, buffer: memoryview) -> int:
    data = os.read(fd, len(buffer))
    buffer[: len(data)] = data
    return len(data)


def _widen_pipe(fd: int) -> None:
    """A pipe of 64 KiB halves the speed of both its ends."""
    try:
        import fcntl

        fcntl.fcntl(fd, _SET_PIPE_SIZE, PIPE_BYTES)
    except (ImportError, OSError):
        pass  # not Linux, or no right to: only slower
