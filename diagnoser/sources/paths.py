"""Which files a path names: folders, patterns, which files in a folder are logs, and the order of rotated ones."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence

_COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
_ARCHIVES = (".tar", ".zip", ".tgz", ".tbz", ".txz", ".tzst", *(f".tar{end}" for end in _COMPRESSED))
# these are compiled when they are used first: most runs name one file
_DATED = (
    r"^(?P<base>.+?)[.-](?P<date>(?:19|20)\d\d-?[01]\d-?[0-3]\d(?:[-_T.]?[0-2]\d[-:.]?[0-5]\d(?:[-:.]?[0-5]\d)?)?|1\d{9})"
    r"(?P<end>\.[a-z]+)?$"
)
_NUMBERED = r"^(?P<base>.+)\.(?P<number>\d{1,4})$"
_NUMBERED_INSIDE = r"^(?P<base>.+)[.](?P<number>\d{1,3})(?P<end>\.(?:log|out|err))$"
_NUMBER = r"(\d+)"
_RESTARTS = r"^\d{1,4}\.log(?:\.|$)"  # the kubelet's: <container>/<restart>.log

_LOG_ENDS = frozenset(
    ("log", "out", "err", "txt", "stdout", "stderr", "jsonl", "ndjson", "trace", "messages", "journal")
)
_OTHER_ENDS = frozenset(
    """
    a bat bin c cc cfg cpp crt css csv cu cuh conf core db deb dll env exe gguf gif h hpp htm html ico img ini ipynb iso
    jar jpeg jpg js json key lock map md npy npz nsys-rep o onnx parquet arrow pb pdf pem pickle pid pkl png prof proto
    pt pth py pyc pyi qdrep rpm rst safetensors sh so sock sqlite sqlite3 svg toml ts tsv whl egg class yaml yml
    """.split()  # noqa: SIM905
)
_KNOWN_NAMES = frozenset(("error.json",))  # torchrun writes each rank's exception there


def is_archive_name(name: str) -> bool:
    """True for the names of tar and zip archives."""
    return name.lower().endswith(_ARCHIVES)


def may_be_log(name: str) -> bool | None:
    """Whether a file met in a folder or an archive is a log, by its name; None when its content has to tell."""
    name = name.rpartition("/")[2]
    if name.startswith(".") or name.endswith("~"):
        return False
    if is_archive_name(name) or name.lower() in _KNOWN_NAMES:
        return True
    name = _without_compression(name).lower()
    base, _ = _rotation(name)
    end = base.rpartition(".")[2] if "." in base else ""
    if end in _LOG_ENDS or base != name or base in ("stdout", "stderr", "syslog", "dmesg", "messages"):
        return True
    return False if end in _OTHER_ENDS else None


def in_folder(folder: str) -> Iterator[str]:
    """Every regular file below the folder, links to folders not followed, in the order of names."""
    try:
        with os.scandir(folder) as entries:
            found = sorted(entries, key=lambda entry: natural(entry.name))
    except OSError:
        return
    for entry in found:
        try:
            if entry.is_dir(follow_symlinks=False):
                if not entry.name.startswith("."):
                    yield from in_folder(entry.path)
            elif entry.is_file():
                yield entry.path
        except OSError:
            continue


def has_magic(path: str) -> bool:
    """True for a path with wildcards."""
    return any(sign in path for sign in "*?[")


def natural(text: str) -> list[tuple[int, int, str]]:
    """A sort key that puts `rank10` after `rank9`."""
    return [_natural_part(part) for part in re.split(_NUMBER, text) if part]


def _natural_part(part: str) -> tuple[int, int, str]:
    if part.isdigit():  # compared by length, then by digits: as numbers, of any length
        return 0, len(part.lstrip("0")), part.lstrip("0")
    return 1, 0, part


def in_time_order(names: Sequence[str]) -> list[str]:
    """The same names, each group of rotated files oldest first, where the first of its group stood."""
    if len(names) < 2:
        return list(names)
    present = set(names)
    groups: dict[str, list[tuple[tuple[int, str, int], int, str]]] = {}
    for place, name in enumerate(names):
        folder, slash, last = name.rpartition("/")
        base, age = _rotation(_without_compression(last))
        inside = re.match(_NUMBERED_INSIDE, last)
        if inside and f"{folder}{slash}{inside['base']}{inside['end']}" in present:  # raylet.1.log beside raylet.log
            base, age = inside["base"] + inside["end"], (1, "", -int(inside["number"]))
        groups.setdefault(f"{folder}{slash}{base}", []).append((age, place, name))
    return [name for group in groups.values() for _, _, name in sorted(group)]


def _without_compression(name: str) -> str:
    return name.rpartition(".")[0] if name.lower().endswith(_COMPRESSED) else name


def _rotation(name: str) -> tuple[str, tuple[int, str, int]]:
    """The name that the current file of the group has, and a key by which older files come first."""
    if dated := re.match(_DATED, name):
        return dated["base"] + (dated["end"] or ""), (0, re.sub(r"\D", "", dated["date"]), 0)
    if numbered := re.match(_NUMBERED, name):
        return numbered["base"], (1, "", -int(numbered["number"]))
    return name, (2, "", 0)


def log_name(path: str) -> str:
    """What rotated pieces of one log, and the logs of a container's restarts, have in common."""
    folder, slash, last = path.removesuffix(" (previous)").rpartition("/")
    if re.match(_RESTARTS, last):
        return f"{folder}{slash}*.log"
    return f"{folder}{slash}{_rotation(_without_compression(last))[0]}"


def unique(names: Iterable[str]) -> list[str]:
    """Without repetitions."""
    return list(dict.fromkeys(names))
