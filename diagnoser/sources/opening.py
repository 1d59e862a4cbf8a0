"""From what the user named to sources."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import BinaryIO

from diagnoser.errors import InputError

from .bytestreams import ByteStream, IterableStream, MemoryStream, open_object, open_path
from .hints import process_of
from .limits import DEFAULT_LIMITS, Limits
from .source import Source

STDIN_NAME = "<stdin>"


def open_sources(
    paths: Sequence[str],
    *,
    stdin: BinaryIO | None = None,
    skip: bool = True,
    limits: Limits = DEFAULT_LIMITS,
) -> tuple[list[Source], list[InputError]]:
    """One source per log that `paths` name, in reading order, and an error for each path that can't be read.

    `-`, or no path at all, is standard input (`stdin`, by default that of this program). Nothing is read yet, except
    the first bytes of regular files.
    """
    sources: list[Source] = []
    errors: list[InputError] = []
    for path in paths or ("-",):
        try:
            sources.extend(_sources_of(path, stdin, skip, limits))
        except InputError as error:
            errors.append(error)
    return sources, errors


def text_source(
    text: str | bytes | Iterable[str],
    name: str = "<text>",
    *,
    skip: bool = True,
    limits: Limits = DEFAULT_LIMITS,
) -> Source:
    """A source of text at hand: a string, bytes, or lines with or without their line ends."""
    opener: Callable[[], ByteStream]
    if isinstance(text, str):
        data = text.encode("utf-8", "surrogateescape") if _encodable(text) else text.encode("utf-8", "replace")
        opener = partial(MemoryStream, data)
    elif isinstance(text, (bytes, bytearray, memoryview)):
        opener = partial(MemoryStream, bytes(text))
    else:
        opener = partial(IterableStream, text)
    return Source(name, opener, skip=skip, limits=limits)


def _encodable(text: str) -> bool:
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True


def _sources_of(path: str, stdin: BinaryIO | None, skip: bool, limits: Limits) -> list[Source]:
    if path == "-":
        stream = stdin if stdin is not None else sys.stdin.buffer
        return [Source(STDIN_NAME, partial(open_object, stream), skip=skip, limits=limits)]
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116 - pathlib is slow to import
    except (OSError, ValueError) as error:
        raise InputError(path, _why(error)) from None
    if stat.S_ISDIR(mode):
        raise InputError(path, "is a directory")
    if stat.S_ISREG(mode):
        try:
            open_path(path).close()
        except OSError as error:
            raise InputError(path, _why(error)) from None
    return [Source(path, partial(open_path, path), process=process_of(path), skip=skip, limits=limits)]


def _why(error: OSError | ValueError) -> str:
    return getattr(error, "strerror", None) or str(error)
