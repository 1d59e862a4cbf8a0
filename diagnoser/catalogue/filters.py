"""What rule texts can do with values read from a log: quote them for a shell, and compute with them.

Every function is both a filter (`heads | divisors`) and a function (`divisors(heads)`). A value that is not what a
function needs raises `Missing`: the sentence or command that asked for it is then left out, never shown with a blank.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

LARGEST = 1_000_000_000
"""Numbers beyond it are not factored."""
LONGEST_LIST = 1_000
LONGEST_TEMPLATE = 8_192
LONGEST_OUTPUT = 32_768
LONGEST_VALUE = 4_096
"""Characters of one value in a text or a command."""

_SAFE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-")


class Missing(Exception):
    """A value that a text needs is not there."""


class Quoted(str):
    """A text that is already quoted for a shell."""

    __slots__ = ()


def shq(value: object) -> Quoted:
    """The value as one word of a shell command; refuses what quoting does not tame: controls and `-options`."""
    text = as_text(value)
    if not all(character.isprintable() for character in text) or (text.startswith("-") and not _is_number(text)):
        raise Missing("not usable as an argument")
    if text and _SAFE.issuperset(text):
        return Quoted(text)
    return Quoted("'" + text.replace("'", "'\"'\"'") + "'")


def shown(value: object) -> object:
    """What stands for a value in a sentence."""
    if isinstance(value, float | str):
        return as_text(value)
    if value is None or not isinstance(value, int | list | tuple):
        raise Missing("no value")
    return value


def command_word(value: object) -> str:
    """What stands for a value in a command: quoted by the text, or a word that needs no quoting."""
    if isinstance(value, Quoted):
        return value
    text = str(shown(value))
    if not text or not _SAFE.issuperset(text) or (text.startswith("-") and not _is_number(text)):
        raise Missing("needs the filter shq")
    return text


def as_text(value: object) -> str:
    """The value as it is shown."""
    if value is None or is_undefined(value):
        raise Missing("no value")
    text = _shown(value) if isinstance(value, float) else str(value)
    if len(text) > LONGEST_VALUE:
        raise Missing("value too long")
    return text


def is_undefined(value: object) -> bool:
    """Whether this is what the template engine puts in place of an unknown name."""
    return getattr(type(value), "stands_for_nothing", False) is True or type(value).__name__ == "Undefined"


def to_int(value: object, *default: int) -> int:
    """A whole number; `262,144` and `8.0` are understood."""
    try:
        return int(to_float(value))
    except (Missing, OverflowError, ValueError):
        if default:
            return default[0]
        raise Missing("not a number") from None


def to_float(value: object, *default: float) -> float:
    """A number; thousands separators are understood."""
    try:
        if isinstance(value, bool):
            raise ValueError
        number = float(value) if isinstance(value, int | float) else float(as_text(value)[:64].replace(",", "").strip())
        if number != number or number in (float("inf"), float("-inf")):
            raise ValueError
    except (Missing, OverflowError, ValueError):
        if default:
            return default[0]
        raise Missing("not a number") from None
    return number


def round_number(value: object, precision: int = 0, method: str = "common") -> float | int:
    """Rounded to so many decimals, as `common`, `ceil` or `floor`; a whole number when there are none."""
    scale = 10 ** max(0, min(int(precision), 12))
    number = to_float(value) * scale
    # The tiny step keeps 0.29 * 100 = 28.999999999999996 from being floored to 28.
    if method == "ceil":
        result = -int(-(number - 1e-9) // 1)
    elif method == "floor":
        result = int((number + 1e-9) // 1)
    elif method == "common":
        result = round(number)
    else:
        raise Missing("unknown rounding")
    return result if scale == 1 else result / scale


def divisors(value: object) -> list[int]:
    """All divisors of a positive number, smallest first."""
    number = _positive(value)
    low = [n for n in range(1, int(number**0.5) + 1) if number % n == 0]
    return low + [number // n for n in reversed(low) if n * n != number]


def at_most(value: object, limit: object) -> Any:
    """The entries of a list that are not above the limit; of a number, the number or the limit."""
    highest = to_float(limit)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [entry for entry in value if to_float(entry) <= highest]
    return min(to_int(value), int(highest))


def at_least(value: object, limit: object) -> Any:
    """The entries of a list that are not below the limit; of a number, the number or the limit."""
    lowest = to_float(limit)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [entry for entry in value if to_float(entry) >= lowest]
    return max(to_int(value), int(lowest))


def gib(value: object) -> str:
    """Bytes as `12.5 GiB`, or in MiB and KiB where that reads better."""
    size = to_float(value)
    for unit, width in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if abs(size) >= width:
            return f"{_shown(round(size / width, 2 if unit == 'GiB' else 1))} {unit}"
    return f"{int(size)} bytes"


def round_down(value: object, multiple: object) -> int:
    """The largest multiple that is not above the value."""
    return to_int(value) // _positive(multiple) * _positive(multiple)


def round_up(value: object, multiple: object) -> int:
    """The smallest multiple that is not below the value."""
    return -(-to_int(value) // _positive(multiple)) * _positive(multiple)


def nearest_divisor(value: object, wanted: object) -> int:
    """The divisor of a number that is closest to the wanted one; of two, the smaller."""
    goal = to_int(wanted)
    return min(divisors(value), key=lambda found: (abs(found - goal), found))


def valid_tp(heads: object, kv_heads: object = None, width: object = None, block: object = None) -> list[int]:
    """Tensor-parallel sizes that a model's shape allows, smallest first.

    The size must divide the attention heads; it must divide the KV heads or be a multiple of them (they are then
    replicated); a width that is split must come out whole, and in whole blocks of `block` where weights are quantized
    in blocks. Unknown shapes ask for nothing.
    """
    sizes = divisors(heads)
    if _given(kv_heads):
        kv = _positive(kv_heads)
        sizes = [size for size in sizes if kv % size == 0 or size % kv == 0]
    if _given(width):
        whole, unit = _positive(width), _positive(block) if _given(block) else 1
        sizes = [size for size in sizes if whole % (size * unit) == 0]
    return sizes


def fits_max_len(needed_gib: object, available_gib: object, max_len: object) -> int:
    """The longest context whose KV cache fits, in whole blocks of 16 tokens; the cache grows with the length."""
    needed, available = to_float(needed_gib), to_float(available_gib)
    if needed <= 0 or available <= 0:
        raise Missing("sizes must be positive")
    length = int(to_int(max_len) * available / needed)
    if length < 16:
        raise Missing("nothing fits")
    return length // 16 * 16


def list_join(values: object, separator: str = ", ", last: str = " or ") -> str:
    """A list as words: `1, 2 or 4`."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise Missing("not a list")
    texts = [as_text(value) for value in values]
    if not texts or len(texts) > LONGEST_LIST:
        raise Missing("nothing to list")
    return texts[0] if len(texts) == 1 else separator.join(texts[:-1]) + last + texts[-1]


def join(values: object, separator: str = "") -> str:
    """A list as one text."""
    return list_join(values, separator, separator)


def truncate(value: object, length: int = 80, killwords: bool = True, end: str = "…") -> str:
    """A text cut to a length, the sign that it was cut included; with `killwords` false, between words."""
    text = as_text(value)
    limit = max(1, min(int(length), LONGEST_VALUE))
    if len(text) <= limit:
        return text
    kept = text[: limit - 1]
    return (kept if killwords else kept.rpartition(" ")[0] or kept) + end[:8]


def in_version(value: object, wanted: str) -> bool:
    """Whether a version lies in a range: `{% if facts.vllm_version is version(">=0.9,<0.12") %}`. Unknown is not."""
    from diagnoser.catalogue.versions import within

    return not is_undefined(value) and value is not None and within(as_text(value), wanted) is True


def _positive(value: object) -> int:
    number = to_int(value)
    if not 0 < number <= LARGEST:
        raise Missing("not a positive number of a sensible size")
    return number


def _given(value: object) -> bool:
    return value is not None and not is_undefined(value)


def _is_number(text: str) -> bool:
    return text.lstrip("-").replace(".", "", 1).isdigit() and text.count("-") <= 1


def _shown(value: float) -> str:
    """A number without a point when it is whole, and without the dust of binary fractions."""
    if value != value or value in (float("inf"), float("-inf")):
        raise Missing("not a number")
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else f"{value:.6g}"


FILTERS: Mapping[str, Callable[..., Any]] = {
    "shq": shq,
    "int": to_int,
    "float": to_float,
    "round": round_number,
    "divisors": divisors,
    "at_most": at_most,
    "at_least": at_least,
    "gib": gib,
    "round_down": round_down,
    "round_up": round_up,
    "nearest_divisor": nearest_divisor,
    "valid_tp": valid_tp,
    "fits_max_len": fits_max_len,
    "list_join": list_join,
    "join": join,
    "truncate": truncate,
}
"""By the name that rule texts use."""
