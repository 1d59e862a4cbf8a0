"""Regular expressions that are compiled when they are first used.

A small log needs few of the many that this package has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from diagnoser.precompiled import compile_pattern

if TYPE_CHECKING:
    import re

_METHODS = ("match", "search", "fullmatch", "sub", "finditer", "split", "findall")


class _LazyPattern:
    """Stands in for a compiled pattern; its methods are the compiled pattern's own once one was used."""

    if TYPE_CHECKING:  # the instance gets attributes that no class body names
        __dict__: dict[str, Any]

    def __init__(self, source: str, flags: int) -> None:
        self.pattern = source
        self.flags = flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        compiled = compile_pattern(self.pattern, self.flags)
        for method in _METHODS:
            self.__dict__[method] = getattr(compiled, method)
        return getattr(compiled, name)


def lazy(source: str, flags: int = 0) -> re.Pattern[str]:
    """The pattern, compiled at its first use; re.error is raised then."""
    return cast("re.Pattern[str]", _LazyPattern(source, flags))
