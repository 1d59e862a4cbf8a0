"""Keeps the compact form of a rule directory in a cache file, so that a run need not read TOML.

Layout: magic, three lengths, a checksum, then the key (which directory, which files), the index, and the packed parts.
Where the file lies, when it is believed and how it is written: see `diagnoser.caching`.
"""

from __future__ import annotations

import marshal
import os
import stat
from binascii import crc32
from collections.abc import Callable

from diagnoser import __version__, caching
from diagnoser.caching import MARSHAL_VERSION
from diagnoser.catalogue.index import FORMAT, Index, dump, restore
from diagnoser.catalogue.shelf import InFile, InMemory, Shelf, read_shelf

MAGIC = b"DGNR"
MOST_FILES = 16
"""Cache files that are kept; the oldest go first."""

_BUILDERS = ("indexer", "patterns", "literals", "quickness", "trees", "rule", "loader")
"""What makes the compact form: in a checkout these change without a new version."""
_HEADER = 4 + 4 * 4  # magic, lengths of key, index and parts, checksum of key and index


def open_shelf(directory: str, *, installed: bool = False) -> Shelf:
    """The rules of a directory, from the cache when that is valid.

    `installed` directories change only as a whole, so their files are not looked at one by one.
    """
    place = caching.directory()
    if place is None:
        return read_shelf(directory)
    path = f"{place}/{os.path.basename(directory)}-{crc32(directory.encode()):08x}.rules"
    key = b"" if installed else _key(directory, installed=False)
    found = _read(path, _folders_unchanged if installed else key.__eq__, directory)
    if found is not None:
        return found
    key = key or _key(directory, installed=installed)
    shelf = read_shelf(directory)
    if isinstance(shelf.parts, InMemory) and caching.write(path, encode(shelf.table, shelf.parts.data, key)):
        _tidy(place)
    return shelf


def prebuilt(path: str, directory: str) -> Shelf | None:
    """The compact form that was packed with this very version, or None. `DIAGNOSER_CACHE=off` does without it too."""
    return None if caching.turned_off() else _read(path, prebuilt_key().__eq__, directory, owned=False)


def prebuilt_key() -> bytes:
    """What a compact form inside a wheel must begin with to be believed."""
    return marshal.dumps((FORMAT, __version__), MARSHAL_VERSION)


def encode(index: Index, parts: bytes, key: bytes) -> bytes:
    """The content of a cache file."""
    packed = dump(index)
    lengths = b"".join(len(part).to_bytes(4, "little") for part in (key, packed, parts))
    return MAGIC + lengths + crc32(packed, crc32(key)).to_bytes(4, "little") + key + packed + parts


def _parse_header(header: bytes) -> tuple[int, int, int, int]:
    """The numbers of a cache file's head; raises ValueError when it is none."""
    if len(header) != _HEADER or header[:4] != MAGIC:
        raise ValueError("not a rule cache")
    first, second, third, fourth = (int.from_bytes(header[at : at + 4], "little") for at in (4, 8, 12, 16))
    return first, second, third, fourth


def _key(directory: str, *, installed: bool) -> bytes:
    """What a cache must have been built from to be valid: the version, and per folder the times and sizes in it."""
    parts: list[tuple[str, int, int, int]] = []
    _list(directory, parts, folders_only=installed)
    for module in _BUILDERS:
        _list(f"{os.path.dirname(os.path.abspath(__file__))}/{module}.py", parts, folders_only=True)
    return marshal.dumps((FORMAT, __version__, directory, tuple(sorted(parts))), MARSHAL_VERSION)


def _folders_unchanged(stored: bytes) -> bool:
    """Whether the folders that a cache was built from are as they were; a new one would change the one around it."""
    form, version, _, parts = marshal.loads(stored)
    if (form, version) != (FORMAT, __version__):
        return False
    return all(os.stat(name).st_mtime_ns == own for name, own, _, _ in parts)


def _list(directory: str, parts: list[tuple[str, int, int, int]], *, folders_only: bool) -> None:
    """Adds the folders below a directory; one that can't be read is left to the loader, which says so.

    A file that comes, goes or is renamed changes its folder's time; one that is written to changes the sum of times.
    """
    times = sizes = 0
    try:
        status = os.stat(directory)
        own = status.st_mtime_ns
        if not stat.S_ISDIR(status.st_mode):
            parts.append((directory, own, 0, status.st_size))
            return
        with os.scandir(directory) as entries:
            for entry in entries:
                if entry.name.endswith(".toml"):
                    if not folders_only:
                        status = entry.stat()
                        times += status.st_mtime_ns
                        sizes += status.st_size
                elif entry.is_dir() and entry.name[0] not in "._":
                    _list(entry.path, parts, folders_only=folders_only)
    except OSError:
        return
    parts.append((directory, own, times, sizes))


def _read(path: str, valid: Callable[[bytes], bool], directory: str, *, owned: bool = True) -> Shelf | None:
    """The shelf in a cache file with a valid key; None when it is missing, stale, damaged or not safely ours."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0))
    except OSError:
        return None
    parts = InFile(handle)
    try:
        if owned and not caching.is_ours(handle):
            return None
        length, packed_length, parts_length, checksum = _parse_header(os.read(handle, _HEADER))
        parts.start = _HEADER + length + packed_length
        size = os.fstat(handle).st_size
        if size != parts.start + parts_length or size > caching.LARGEST:
            return None
        key = os.read(handle, length)
        packed = os.read(handle, packed_length)
        if crc32(packed, crc32(key)) != checksum or not valid(key):
            return None
        return Shelf(directory, restore(packed), parts)
    except (OSError, ValueError, EOFError, TypeError):
        return None


def _tidy(place: str) -> None:
    """Removes the oldest cache files beyond `MOST_FILES`."""
    try:
        with os.scandir(place) as entries:
            found = sorted((entry.stat().st_mtime_ns, entry.path) for entry in entries if entry.name.endswith(".rules"))
        for _, path in found[:-MOST_FILES]:
            os.unlink(path)
    except OSError:
        return
