"""The texts that make a stretch of a large log worth reading, and the search for them.

Each text is as rare as can be in healthy logs of vLLM, Mooncake, Ray, NCCL, SGLang and HTTP servers, and together
they are in everything that parsers and rules look for. Their number, their lengths and their order are made for the
searcher (the Rust crate aho-corasick, by way of ahocorasick_rs): it runs at memory speed with at most 64 texts of at
least four bytes whose first four bytes are rare (AVX2), or at most 32 (other processors, where two searches are made);
which texts share one of its 16 buckets follows from the order, and a bad order is several times slower.
`benchmarks/tune_triggers.py` finds a good one.
"""

from __future__ import annotations

import os
from array import array
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import cache

from .skipping import NUMBERS

# fmt: off
LITERALS: tuple[bytes, ...] = (
    b" E04", b"*** SIG", b" timeout", b"og caught", b" E07", b"\nE02", b"\nE01", b"NVRM: ", b"refused", b" dead",
    b"FATAL", b'" 50', b"UDA err", b"SIGTERM", b"xit code", b"\nE05", b" E08", b'", line ', b"\nE12", b"egfault",
    b" E05", b"xceed", b"k found", b" failed", b"\nE08", b"Failed to ", b"\nE04", b" timed out", b"\nE09", b"Killed",
    b"xited ", b"hutdown", b" E06", b"CL WARN", b" E12", b" E03", b" E09", b"\nE11", b" E02", b"ERROR", b"rror:",
    b" E10", b"(most recent call last)", b"mismatch", b"\nE07", b" by peer", b"(core dumped)", b"\nE10", b"erminat",
    b"Check fail", b" killed", b"\nE03", b"ntation fault", b"hutting down", b" E01", b"nicked at", b"CRITICAL",
    b" E11", b"\nE06", b"on-default", b"Assertion ", b" died", b"xpired", b"nvalid ",
)
WEAK = frozenset((
    b"Failed to ", b" failed", b" timed out", b" timeout", b"mismatch", b"refused", b" by peer", b" dead", b'" 50',
    b"k found", b"on-default", b"erminat", b"xpired", b"xceed", b"nvalid ",
))
# fmt: on
"""Those that healthy logs may hold now and then; each opens a limited number of stretches."""

LONGEST = max(map(len, LITERALS))
_ONE_SEARCH = 64
_NARROW_SEARCH = 32

_SEARCHED_AT_ONCE = 1024 * 1024  # each time a thread has to wait for the interpreter's lock
_SEARCHED_IN_FLOODS = 32 * 1024  # with a hit every five bytes, each of which takes 150 bytes while it is looked at
_SEARCHED_FIRST = 64 * 1024
_FLOOD = 1024

Hits = tuple[Sequence[int], Sequence[int]]
"""Where each strong trigger ends, and where each weak one does, times `NUMBERS`, plus its number; both ascending."""
Finder = Callable[[memoryview, int, int], Hits]
"""Called with a buffer, the index to begin at, and the index of the first new byte: what ends before it is left out."""


@cache
def finder(literals: tuple[bytes, ...] = LITERALS) -> Finder:
    """The fastest search at hand for the literals."""
    try:
        from ahocorasick_rs import BytesAhoCorasick, MatchKind
    except ImportError:
        return _plain_finder(literals)
    size = _literals_per_search()
    searches = [
        (at, BytesAhoCorasick(literals[at : at + size], matchkind=MatchKind.LeftmostFirst).find_matches_as_indexes)
        for at in range(0, len(literals), size)
    ]
    is_strong = [literal not in WEAK for literal in literals]

    def find(view: memoryview, begin: int, new: int) -> Hits:
        strong, weak = array("q"), array("q")  # a flood has hundreds of thousands in one window
        size = _SEARCHED_FIRST
        while begin < len(view):
            stop = min(begin + size, len(view))
            size = _SEARCHED_AT_ONCE
            for first, search in searches:
                if found := search(view[begin:stop]):
                    size = min(size, _SEARCHED_AT_ONCE if len(found) < _FLOOD else _SEARCHED_IN_FLOODS)
                    kinds = is_strong[first:]
                    ends = [end + begin for number, _, end in found if kinds[number]]
                    strong.extend(ends[bisect_right(ends, new) :])
                    if len(ends) < len(found):
                        codes = ((end + begin) * NUMBERS + number for number, _, end in found if not kinds[number])
                        weak.extend(code + first for code in codes if code >= (new + 1) * NUMBERS)
            new = stop
            begin = stop if stop == len(view) else stop - LONGEST + 1
        return (strong, weak) if len(searches) == 1 else (sorted(strong), sorted(weak))

    return find


def _literals_per_search() -> int:
    machine = os.uname().machine if hasattr(os, "uname") else "x86_64"
    return _ONE_SEARCH if machine in ("x86_64", "amd64") else _NARROW_SEARCH


def _plain_finder(literals: tuple[bytes, ...]) -> Finder:
    """Without the native searcher: the same hits, a hundred times slower."""
    import re

    search = re.compile(b"|".join(map(re.escape, literals))).finditer
    weak = {literal: number for number, literal in enumerate(literals) if literal in WEAK}

    def find(view: memoryview, begin: int, new: int) -> Hits:
        ends = [(found.end(), weak.get(found[0])) for found in search(view, begin) if found.end() > new]
        strong = [end for end, number in ends if number is None]
        return strong, [end * NUMBERS + number for end, number in ends if number is not None]

    return find
