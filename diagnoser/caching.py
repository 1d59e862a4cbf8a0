"""Files that spare later runs some work: compact rules, installed packs, compiled patterns.

A cache file holds plain data. It is believed only when it belongs to this user and nobody else may write to it, and is
written under another name and then renamed. Failing to write one is no error: the next run does the work again.
`DIAGNOSER_CACHE=off` turns the cache off, any other value names the directory to use.
"""

from __future__ import annotations

import marshal
import os
from binascii import crc32
from collections.abc import Callable
from typing import Any

MARSHAL_VERSION = 2
"""Equal data gives equal bytes; from 3 on they depend on how often an object is referred to."""
LARGEST = 1 << 28
"""Bytes of a cache file that is read."""


def turned_off() -> bool:
    """Whether the user wants no cache."""
    return os.environ.get("DIAGNOSER_CACHE", "").lower() in ("off", "0", "no", "none")


def directory() -> str | None:
    """Where cache files go; None when there is no place that only this user may write to."""
    if turned_off():
        return None
    wanted = os.environ.get("DIAGNOSER_CACHE")
    if wanted:
        return os.path.abspath(wanted)
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    if not base:
        home = os.path.expanduser("~")
        base = f"{home}/.cache" if home != "~" else ""
    return f"{base}/diagnoser" if base and os.path.isabs(base) else None


def is_ours(handle: int) -> bool:
    """Whether an open file belongs to this user and nobody else may write to it."""
    status = os.fstat(handle)
    return not hasattr(os, "geteuid") or (status.st_uid == os.geteuid() and not status.st_mode & 0o022)


def read(name: str, key: bytes) -> Any:
    """The plain data that was kept under this name with this key; None when there is none."""
    place = directory()
    if place is None:
        return None
    try:
        with open(f"{place}/{name}", "rb") as stream:
            if not is_ours(stream.fileno()):
                return None
            stored, checksum, packed = marshal.loads(stream.read(LARGEST))
            return marshal.loads(packed) if stored == key and checksum == crc32(packed) else None
    except (OSError, ValueError, EOFError, TypeError):
        return None


def keep(name: str, key: bytes, value: Any) -> None:
    """Keeps plain data for later runs."""
    place = directory()
    if place is not None:
        packed = marshal.dumps(value, MARSHAL_VERSION)
        write(f"{place}/{name}", marshal.dumps((key, crc32(packed), packed), MARSHAL_VERSION))


def remembered(name: str, key: bytes, make: Callable[[], Any]) -> Any:
    """Plain data that took some work to find: from the cache while the key is the same, otherwise made anew."""
    value = read(name, key)
    if value is None:
        value = make()
        keep(name, key, value)
    return value


def write(path: str, content: bytes) -> bool:
    """Puts a cache file in place in one step; False when that was not possible, or not safe."""
    place, part = os.path.dirname(path), f"{path}.{os.getpid()}.part"
    try:
        os.makedirs(place, mode=0o700, exist_ok=True)
        if hasattr(os, "geteuid"):
            status = os.stat(place)
            if status.st_uid != os.geteuid() or status.st_mode & 0o022:
                return False
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
        with open(handle, "wb") as stream:
            stream.write(content)
        os.replace(part, path)
    except OSError:
        _remove(part)
        return False
    return True


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return
