"""Arithmetic that checks share: divisors, sizes with units, lists in words."""

from __future__ import annotations

import re
from collections.abc import Iterable

MIB, GIB = 1 << 20, 1 << 30
_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([kmgtp]?)(i?b?)\s*", re.IGNORECASE)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}
BEYOND = 10**18
LARGEST = 1 << 34
"""Numbers above this are taken for a mistake and not factored."""


def divisors(number: int) -> list[int]:
    """All divisors of a positive number, smallest first; none for anything else."""
    if not 0 < number <= LARGEST:
        return []
    low = [n for n in range(1, int(number**0.5) + 1) if number % n == 0]
    return low + [number // n for n in reversed(low) if n * n != number]


def round_up(number: int, multiple: int) -> int:
    """The smallest multiple that is not below the number."""
    return -(-number // multiple) * multiple


def in_words(values: Iterable[object], last: str = "or") -> str:
    """`1, 2, 4 or 8`."""
    texts = [str(value) for value in values]
    if len(texts) < 2:
        return "".join(texts)
    return f"{', '.join(texts[:-1])} {last} {texts[-1]}"


def size(text: object) -> int | None:
    """Bytes of `80GiB`, `64GB`, `4G`, `1048576` or a number; units are powers of 1024. None for anything else.

    This is how Diagnoser reads the sizes that a person gives it. What vLLM or Mooncake accept is narrower and lives
    with the checks of their files.
    """
    if isinstance(text, bool):
        return None
    if isinstance(text, int | float):
        return int(text) if 0 <= text < float("inf") else None
    found = _SIZE.fullmatch(str(text))
    if not found:
        return None
    return int(float(found[1]) * 1024 ** _POWERS[found[2].lower()])


def gib(number: float) -> str:
    """Bytes as `12.5 GiB`, smaller ones in MiB."""
    if abs(number) >= GIB:
        return f"{number / GIB:.1f} GiB"
    return f"{number / MIB:.0f} MiB"


def whole(value: object) -> int | None:
    """The value as a whole number where it is one, also written as text; None for booleans and anything else.

    A number of more than eighteen digits is none: nothing that is set is that large, and arithmetic with it fails.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value if abs(value) < BEYOND else None
    if isinstance(value, float) and value.is_integer() and abs(value) < BEYOND:
        return int(value)
    if isinstance(value, str) and re.fullmatch(r"[+-]?\d{1,18}", value.strip()):
        return int(value)
    return None
