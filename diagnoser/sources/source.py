"""One input: its name, the process that its path names, its lines, and what was read of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from diagnoser.model import UNKNOWN_PROCESS, Process, RawLine

from .bytestreams import ByteStream, FileStream, Peeked, read_head
from .compression import Expanded, compression_of
from .encodings import Transcoded, wide_encoding
from .limits import DEFAULT_LIMITS, Limits
from .splitting import Splitter

HEAD_BYTES = 512
_CHUNK_BYTES = 256 * 1024


class Source:
    """One log. `lines()` reads it once from the start; the counters are right while it runs and after it.

    `offset` of a line counts expanded bytes; in a UTF-16 log it counts bytes of the text as UTF-8.
    """

    def __init__(
        self,
        name: str,
        opener: Callable[[], ByteStream],
        *,
        process: Process = UNKNOWN_PROCESS,
        skip: bool = True,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self.name = name
        self.process = process
        self.notes: list[str] = []
        self.bytes = 0
        self.lines_skipped: int | None = 0
        """None when healthy stretches were left out without counting their lines."""
        self.skip = skip
        self._opener = opener
        self._limits = limits
        self._splitter = Splitter(name, limits.line_bytes)
        self._transcoded: Transcoded | None = None

    @property
    def lines_read(self) -> int:
        """Physical lines given out."""
        return self._splitter.lines_read

    @property
    def lines_cut(self) -> int:
        """Lines longer than the limit, of which only the beginning was kept."""
        return self._splitter.lines_cut

    @property
    def undecodable_bytes(self) -> int:
        """Bytes that were no text."""
        return self._splitter.undecodable_bytes + (self._transcoded.undecodable if self._transcoded else 0)

    def lines(self) -> Iterator[RawLine]:
        """Every line that is read, in order. Reading errors end it early and are told in `notes`."""
        try:
            stream = self._open()
        except (OSError, ImportError) as error:
            self.notes.append(f"{self.name}: not read: {_why(error)}")
            return
        try:
            yield from self._read(stream)
        finally:
            stream.close()
            if stream.problem:
                self.notes.append(f"{self.name}: {stream.problem}")
            if self.lines_cut:
                self.notes.append(
                    f"{self.name}: {self.lines_cut} lines were longer than {self._limits.line_bytes} bytes and were cut"
                )

    def _open(self) -> ByteStream:
        stream = self._opener()
        for _ in range(3):  # a compressed file may hold a compressed file, a bomb holds many
            head = read_head(stream, HEAD_BYTES)
            stream = Peeked(head, stream)
            kind = compression_of(head)
            if kind is None:
                break
            stream = Expanded(stream, kind, self._limits)
        encoding = wide_encoding(head)
        if encoding is not None:
            stream = self._transcoded = Transcoded(stream, encoding)
        return stream

    def _read(self, stream: ByteStream) -> Iterator[RawLine]:
        splitter = self._splitter
        buffer = memoryview(bytearray(_CHUNK_BYTES))
        while read := stream.readinto(buffer):
            self.bytes += read
            yield from splitter.feed(bytes(buffer[:read]))
        yield from splitter.close()


def _why(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return str(error)


__all__ = ["FileStream", "Source"]
