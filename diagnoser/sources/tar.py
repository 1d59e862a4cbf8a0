"""Reads tar archives front to back, entry by entry, with nothing held in memory and nothing written anywhere.

The standard library's reader takes a whole extended header into memory, however large it claims to be; this one reads
at most `_HEADER_BYTES` of it. Known are ustar, GNU (long names) and pax (path and size); of sparse files the stored
part is read.
"""

from __future__ import annotations

from diagnoser.records import NamedTuple

from .bytestreams import ByteStream

_BLOCK = 512
_HEADER_BYTES = 64 * 1024
_REGULAR = (b"0", b"\0", b"7", b"S")


class TarEntry(NamedTuple):
    """One entry that is a file, a link or something else."""

    name: str
    size: int
    kind: str
    """`file`, `folder`, `link`, or `other` (devices, pipes)."""


class TarError(Exception):
    """The archive is damaged; the message says how."""


class TarReader:
    """`next()` gives the entries in order; `readinto` reads the current one."""

    def __init__(self, stream: ByteStream) -> None:
        self.index = -1
        """Of the current entry, counted without the headers that only describe others."""
        self._stream = stream
        self._left = 0  # bytes of the current entry that were not read
        self._padding = 0

    def next(self) -> TarEntry | None:
        """The next entry; None at the end. Raises TarError."""
        name: str | None = None
        size: int | None = None
        while True:
            self._skip()
            block = self._header()
            if block is None:
                return None
            kind = block[156:157]
            own_size = _number(block[124:136])
            if kind in b"LKxg" and kind:
                data = self._extended(own_size)
                if kind == b"L":
                    name = data.rstrip(b"\0").decode("utf-8", "replace")
                elif kind == b"x":
                    fields = _pax(data)
                    name = fields.get("path", name)
                    size = _decimal(fields.get("size"), size)
                continue
            self.index += 1
            size = own_size if size is None else size
            entry = TarEntry(name or _name(block), size, _kind(kind))
            self._expect(size if entry.kind == "file" else 0)
            return entry

    def readinto(self, buffer: memoryview) -> int:
        """Bytes of the current entry; 0 at its end. Raises TarError when the archive ends before."""
        if not self._left:
            return 0
        read = self._stream.readinto(buffer[: self._left])
        if not read:
            raise TarError(self._stream.problem or "the archive ends too early (truncated)")
        self._left -= read
        return read

    def close(self) -> None:
        """Close the stream below."""
        self._stream.close()

    def _expect(self, size: int) -> None:
        self._left, self._padding = size, -size % _BLOCK

    def _skip(self) -> None:
        """Go to the end of the current entry."""
        rest = self._left + self._padding
        self._left = self._padding = 0
        if rest and self._stream.skip(rest) < rest:
            raise TarError(self._stream.problem or "the archive ends too early (truncated)")

    def _header(self) -> bytes | None:
        block = self._exactly(_BLOCK)
        if not block.strip(b"\0"):
            return None  # one zero block is enough of an end
        if not _checksum_holds(block):
            raise TarError("a header is damaged, what follows was not read")
        return block

    def _extended(self, size: int) -> bytes:
        data = self._exactly(min(size, _HEADER_BYTES))
        self._left, self._padding = size - len(data), -size % _BLOCK
        return data

    def _exactly(self, size: int) -> bytes:
        buffer = memoryview(bytearray(size))
        have = 0
        while have < size and (read := self._stream.readinto(buffer[have:])):
            have += read
        if have < size and (have or self._stream.problem):
            raise TarError(self._stream.problem or "the archive ends too early (truncated)")
        return bytes(buffer[:have])


def _kind(flag: bytes) -> str:
    if flag in _REGULAR:
        return "file"
    return {b"5": "folder", b"1": "link", b"2": "link"}.get(flag, "other")


def _name(block: bytes) -> str:
    name = block[:100].split(b"\0", 1)[0]
    prefix = block[345:500].split(b"\0", 1)[0] if block[257:263] == b"ustar\0" else b""
    return (prefix + b"/" + name if prefix else name).decode("utf-8", "replace")


def _number(field: bytes) -> int:
    if field[0] & 0x80:  # GNU: binary when the octal digits do not suffice
        return int.from_bytes(field, "big") & ((1 << (8 * len(field) - 1)) - 1)
    try:
        return int(field.strip(b"\0 ") or b"0", 8)
    except ValueError:
        raise TarError("a header is damaged, what follows was not read") from None


def _checksum_holds(block: bytes) -> bool:
    try:
        stated = int(block[148:156].strip(b"\0 ") or b"0", 8)
    except ValueError:
        return False
    return stated == sum(block) - sum(block[148:156]) + 8 * 32


def _pax(data: bytes) -> dict[str, str]:
    """The fields of an extended header: lines of `<length> <key>=<value>`."""
    fields: dict[str, str] = {}
    while data:
        length, _, _ = data.partition(b" ")
        if not length.isdigit() or len(length) > 6 or not 0 < int(length) <= len(data):
            break
        key, found, value = data[len(length) + 1 : int(length) - 1].partition(b"=")
        if found:
            fields[key.decode("utf-8", "replace")] = value.decode("utf-8", "replace")
        data = data[int(length) :]
    return fields


def _decimal(text: str | None, default: int | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 19 else default
