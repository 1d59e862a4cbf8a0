"""Support bundles: tar archives (also compressed) and zip archives, read as streams; nothing is written anywhere.

Listing a bundle gives its members. Members of a compressed tar are cheapest to read in the order in which they were
stored; going back means expanding the archive again from its start, which is done only to put rotated logs in their
order, and not without limit.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from diagnoser.records import NamedTuple

from .bytestreams import ByteStream, open_path, read_head
from .compression import Expanded
from .limits import Limits
from .magic import HEAD_BYTES, compression_of, is_tar, is_zip, looks_binary
from .paths import in_time_order, is_archive_name, may_be_log
from .tar import TarEntry, TarError, TarReader

_MAX_REWINDS = 8


class Member(NamedTuple):
    """One log inside a bundle."""

    name: str
    """Path inside the bundle, made relative and unique."""
    open: Callable[[], ByteStream]


class Listing(NamedTuple):
    """What a bundle holds."""

    members: list[Member]
    notes: list[str]
    """What was left out and why."""


def bundle_kind(path: str, head: bytes, limits: Limits) -> str | None:
    """`zip` or `tar` when the file is one, by its first bytes (expanded, for a compressed one). Raises OSError."""
    if is_zip(head):
        return "zip"
    if compression_of(head) is None:
        return "tar" if is_tar(head) else None
    stream = _expanded(path, limits)
    try:
        return "tar" if is_tar(read_head(stream, HEAD_BYTES)) else None
    finally:
        stream.close()


def list_bundle(path: str, kind: str, limits: Limits) -> Listing:
    """The logs in the bundle, in reading order. Raises OSError, or ValueError for a damaged archive."""
    selection = _Selection(limits)
    if kind == "zip":
        from .zips import ZipBundle

        bundle = ZipBundle(path, limits)
        bundle.choose(selection)
        order = in_time_order(list(selection.names))
        members = [Member(name, bundle.opener(selection.names[name])) for name in order]
        return Listing(members, selection.notes())
    return _list_tar(path, limits, selection)


class _Selection:
    """Chooses members and counts what is left out."""

    def __init__(self, limits: Limits) -> None:
        self.names: dict[str, int] = {}
        """Name of each chosen member, and its index."""
        self._limit = limits.archive_entries
        self._seen = 0
        self._left_out: dict[str, int] = {}

    def full(self) -> bool:
        """Counts one more entry; True when that is more than the limit."""
        self._seen += 1
        if self._seen <= self._limit:
            return False
        self.leave_out(f"what follows the first {self._limit} entries (limit)")
        return True

    def leave_out(self, why: str) -> None:
        """Counts one entry that is not read."""
        self._left_out[why] = self._left_out.get(why, 0) + 1

    def wants(self, name: str) -> bool | None:
        """Whether the entry is a log by its name; None when its content has to tell."""
        if is_archive_name(name):
            self.leave_out("an archive inside the archive")
            return False
        return may_be_log(name)

    def choose(self, name: str, index: int) -> None:
        """Take the entry; its name is made relative and unique."""
        clean = "/".join(part for part in name.replace("\\", "/").split("/") if part not in ("", ".", ".."))
        chosen, copy = clean, 1
        while chosen in self.names:
            copy += 1
            chosen = f"{clean}#{copy}"
        self.names[chosen] = index

    def notes(self) -> list[str]:
        """One sentence for each reason."""
        return [
            f"not read: {why} ({count})" if count > 1 else f"not read: {why}" for why, count in self._left_out.items()
        ]


def _expanded(path: str, limits: Limits) -> ByteStream:
    """The bytes of an archive, expanded when it is compressed."""
    file = open_path(path)
    kind = compression_of(file.peek(HEAD_BYTES))
    return file if kind is None else Expanded(file, kind, limits)


def _list_tar(path: str, limits: Limits, selection: _Selection) -> Listing:
    notes: list[str] = []
    reader = TarReader(_expanded(path, limits))
    try:
        while (entry := reader.next()) is not None and not selection.full():
            if _wanted(entry, reader, selection):
                selection.choose(entry.name, reader.index)
    except TarError as error:
        notes.append(str(error))
    finally:
        reader.close()
    bundle = _TarBundle(path, limits)
    order = _reading_order(selection.names)
    members = [Member(name, _opener(bundle, selection.names[name])) for name in order]
    return Listing(members, notes + selection.notes())


def _opener(bundle: _TarBundle, index: int) -> Callable[[], ByteStream]:
    return lambda: bundle.open(index)


def _wanted(entry: TarEntry, reader: TarReader, selection: _Selection) -> bool:
    if entry.kind != "file":
        if entry.kind != "folder":
            selection.leave_out("a link" if entry.kind == "link" else "a device or pipe")
        return False
    if not entry.size:
        return False
    wanted = selection.wants(entry.name)
    if wanted is None:
        buffer = memoryview(bytearray(HEAD_BYTES))
        wanted = not looks_binary(bytes(buffer[: reader.readinto(buffer)]))
    return wanted


def _reading_order(names: dict[str, int]) -> list[str]:
    """Rotated logs oldest first, unless that meant to expand the archive again and again."""
    stored = list(names)
    ordered = in_time_order(stored)
    rewinds = sum(names[after] < names[before] for before, after in pairwise(ordered))
    return ordered if rewinds <= _MAX_REWINDS else stored


class _TarBundle:
    """A tar archive whose members are opened one after the other, with one pass as long as they are in order."""

    def __init__(self, path: str, limits: Limits) -> None:
        self._path, self._limits = path, limits
        self._reader: TarReader | None = None
        self._busy = False

    def open(self, index: int) -> ByteStream:
        """The member with this index. Raises OSError, also when the archive is damaged before it."""
        if self._busy:  # someone reads two members at once
            return _TarMember(
                self._at(TarReader(_expanded(self._path, self._limits)), index), lambda reader: reader.close()
            )
        reader, self._reader = self._reader, None
        if reader is not None and reader.index >= index:
            reader.close()
            reader = None
        reader = self._at(reader or TarReader(_expanded(self._path, self._limits)), index)
        self._busy = True
        return _TarMember(reader, self._returned)

    def _at(self, reader: TarReader, index: int) -> TarReader:
        try:
            while reader.index < index:
                if reader.next() is None:
                    raise TarError("the archive changed while it was read")
        except TarError as error:
            reader.close()
            raise OSError(str(error)) from None
        return reader

    def _returned(self, reader: TarReader) -> None:
        self._reader, self._busy = reader, False


class _TarMember(ByteStream):
    """One member; the archive stays open for the next."""

    def __init__(self, reader: TarReader, release: Callable[[TarReader], None]) -> None:
        self._reader: TarReader | None = reader
        self._release = release

    def readinto(self, buffer: memoryview) -> int:
        """See `ByteStream`."""
        try:
            return self._reader.readinto(buffer) if self._reader is not None else 0
        except TarError as error:
            self.problem = str(error)
            return 0

    def close(self) -> None:
        """See `ByteStream`."""
        if self._reader is not None:
            self._release(self._reader)
            self._reader = None
