"""One input: its name, the process that its path names, its lines, and what was read of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from diagnoser.errors import InputError
from diagnoser.model import UNKNOWN_PROCESS, Process, RawLine

from .bytestreams import ByteStream, FileStream, Peeked, read_head
from .limits import DEFAULT_LIMITS, DEFAULT_SETTINGS, Limits, Settings
from .magic import HEAD_BYTES, compression_of, is_tar, is_zip, wide_encoding
from .splitting import Splitter

if TYPE_CHECKING:
    from .ahead import Ahead
    from .crew import Crew
    from .encodings import Transcoded
    from .reading import SkipReader


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
        settings: Settings = DEFAULT_SETTINGS,
        size: int | None = None,
        streamed: bool = False,
    ) -> None:
        self.name = name
        self.size = size
        """Bytes of the regular file that this is, when it was named; None for everything else."""
        self.process = process
        self.notes: list[str] = []
        self.error: InputError | None = None
        """Set by `lines()` when nothing could be read: the file vanished, a pipe is a folder, a library is missing."""
        self.bytes = 0
        self.lines_skipped: int | None = 0
        """None when healthy stretches were left out without counting their lines."""
        self.skip = skip
        self._opener = opener
        self.progress: Callable[[int], None] | None = None
        """Called with the bytes read so far, while healthy stretches are skipped too."""
        self.settings = settings
        self._limits = limits
        self._splitter = Splitter(name, limits.line_bytes)
        self.streamed = streamed
        """True for a compressed file, and for a pipe that may be read at any time."""
        self._transcoded: Transcoded | None = None
        self._ahead: Ahead | None = None
        self._started: tuple[ByteStream, SkipReader | None] | None = None
        self.ended: Callable[[], None] | None = None
        """Called when `lines()` is over."""

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
            stream, reader = self._opened()
        except (OSError, ImportError) as error:
            self.error = InputError(self.name, _why(error))
            self.notes.append(f"{self.name}: not read: {_why(error)}")
            if self.ended is not None:
                self.ended()
            return
        try:
            yield from self._read(stream, reader)
        finally:
            if reader is not None:
                reader.stop()
            stream.close()
            if self.ended is not None:
                self.ended()
            if stream.problem:
                self.notes.append(f"{self.name}: {stream.problem}")
            if self.lines_cut:
                lines = "1 line was" if self.lines_cut == 1 else f"{self.lines_cut} lines were"
                self.notes.append(f"{self.name}: {lines} longer than {self._limits.line_bytes} bytes and cut")

    def start(self, crew: Crew) -> bool:
        """Begin to open, read and search the log; the crew searches plain files. False if it can't be opened.

        Then `lines()` opens it, and says what is wrong with it.
        """
        if self.streamed:
            self._ahead = self._read_ahead(self._open)
            return True
        try:
            stream = self._open()
        except (OSError, ImportError):
            return False
        reader = None
        if isinstance(stream, FileStream) and stream.regular and self._is_skipped_through(stream):
            from .reading import SkipReader

            reader = SkipReader(stream, self._splitter, self.settings, self._limits.line_bytes)
            reader.start(crew)
        self._started = stream, reader
        return True

    def _read_ahead(self, opener: Callable[[], ByteStream]) -> Ahead:
        from .ahead import Ahead
        from .skipping import Skipper
        from .triggers import finder

        return Ahead(opener, finder(), Skipper(self.settings, self._limits.line_bytes).lookback, self.settings)

    def _opened(self) -> tuple[ByteStream, SkipReader | None]:
        """The stream, and its reader if reading has begun, or is worth threads."""
        if self._started is not None:
            started, self._started = self._started, None
            return started
        ahead, self._ahead = self._ahead, None
        stream = self._open() if ahead is None else ahead.stream()
        if ahead is None and self.skip and stream.worth_a_thread:
            from .windows import processors

            if min(self.settings.threads, processors()) > 1:
                ahead = self._read_ahead(lambda: stream)
        if ahead is None:
            return stream, None
        from .reading import SkipReader

        return stream, SkipReader(stream, self._splitter, self.settings, self._limits.line_bytes, ahead)

    def _open(self) -> ByteStream:
        stream = self._opener()
        for _ in range(3):  # a compressed file may hold a compressed file, a bomb holds many
            if isinstance(stream, FileStream) and stream.regular:
                head = stream.peek(HEAD_BYTES)
            else:
                head = read_head(stream, HEAD_BYTES)
                stream = Peeked(head, stream)
            kind = compression_of(head)
            if kind is None:
                self._note_archive(head)
                break
            from .compression import Expanded

            stream = Expanded(stream, kind, self._limits)
        encoding = wide_encoding(head)
        if encoding is not None:
            from .encodings import Transcoded

            stream = self._transcoded = Transcoded(stream, encoding)
        elif head.startswith(b"__CURSOR="):
            from .journal import JournalExport

            stream = JournalExport(stream)
        return stream

    def _note_archive(self, head: bytes) -> None:
        """An archive that came by a pipe, or lies in a compressed file inside another: its files are not told apart."""
        if is_tar(head) or is_zip(head):
            kind = "tar" if is_tar(head) else "zip"
            self.notes.append(f"{self.name}: a {kind} archive, read as one text; save it and give its path instead")

    def _is_skipped_through(self, stream: ByteStream) -> bool:
        size = stream.size if isinstance(stream, FileStream) else None
        return self.skip and (size is None or size > self.settings.whole)

    def _read(self, stream: ByteStream, reader: SkipReader | None) -> Iterator[RawLine]:
        if reader is None and not self._is_skipped_through(stream):
            size = stream.size if isinstance(stream, FileStream) else None
            buffer = memoryview(bytearray(_CHUNK_BYTES if size is None else min(max(size, 4095) + 1, _CHUNK_BYTES)))
            while read := stream.readinto(buffer):
                self._advance(self.bytes + read)
                yield from self._splitter.feed_all(buffer[:read])
            yield from self._splitter.close()
            return
        if reader is None:
            from .reading import SkipReader

            reader = SkipReader(stream, self._splitter, self.settings, self._limits.line_bytes)
        try:
            yield from reader.lines(self._advance)
        finally:
            self.lines_skipped = reader.lines_skipped
            self.notes.extend(f"{self.name}: {note}" for note in reader.limits_hit())

    def _advance(self, read: int) -> None:
        self.bytes = read
        if self.progress is not None:
            self.progress(read)


def _why(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return str(error)
