"""Reports into files: whole or not at all, and the pairing of `--format` with `-o`."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Sequence

from diagnoser.errors import InputError, UsageError

_EXTENSIONS = {
    ".json": "json",
    ".md": "markdown",
    ".markdown": "markdown",
    ".html": "html",
    ".htm": "html",
    ".xml": "junit",
    ".txt": "text",
    ".log": "text",
}
STANDARD_OUTPUT = "-"
_IN_PLACE = (errno.EBUSY, errno.EXDEV, errno.EACCES, errno.EPERM, errno.EROFS)
"""What the system says when a name can't be replaced although its file may be written: a mounted file such as
`/dev/termination-log`, or a folder in which nothing may be created."""


def write_atomically(path: str, text: str) -> None:
    """The text as UTF-8 in the file of that name, which holds either all of it or what it held before.

    An existing file keeps its mode, a link stays a link. Devices, pipes and files mounted one by one can't be
    replaced and are written directly. Raises InputError for a directory and for whatever the system refuses.
    """
    data = text.encode("utf-8", "replace")
    target = os.path.realpath(path)
    try:
        mode = os.stat(target).st_mode
    except OSError:
        mode = None
    if mode is not None and stat.S_ISDIR(mode):
        raise InputError(path, "is a directory, not a file to write to")
    try:
        if mode is not None and not stat.S_ISREG(mode):
            _write_directly(target, data)
            return
        try:
            _replace(target, data, None if mode is None else stat.S_IMODE(mode))
        except OSError as error:
            if mode is None or error.errno not in _IN_PLACE:
                raise
            _write_directly(target, data)
    except OSError as error:
        raise InputError(path, f"can't be written: {error.strerror or error}") from error


def _replace(target: str, data: bytes, mode: int | None) -> None:
    """Writes a new file beside the target and gives it the target's name."""
    folder, name = os.path.split(target)
    temporary = os.path.join(folder, f".{name[:100]}.{os.urandom(6).hex()}.tmp")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        try:
            _write(handle, data)
            if mode is not None:
                os.chmod(temporary, mode)
            os.fsync(handle)
        finally:
            os.close(handle)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    _settle(folder)


def _settle(folder: str) -> None:
    """Makes the new name survive a power cut, where the system can do that."""
    with contextlib.suppress(OSError):
        handle = os.open(folder or ".", os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _write_directly(target: str, data: bytes) -> None:
    handle = os.open(target, os.O_WRONLY | os.O_TRUNC)
    try:
        _write(handle, data)
    finally:
        os.close(handle)


def _write(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


def pair_outputs(formats: Sequence[str], outputs: Sequence[str], default: str = "text") -> list[tuple[str, str]]:
    """Which format goes where, from the `--format` and `-o` options in the order they were given.

    The first format goes to the first output, and so on; one format without an output goes to standard output
    (`-`). Outputs without a format take it from the end of their name (`.json`, `.md`, `.html`, `.xml`, `.txt`) if no
    format is given at all. Raises UsageError when the two do not go together.
    """
    if not formats:
        chosen = [_EXTENSIONS.get(os.path.splitext(output)[1].lower(), default) for output in outputs]
        pairs = list(zip(chosen, outputs, strict=True)) or [(default, STANDARD_OUTPUT)]
    elif len(outputs) > len(formats):
        raise UsageError(f"-o is given {len(outputs)} times, --format {len(formats)}: give one format per output")
    elif len(formats) - len(outputs) > 1:
        raise UsageError(f"--format is given {len(formats)} times, -o {len(outputs)}: only one can go to the screen")
    else:
        pairs = list(zip(formats, [*outputs, STANDARD_OUTPUT], strict=False))
    targets = [output for _, output in pairs]
    for output in targets:
        if targets.count(output) > 1:
            where = "standard output" if output == STANDARD_OUTPUT else output
            raise UsageError(f"two formats would be written to {where}: name another output (-o)")
    return pairs
