"""Finds the envelopes of this folder and sorts them by the character that a line begins with."""

from __future__ import annotations

import os
import re
from functools import cache
from importlib import import_module

from diagnoser.envelopes import __path__ as _folders
from diagnoser.envelopes._base import Envelope
from diagnoser.precompiled import compile_pattern

Tries = tuple[Envelope, ...]


@cache
def all_envelopes() -> Tries:
    """Every envelope, in the order in which they are tried."""
    names: set[str] = set()
    for folder in _folders:
        try:
            found = os.listdir(folder)  # pathlib and pkgutil cost more than all envelopes together
        except OSError:
            import pkgutil

            found = [f"{module.name}.py" for module in pkgutil.iter_modules([folder])]
        names.update(name.partition(".")[0] for name in found if name.endswith((".py", ".pyc")))
    modules = (import_module(f"diagnoser.envelopes.{name}") for name in sorted(names) if not name.startswith("_"))
    envelopes = [module.ENVELOPE for module in modules if hasattr(module, "ENVELOPE")]
    return tuple(sorted(envelopes, key=lambda envelope: (envelope.order, envelope.name)))


@cache
def envelopes_for(head: str) -> Tries:
    """The envelopes that a line which begins with this character can have."""
    return tuple(envelope for envelope in all_envelopes() if not envelope.heads or head in envelope.heads)


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """The compiled pattern; compiling is put off until a line needs it."""
    return compile_pattern(pattern)
