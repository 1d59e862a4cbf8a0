"""Rule packs: installed packages that bring rule files through the entry-point group `diagnoser.rules`.

A pack is data. Its entry point names a package and, after a colon, a folder inside it:

    [project.entry-points."diagnoser.rules"]
    acme = "acme_runbooks:rules"

Nothing of a pack is imported or run.
"""

import os
import sys
from collections.abc import Iterator

from diagnoser.errors import RuleError
from diagnoser.records import NamedTuple

GROUP = "diagnoser.rules"


class Pack(NamedTuple):
    """An installed rule pack."""

    name: str
    directory: str


def installed_packs() -> tuple[list[Pack], list[RuleError]]:
    """The packs in this Python, in the order of their names, and an error for each that has no rules where it says."""
    import marshal

    from diagnoser.caching import remembered

    roots = _roots()
    key = marshal.dumps(tuple((root, _changed(root)) for root in roots), 2)
    packs: dict[str, Pack] = {}
    errors = []
    for root, file, name, value in remembered("packs", key, lambda: _all_entries(roots)):
        directory = _directory(root, value)
        if directory is None:
            errors.append(RuleError(file, f"rule pack {name!r}: no folder {value!r} is installed", key=name))
        else:
            packs.setdefault(name, Pack(name, directory))
    return [packs[name] for name in sorted(packs)], errors


def _roots() -> tuple[str, ...]:
    """The folders that packages are installed in; never the folder that one happens to stand in."""
    return tuple(dict.fromkeys(root for root in sys.path if os.path.isabs(root)))


def _changed(root: str) -> int:
    """When something was last installed in a folder; 0 for one that is not there."""
    try:
        return os.stat(root).st_mtime_ns
    except OSError:
        return 0


def _all_entries(roots: tuple[str, ...]) -> tuple[tuple[str, str, str, str], ...]:
    """Folder, file, name and value of each entry point of our group.

    `importlib.metadata` finds the same ones at ten times the price.
    """
    found = []
    for root in roots:
        try:
            with os.scandir(root) as entries:
                names = sorted(entry.name for entry in entries if entry.name.endswith((".dist-info", ".egg-info")))
        except OSError:
            continue
        for directory in names:
            file = f"{root}/{directory}/entry_points.txt"
            found += [(root, file, name, value) for name, value in _entries(file)]
    return tuple(found)


def _entries(file: str) -> Iterator[tuple[str, str]]:
    """Name and value of each entry point of our group in a file."""
    try:
        with open(file, "rb") as stream:
            content = stream.read(1 << 20)
    except OSError:
        return
    if GROUP.encode() not in content:
        return
    section = ""
    for line in content.decode("utf-8", "replace").splitlines():
        line = line.strip()
        if line.startswith("["):
            section = line.strip("[] ")
        elif section == GROUP and "=" in line and not line.startswith(("#", ";")):
            name, _, value = line.partition("=")
            yield name.strip(), value.split("[")[0].strip()


def _directory(root: str, value: str) -> str | None:
    """The folder that an entry point names, beside its metadata or anywhere on the path."""
    package, _, folder = value.partition(":")
    parts = [part for part in (*package.strip().split("."), *folder.strip().replace("/", ".").split(".")) if part]
    if not parts or not all(part.replace("-", "_").isidentifier() for part in parts):
        return None
    for base in (root, *_roots()):
        found = "/".join((base, *parts))
        if os.path.isdir(found):
            return found
    return None
