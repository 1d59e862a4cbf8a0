"""The checks, one module per subject.

A module has `CHECKS`, functions that look at one deployment, `PAIR_CHECKS`, functions that compare two, or
`GROUP_CHECKS`, functions that look at all of a request. Dropping a file in adds it: there is no list to keep. The
file's name is the subject that `--only` takes, and names that begin with an underscore are helpers.
"""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from types import ModuleType


def subject_names() -> tuple[str, ...]:
    """Subjects, sorted."""
    try:
        names = os.listdir(__path__[0])
    except OSError:  # inside a zip file
        import pkgutil

        names = [f"{module.name}.py" for module in pkgutil.iter_modules(__path__)]
    return tuple(
        sorted(name[:-3].replace("_", "-") for name in names if name.endswith(".py") and not name.startswith("_"))
    )


def is_part_of(subject: str, name: str) -> bool:
    """Whether a subject is the named one or, as `moe-routing` is of `moe`, a part of it."""
    return subject == name or subject.startswith(f"{name}-")


@cache
def subject_module(name: str) -> ModuleType:
    """The module of a subject."""
    return import_module(f"{__name__}.{name.replace('-', '_')}")
