"""Zip archives. Their members can be read in any order; the directory at the end of the file is read first."""

from __future__ import annotations

import os
import stat
import zipfile
import zlib
from typing import IO, TYPE_CHECKING, Protocol

from .bytestreams import ByteStream
from .limits import RATIO_FREE_BYTES, Limits
from .magic import HEAD_BYTES, looks_binary

if TYPE_CHECKING:
    from collections.abc import Callable

_ENCRYPTED = 0x1
_DIRECTORY_BYTES = 64 * 1024**2
_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError, ValueError)


class Selection(Protocol):
    """What chooses members (see `bundles`)."""

    names: dict[str, int]

    def full(self) -> bool:
        """Counts one more entry; True when that is more than the limit."""

    def leave_out(self, why: str) -> None:
        """Counts one entry that is not read."""

    def wants(self, name: str) -> bool | None:
        """Whether the entry is a log by its name."""

    def choose(self, name: str, index: int) -> None:
        """Take the entry."""


class ZipBundle:
    """A zip archive that is open as long as one of its members can still be asked for."""

    def __init__(self, path: str, limits: Limits) -> None:
        if directory_bytes(path) > _DIRECTORY_BYTES:
            raise ValueError("the archive's directory is too large (limit)")
        try:
            self._archive = zipfile.ZipFile(path)
        except _ERRORS as error:
            raise ValueError(f"the zip archive is damaged ({error})") from None
        self._limits = limits
        # Entries may overlap, so that each alone looks harmless: the ratio holds for the whole file too.
        self.most = min(limits.expanded_bytes, max(RATIO_FREE_BYTES, limits.ratio * os.path.getsize(path)))
        """Bytes that may be expanded in all."""
        self._left = self.most

    def choose(self, selection: Selection) -> None:
        """Let `selection` choose among the members."""
        for index, entry in enumerate(self._archive.infolist()):
            if selection.full():
                break
            if entry.filename.endswith("/") or not entry.file_size:
                continue
            if entry.flag_bits & _ENCRYPTED:
                selection.leave_out("an encrypted entry")
            elif stat.S_ISLNK(entry.external_attr >> 16):
                selection.leave_out("a link")
            elif self._wanted(entry, selection):
                selection.choose(entry.filename, index)

    def opener(self, index: int) -> Callable[[], ByteStream]:
        """Opens the member with this index."""
        return lambda: self.open(index)

    def open(self, index: int) -> ByteStream:
        """The member with this index. Raises OSError when it can't be read."""
        entry = self._archive.infolist()[index]
        try:
            return _ZipMember(self._archive.open(entry), entry.compress_size, self, self._limits)
        except _ERRORS as error:
            raise OSError(f"the zip entry is damaged or of an unknown kind ({error})") from None

    def take(self, size: int) -> bool:
        """Counts expanded bytes; False when the limit for the whole archive is reached."""
        self._left -= size
        return self._left >= 0

    def _wanted(self, entry: zipfile.ZipInfo, selection: Selection) -> bool:
        wanted = selection.wants(entry.filename)
        if wanted is None:
            try:
                with self._archive.open(entry) as file:
                    wanted = not looks_binary(file.read(HEAD_BYTES))
            except _ERRORS:
                selection.leave_out("a damaged entry, or one of an unknown kind")
                return False
        return wanted


class _ZipMember(ByteStream):
    def __init__(self, file: IO[bytes], stored: int, bundle: ZipBundle, limits: Limits) -> None:
        self._file, self._bundle, self._limits = file, bundle, limits
        self._stored, self._out = max(stored, 1), 0

    def readinto(self, buffer: memoryview) -> int:
        """See `ByteStream`."""
        if self.problem is not None:
            return 0
        try:
            data = self._file.read(min(len(buffer), 256 * 1024))
        except _ERRORS as error:
            self.problem = f"the zip entry is damaged, the rest was not read ({error})"
            return 0
        self._out += len(data)
        if not self._bundle.take(len(data)):
            self.problem = f"reading stopped after {self._bundle.most} expanded bytes (limit)"
            return 0
        if self._out > RATIO_FREE_BYTES and self._out > self._limits.ratio * self._stored:
            self.problem = f"reading stopped: the data expands to more than {self._limits.ratio} times its size (limit)"
            return 0
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """See `ByteStream`."""
        self._file.close()


def directory_bytes(path: str) -> int:
    """The stated size of the archive's directory: what opening it takes into memory."""
    with open(path, "rb") as file:
        end = file.seek(0, 2)
        file.seek(max(0, end - 65_557))
        tail = file.read()
    at = tail.rfind(b"PK\x05\x06")
    stated = int.from_bytes(tail[at + 12 : at + 16], "little") if at >= 0 else 0
    return end if stated == 0xFFFFFFFF else stated
