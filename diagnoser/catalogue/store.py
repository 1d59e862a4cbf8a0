"""Keeps the compact form of a rule directory in a cache file, so that a run need not read TOML.

Layout: magic, three lengths, a checksum, then the key (which directory, which files), the index, and the packed parts.
The file is written under another name and then renamed, and is believed only when it belongs to this user and nobody
else may write to it. `DIAGNOSER_CACHE=off` turns it off, any other value names the directory to use.
"""

from __future__ import annotations

import marshal
import os
import stat
from binascii import crc32
from collections.abc import Callable
from typing import Any

from diagnoser import __version__
from diagnoser.catalogue.index import FORMAT, MARSHAL_VERSION, Index, dump, restore
from diagnoser.catalogue.shelf import InFile, InMemory, Shelf, read_shelf

MAGIC = b"DGNR"
MOST_FILES = 16
"""Cache files that are kept; the oldest go first."""
LARGEST_CACHE = 1 << 28

_BUILDERS = ("indexer", "patterns", "quickness", "trees", "rule", "loader")
"""What makes the compact form: in a checkout these change without a new version."""
_HEADER = 4 + 4 * 4  # magic, lengths of key, index and parts, checksum of key and index


def open_shelf(directory: str, *, installed: bool = False) -> Shelf:
    """The rules of a directory, from the cache when that is valid.

    `installed` directories change only as a whole, so their files are not looked at one by one.
    """
    place = _cache_directory()
    if place is None:
        return read_shelf(directory)
    path = f"{place}/{os.path.basename(directory)}-{crc32(directory.encode()):08x}.rules"
    key = b"" if installed else _key(directory, installed=False)
    found = _read(path, _folders_unchanged if installed else key.__eq__, directory)
    if found is not None:
        return found
    key = key or _key(directory, installed=installed)
    shelf = read_shelf(directory)
    if isinstance(shelf.parts, InMemory):
        _write(place, path, encode(shelf.table, shelf.parts.data, key))
    return shelf


def prebuilt(path: str, directory: str) -> Shelf | None:
    """The compact form that was packed with this very version, or None. `DIAGNOSER_CACHE=off` does without it too."""
    return None if _turned_off() else _read(path, prebuilt_key().__eq__, directory, owned=False)


def prebuilt_key() -> bytes:
    """What a compact form inside a wheel must begin with to be believed."""
    return marshal.dumps((FORMAT, __version__), MARSHAL_VERSION)


def remembered(name: str, key: bytes, make: Callable[[], Any]) -> Any:
    """Plain data that took some work to find: from the cache while the key is the same, otherwise made anew."""
    place = _cache_directory()
    if place is None:
        return make()
    path = f"{place}/{name}"
    try:
        with open(path, "rb") as stream:
            if _is_ours(stream.fileno()):
                checksum, stored, value = marshal.loads(stream.read(LARGEST_CACHE))
                if stored == key and checksum == crc32(marshal.dumps(value, MARSHAL_VERSION)):
                    return value
    except (OSError, ValueError, EOFError, TypeError):
        pass
    value = make()
    _write(place, path, marshal.dumps((crc32(marshal.dumps(value, MARSHAL_VERSION)), key, value), MARSHAL_VERSION))
    return value


def _is_ours(handle: int) -> bool:
    """Whether an open file belongs to this user and nobody else may write to it."""
    status = os.fstat(handle)
    return not hasattr(os, "geteuid") or (status.st_uid == os.geteuid() and not status.st_mode & 0o022)


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


def _turned_off() -> bool:
    return os.environ.get("DIAGNOSER_CACHE", "").lower() in ("off", "0", "no", "none")


def _cache_directory() -> str | None:
    """Where cache files go; None when there is no place that only this user may write to."""
    if _turned_off():
        return None
    wanted = os.environ.get("DIAGNOSER_CACHE")
    if wanted:
        return os.path.abspath(wanted)
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    if not base:
        home = os.path.expanduser("~")
        base = f"{home}/.cache" if home != "~" else ""
    return f"{base}/diagnoser" if base and os.path.isabs(base) else None


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
        if owned and not _is_ours(handle):
            return None
        length, packed_length, parts_length, checksum = _parse_header(os.read(handle, _HEADER))
        parts.start = _HEADER + length + packed_length
        size = os.fstat(handle).st_size
        if size != parts.start + parts_length or size > LARGEST_CACHE:
            return None
        key = os.read(handle, length)
        packed = os.read(handle, packed_length)
        if crc32(packed, crc32(key)) != checksum or not valid(key):
            return None
        return Shelf(directory, restore(packed), parts)
    except (OSError, ValueError, EOFError, TypeError):
        return None


def _write(place: str, path: str, content: bytes) -> None:
    """Puts a cache file in place in one step; failing to is no error, the next run reads the TOML again."""
    part = f"{path}.{os.getpid()}.part"
    try:
        os.makedirs(place, mode=0o700, exist_ok=True)
        if hasattr(os, "geteuid"):
            status = os.stat(place)
            if status.st_uid != os.geteuid() or status.st_mode & 0o022:
                return
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
        with open(handle, "wb") as stream:
            stream.write(content)
        os.replace(part, path)
        _tidy(place)
    except OSError:
        try:
            os.unlink(part)
        except OSError:
            return


def _tidy(place: str) -> None:
    """Removes the oldest cache files beyond `MOST_FILES`."""
    with os.scandir(place) as entries:
        found = sorted((entry.stat().st_mtime_ns, entry.path) for entry in entries if entry.name.endswith(".rules"))
    for _, path in found[:-MOST_FILES]:
        os.unlink(path)
