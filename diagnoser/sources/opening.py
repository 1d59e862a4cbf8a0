"""From what the user named to sources."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import BinaryIO

from diagnoser.errors import InputError

from . import paths as names
from .bytestreams import ByteStream, IterableStream, MemoryStream, open_object, open_path
from .hints import process_of
from .limits import DEFAULT_LIMITS, DEFAULT_SETTINGS, Limits, Settings
from .magic import HEAD_BYTES, compression_of, is_tar, is_zip, looks_binary
from .source import Source

STDIN_NAME = "<stdin>"
_FEW = 16
_LEAST_HEAD = 16 * 1024
_LEAST_PACKED = 256 * 1024
"""Smaller compressed files are not worth threads before their turn."""


def open_sources(
    paths: Sequence[str],
    *,
    stdin: BinaryIO | None = None,
    skip: bool = True,
    limits: Limits = DEFAULT_LIMITS,
    settings: Settings = DEFAULT_SETTINGS,
) -> tuple[list[Source], list[InputError]]:
    """One source per log that `paths` name, in reading order, and an error for each path that can't be read.

    A path is a file, a folder (searched for logs), a pattern with wildcards, or a bundle (tar or zip). `-`, or no path
    at all, is standard input (`stdin`, by default that of this program). Only the first bytes of regular files and the
    directories of bundles are read here.
    """
    opener = _Opener(stdin, skip, limits, settings)
    for path in names.in_time_order(names.unique(_expand(paths or ("-",)))):
        try:
            opener.add(path)
        except InputError as error:
            opener.errors.append(error)
    _share_heads(opener.sources, settings)
    return opener.sources, opener.errors


def _share_heads(sources: Sequence[Source], settings: Settings) -> None:
    """Of many logs less is read in full: all their heads together cost as much as those of a few."""
    if len(sources) > _FEW:
        share = max(settings.head * _FEW // len(sources), _LEAST_HEAD)
        shared = settings._replace(head=min(settings.head, share), whole=min(settings.whole, 2 * share))
        for source in sources:
            source.settings = shared


def text_source(
    text: str | bytes | Iterable[str],
    name: str = "<text>",
    *,
    skip: bool = True,
    limits: Limits = DEFAULT_LIMITS,
    settings: Settings = DEFAULT_SETTINGS,
) -> Source:
    """A source of text at hand: a string, bytes, or lines with or without their line ends. It can be read again."""
    opener: Callable[[], ByteStream]
    if isinstance(text, str):
        opener = partial(MemoryStream, _encoded(text))
    elif isinstance(text, (bytes, bytearray, memoryview)):
        opener = partial(MemoryStream, bytes(text))
    else:
        opener = partial(IterableStream, text)
    return Source(name, opener, skip=skip, limits=limits, settings=settings)


class _Opener:
    """Collects sources and errors; one file that is named twice is read once."""

    def __init__(self, stdin: BinaryIO | None, skip: bool, limits: Limits, settings: Settings) -> None:
        self.sources: list[Source] = []
        self.errors: list[InputError] = []
        self._stdin = stdin
        self._make = partial(Source, skip=skip, limits=limits, settings=settings)
        self._limits = limits
        self._seen: set[tuple[int, int]] = set()

    def add(self, path: str) -> None:
        """What one path names. Raises InputError."""
        if path == "-":
            stream = self._stdin if self._stdin is not None else sys.stdin.buffer
            size, piped = _kind_of(stream)
            self.sources.append(self._make(STDIN_NAME, partial(open_object, stream), size=size, streamed=piped))
            return
        status = _status(path)
        if stat.S_ISDIR(status.st_mode):
            self._add_folder(path)
        elif not stat.S_ISREG(status.st_mode):  # a pipe or a device must not be touched before it is read
            self.sources.append(self._make(path, partial(open_path, path), process=process_of(path)))
        elif self._is_new(status):
            self._add_file(path, _head(path), status.st_size)

    def _is_new(self, status: os.stat_result) -> bool:
        key = (status.st_dev, status.st_ino)
        if status.st_ino and key in self._seen:
            return False
        self._seen.add(key)
        return True

    def _add_file(self, path: str, head: bytes, size: int) -> None:
        if is_zip(head) or is_tar(head) or compression_of(head):
            self._add_packed(path, head, size)
        else:
            self.sources.append(self._make(path, partial(open_path, path), process=process_of(path), size=size))

    def _add_packed(self, path: str, head: bytes, size: int) -> None:
        """A compressed file, or a bundle."""
        from .bundles import bundle_kind, list_bundle

        try:
            kind = bundle_kind(path, head, self._limits)
            listing = list_bundle(path, kind, self._limits) if kind else None
        except (OSError, ImportError, ValueError) as error:
            raise InputError(path, _why(error)) from None
        if listing is None:
            streamed = size >= _LEAST_PACKED
            self.sources.append(self._make(path, partial(open_path, path), process=process_of(path), streamed=streamed))
            return
        if not listing.members:
            raise InputError(path, "; ".join(["the archive holds no logs", *listing.notes]))
        made = [
            self._make(f"{path}!{member.name}", member.open, process=process_of(f"{path}!{member.name}"))
            for member in listing.members
        ]
        made[0].notes.extend(f"{path}: {note}" for note in listing.notes)
        self.sources.extend(made)

    def _add_folder(self, folder: str) -> None:
        before, passed_over = len(self.sources), 0
        for path in names.in_time_order(list(names.in_folder(folder))):
            try:
                status = _status(path)
                if not status.st_size:
                    continue
                wanted = names.may_be_log(path)
                head = _head(path) if wanted or wanted is None else b""
                if wanted is None:
                    wanted = not looks_binary(head)
                if not wanted:
                    passed_over += 1
                elif self._is_new(status):
                    self._add_file(path, head, status.st_size)
            except InputError as error:
                self.errors.append(error)
        if len(self.sources) == before:
            raise InputError(folder, "holds no logs")
        if passed_over:
            self.sources[before].notes.append(
                f"{folder}: {passed_over} files that are no logs by their names were not read"
            )


def _expand(paths: Sequence[str]) -> Iterator[str]:
    """Resolve wildcards that the shell left; a path that exists as it is written is taken as it is."""
    for path in paths:
        if path != "-" and names.has_magic(path) and not os.path.lexists(path):
            import glob

            yield from sorted(glob.glob(path, recursive=True), key=names.natural) or (path,)
        else:
            yield path


def _status(path: str) -> os.stat_result:
    if not path:
        raise InputError("''", "a log without a name; is a variable of the shell empty?")
    try:
        return os.stat(path)
    except OSError as error:
        raise InputError(path, _why(error)) from None
    except ValueError:  # each Python has its own words for it
        raise InputError(path, "a file name can't hold a null byte") from None


def _kind_of(stream: BinaryIO) -> tuple[int | None, bool]:
    """The size of the regular file that a file object stands for, if it does; and whether it is a pipe."""
    try:
        status = os.fstat(stream.fileno())
    except (AttributeError, OSError, ValueError):
        return None, False
    if stat.S_ISREG(status.st_mode):
        return status.st_size, False
    return None, stat.S_ISFIFO(status.st_mode)


def _head(path: str) -> bytes:
    try:
        stream = open_path(path)
    except OSError as error:
        raise InputError(path, _why(error)) from None
    try:
        return stream.peek(HEAD_BYTES)
    finally:
        stream.close()


def _encoded(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


def _why(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
