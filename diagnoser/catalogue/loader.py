"""Reads rule files and says exactly what is wrong with those that can't be used: file, line and key.

A broken file costs only its own rule; the others are loaded. Files are read in the order of their names, so that
the same directories give the same catalogue, the same errors and the same digest everywhere.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence

from diagnoser.catalogue import patterns
from diagnoser.catalogue.rule import RuleReader
from diagnoser.errors import RuleError
from diagnoser.model import Rule
from diagnoser.records import NamedTuple

LARGEST_FILE = 1 << 20
"""Bytes of a rule file; a larger one is refused."""

_ID = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_HEADER = re.compile(r"\s*(\[{1,2})\s*([A-Za-z0-9_.\"'-]+)\s*\]{1,2}")
_KEY = re.compile(r"\s*([A-Za-z0-9_\"'.-]+)\s*=")
_TOML_PLACE = re.compile(r"\s*\(at (?:line (\d+), column \d+|end of document)\)")


class Loaded(NamedTuple):
    """What a set of rule files holds."""

    rules: tuple[Rule, ...]
    errors: tuple[RuleError, ...]
    digest: str
    """`sha256:…` over the ids and contents of all files, independent of where they lie."""


def rule_files(directory: str) -> Iterator[str]:
    """Paths of the rule files below a directory (or the file itself), in the order of their names."""
    if os.path.isfile(directory):
        yield directory
        return
    with os.scandir(directory) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    for entry in found:
        if entry.name.startswith((".", "_")):
            continue
        if entry.is_dir():
            yield from rule_files(entry.path)
        elif entry.name.endswith(".toml"):
            yield entry.path


def load(directories: Iterable[str]) -> Loaded:
    """Every rule of the directories; of two rules with one id the later one is refused."""
    import hashlib

    rules: dict[str, Rule] = {}
    errors: list[RuleError] = []
    contents: list[tuple[str, bytes]] = []
    for directory in directories:
        try:
            paths = list(rule_files(directory))
        except OSError as error:
            errors.append(RuleError(directory, f"can't be read: {error.strerror or error}"))
            continue
        for path in paths:
            content, rule, problems = _load_file(path)
            contents.append((path.replace(os.sep, "/").rsplit("/", 1)[-1], content))
            errors.extend(problems)
            if rule is None:
                continue
            if rule.id in rules:
                other = rules[rule.id].path
                errors.append(RuleError(path, f"{rule.id} is already defined in {other}", line=1, key="id"))
                continue
            rules[rule.id] = rule
    digest = hashlib.sha256()
    for name, content in sorted(contents):
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    errors.extend(_dangling(rules))
    return Loaded(tuple(rules[key] for key in sorted(rules)), tuple(errors), f"sha256:{digest.hexdigest()}")


def load_text(text: str, path: str) -> tuple[Rule | None, list[RuleError]]:
    """The rule in a TOML text; `path` is its name in errors and gives the id that it must have."""
    import tomllib

    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = _TOML_PLACE.search(str(error))
        line = int(place[1]) if place and place[1] else text.count("\n") + 1 if place else None
        return None, [RuleError(path, f"not TOML: {_TOML_PLACE.sub('', str(error))}", line=line)]
    except RecursionError:
        return None, [RuleError(path, "not TOML: nested too deeply")]
    reader = RuleReader(table, patterns.trouble)
    rule = reader.read()
    identifier = table.get("id")
    stem = os.path.basename(path).removesuffix(".toml")
    if isinstance(identifier, str) and identifier:
        if not _ID.fullmatch(identifier):
            reader.note("id", f"{identifier!r} is not kebab-case (lower-case words joined by hyphens)")
        elif identifier != stem and path.endswith(".toml"):
            reader.note("id", f"{identifier!r} must be the file's name without .toml ({stem!r})")
    if reader.problems:
        lines = key_lines(text)
        return None, [RuleError(path, text_, line=_line(lines, key), key=key) for key, text_ in reader.problems]
    return rule._replace(path=path) if rule else None, []


def _load_file(path: str) -> tuple[bytes, Rule | None, list[RuleError]]:
    """Content, rule and errors of one file."""
    try:
        with open(path, "rb") as stream:
            content = stream.read(LARGEST_FILE + 1)
        if len(content) > LARGEST_FILE:
            return b"", None, [RuleError(path, f"larger than {LARGEST_FILE} bytes")]
        text = content.decode("utf-8")
    except OSError as error:
        return b"", None, [RuleError(path, f"can't be read: {error.strerror or error}")]
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        return content, None, [RuleError(path, f"not UTF-8 at byte {error.start}", line=line)]
    return content, *load_text(text.replace("\r\n", "\n"), path)


def _dangling(rules: dict[str, Rule]) -> Iterator[RuleError]:
    """A rule that outranks itself; an unknown id is left to the linter, it may belong to a pack that is not here."""
    for rule in rules.values():
        if rule.id in rule.outranks:
            yield RuleError(rule.path, "a rule can't outrank itself", key="outranks")


def key_lines(text: str) -> dict[str, int]:
    """Where each key of a TOML text stands: `match[0].message` to its line; inline tables count as their key."""
    lines: dict[str, int] = {}
    counts: dict[str, int] = {}
    prefix, closing = "", ""
    for number, line in enumerate(text.split("\n"), 1):
        if closing:
            closing = "" if closing in line else closing
            continue
        header = _HEADER.match(line)
        key = _KEY.match(line)
        if header:
            name = header[2].strip("\"'")
            if header[1] == "[[":
                counts[name] = counts.get(name, -1) + 1
                name = f"{name}[{counts[name]}]"
            prefix = name + "."
            lines.setdefault(name, number)
            lines.setdefault(name.split("[")[0], number)
        elif key:
            lines.setdefault(prefix + key[1].strip("\"'"), number)
            closing = _opened(line[key.end() :])
    return lines


def _opened(value: str) -> str:
    """The quotes that a multi-line text opened on this line still waits for."""
    for quotes in ("'''", '"""'):
        if value.lstrip().startswith(quotes) and quotes not in value.lstrip()[3:]:
            return quotes
    return ""


def _line(lines: dict[str, int], key: str) -> int | None:
    """The line of a key, or of the nearest table around it."""
    parts: Sequence[str] = key.split(".")
    for length in range(len(parts), 0, -1):
        found = lines.get(".".join(parts[:length]))
        if found is not None:
            return found
    return 1
