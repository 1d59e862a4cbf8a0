"""Regular expressions whose compiled form outlives the run.

Python compiles a pattern in 0.15 ms, and a small log needs a hundred: a sixth of its time. Loading the compiled form
takes a twentieth of that. It is what `re` itself hands to its engine, so it holds for one version of Python only; a
pattern is kept only after the engine has made an equal one of it, and whatever goes wrong is compiled as usual.
"""

from __future__ import annotations

import marshal
import re
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from diagnoser import caching

MOST_PATTERNS = 600
"""Patterns that are kept; when a run needs more, only those that it needed itself stay, and its own."""
LONGEST_PATTERN = 1 << 15
"""Characters of a pattern that is kept."""

_FORMAT = 2
_NAME = f"patterns-{sys.implementation.cache_tag}-{_FORMAT}"

_kept: dict[tuple[str, int], bytes] | None = None
"""Each packed by itself: unpacking hundreds that a run does not need would take longer than compiling a few."""
_used: set[tuple[str, int]] = set()
_new: set[tuple[str, int]] = set()


def compile_pattern(source: str, flags: int = 0) -> re.Pattern[str]:
    """As `re.compile`; raises re.error."""
    global _kept
    if _kept is None:
        _kept = _read()
    key = (source, int(flags))
    found = _kept.get(key)
    if found is not None:
        try:
            loaded = _loaded(source, marshal.loads(found))
        except (RuntimeError, TypeError, ValueError, OverflowError, EOFError):  # in a way that no checksum showed
            del _kept[key]
        else:
            _used.add(key)
            return loaded
    _new.add(key)
    return re.compile(source, flags)


def keep() -> None:
    """Keeps what this run has compiled for later ones."""
    kept = _kept or {}
    if len(kept) + len(_new) > MOST_PATTERNS:
        kept = {key: kept[key] for key in sorted(_used & kept.keys())[:MOST_PATTERNS]}
    room = MOST_PATTERNS - len(kept)
    made = {key: _taken_apart(*key) for key in sorted(_new)[:room] if len(key[0]) <= LONGEST_PATTERN}
    _new.clear()
    found = {key: marshal.dumps(parts, caching.MARSHAL_VERSION) for key, parts in made.items() if parts is not None}
    if found and caching.directory() is not None:
        caching.keep(_NAME, _key(), {**kept, **found})


def _read() -> dict[tuple[str, int], bytes]:
    found = caching.read(_NAME, _key())
    return found if isinstance(found, dict) else {}


def _key() -> bytes:
    return repr((_FORMAT, sys.version, getattr(import_module("_sre"), "MAGIC", None))).encode()


def _loaded(source: str, parts: tuple[Any, ...]) -> re.Pattern[str]:
    """A pattern from its parts, which the engine checks; raises RuntimeError for such that it did not make."""
    flags, code, groups, names, numbered = parts
    build: Callable[..., re.Pattern[str]] = import_module("_sre").compile
    return build(source, flags, memoryview(code).cast("I").tolist(), groups, dict(names), numbered)


def _taken_apart(source: str, flags: int) -> tuple[Any, ...] | None:
    """What `re` hands to its engine for a pattern; None where this Python does it in another way."""
    try:
        parsed = import_module("re._parser").parse(source, flags)
        words = import_module("re._compiler")._code(parsed, flags)
        names: dict[str, int] = dict(parsed.state.groupdict)
        numbered: list[str | None] = [None] * parsed.state.groups
        for name, number in names.items():
            numbered[number] = name
        code = b"".join(word.to_bytes(4, sys.byteorder) for word in words)
        parts = (flags | parsed.state.flags, code, parsed.state.groups - 1, tuple(names.items()), tuple(numbered))
        usual, loaded = re.compile(source, flags), _loaded(source, parts)
    except (ImportError, AttributeError, RuntimeError, TypeError, ValueError, OverflowError, re.error):
        return None
    same = (usual, usual.groups, dict(usual.groupindex)) == (loaded, loaded.groups, dict(loaded.groupindex))
    return parts if same else None
