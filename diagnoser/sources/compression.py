"""Compressed logs: gzip, bzip2, xz and zstd, known by their first bytes, expanded piece by piece.

The libraries are imported when such a file appears. `isal` expands gzip three times as fast as zlib; without it, zlib
does. zstd needs Python 3.14 or the package backports.zstd.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Protocol

from .bytestreams import ByteStream
from .limits import RATIO_FREE_BYTES, Limits
from .magic import compression_of

_READ_BYTES = 128 * 1024
_GZIP_WINDOW = 31  # zlib's wbits: the largest window, with a gzip header


class _Expander(Protocol):
    """What the decompressors of the standard library have in common."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


class Expanded(ByteStream):
    """The expanded bytes of a compressed stream, of all its members."""

    worth_a_thread = expands = True

    def __init__(self, stream: ByteStream, kind: str, limits: Limits) -> None:
        self._stream, self._kind, self._limits = stream, kind, limits
        self._new, self._errors = _expander(kind)
        self._expander: _Expander | None = self._new()
        self._input = memoryview(bytearray(_READ_BYTES))
        self._given = b""
        self._taken = 0
        self.stored = 0
        self._out = 0

    def readinto(self, buffer: memoryview) -> int:
        """See `ByteStream`."""
        if self.problem is not None:
            return 0
        try:
            data = self._next(len(buffer))
        except self._errors as error:
            self.problem = f"the {self._kind} data is damaged, the rest was not read ({error})"
            return 0
        self._out += len(data)
        if data and self._too_much():
            return 0
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """See `ByteStream`."""
        self._expander = None
        self._stream.close()

    def _next(self, wanted: int) -> bytes:
        while self._expander is not None:
            if self._expander.eof:
                if not self._next_member():
                    return b""
                continue
            if self._given or not self._expander.needs_input:
                data = self._expander.decompress(self._given, wanted)
                self._given = b""
            else:
                read = self._stream.readinto(self._input)
                if not read:
                    self.problem = self._stream.problem or f"the {self._kind} data ends too early (truncated file)"
                    return b""
                self._count(read)
                data = self._expander.decompress(bytes(self._input[:read]), wanted)
            if data:
                return data
        return b""

    def _next_member(self) -> bool:
        """Go to the next member of a concatenated file; False at the end."""
        expander = self._expander
        rest = expander.unused_data if expander is not None else b""
        self._expander = None
        rest = rest.lstrip(b"\0")  # padding is allowed between and after members
        while len(rest) < 6:
            read = self._stream.readinto(self._input)
            if not read:
                break
            self._count(read)
            rest = (rest + bytes(self._input[:read])).lstrip(b"\0")
        if not rest:
            self.problem = self._stream.problem
            return False
        if compression_of(rest) != self._kind:
            self.problem = f"what follows the {self._kind} data is not {self._kind} data, it was not read"
            return False
        self._expander, self._given = self._new(), rest
        return True

    def _count(self, read: int) -> None:
        """Counts what was taken; of data that was compressed twice, what the outermost file gave."""
        self._taken += read
        self.stored = self._taken if self._stream.stored is None else self._stream.stored

    def _too_much(self) -> bool:
        if self._out > self._limits.expanded_bytes:
            self.problem = f"reading stopped after {self._limits.expanded_bytes} expanded bytes (limit)"
        elif self._out > RATIO_FREE_BYTES and self._out > self._limits.ratio * max(self.stored or 0, 1):
            self.problem = f"reading stopped: the data expands to more than {self._limits.ratio} times its size (limit)"
        return self.problem is not None


class _ZlibExpander:
    """Gives zlib's and isal's objects the interface of the others."""

    def __init__(self, inner: object) -> None:
        self._inner: object = inner

    @property
    def eof(self) -> bool:
        return bool(self._inner.eof)  # type: ignore[attr-defined]

    @property
    def needs_input(self) -> bool:
        return not self._inner.unconsumed_tail  # type: ignore[attr-defined]

    @property
    def unused_data(self) -> bytes:
        return bytes(self._inner.unused_data)  # type: ignore[attr-defined]

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        tail: bytes = self._inner.unconsumed_tail  # type: ignore[attr-defined]
        return self._inner.decompress(tail + data if tail else data, max_length)  # type: ignore[attr-defined,no-any-return]


def _zlib() -> ModuleType:
    try:
        from isal import isal_zlib
    except ImportError:
        import zlib

        return zlib
    return isal_zlib


def _expander(kind: str) -> tuple[Callable[[], _Expander], tuple[type[Exception], ...]]:
    """A maker of decompressors, and the errors they raise. Raises ImportError when no library is at hand."""
    if kind == "gzip":
        zlib = _zlib()
        return lambda: _ZlibExpander(zlib.decompressobj(_GZIP_WINDOW)), (zlib.error, EOFError)
    if kind == "bzip2":
        import bz2

        return bz2.BZ2Decompressor, (OSError, EOFError, ValueError)
    if kind == "xz":
        import lzma

        return lambda: lzma.LZMADecompressor(memlimit=160 * 1024**2), (lzma.LZMAError, EOFError)
    try:
        from compression import zstd  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        from backports import zstd
    return zstd.ZstdDecompressor, (zstd.ZstdError, EOFError)
