"""Sizes in Mooncake's settings, as each of its readers takes them.

vLLM (distributed/mooncake_store.py) takes numbers and GB, MB, KB, B; Mooncake's own loader (mooncake_config.py) takes
k, m, g and t, with or without b. Both count in powers of 1024.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from diagnoser.preflight.mooncake_problem import Problem, Reader
from diagnoser.preflight.numbers import GIB

_VLLM = re.compile(r"\s*([\d.]+)\s*(gb|mb|kb|b)?\s*")
_OWN = re.compile(r"\s*([\d.]+)\s*([kmgt])?b?\s*")
_POWERS = {"b": 0, "kb": 1, "mb": 2, "gb": 3, "k": 1, "m": 2, "g": 3, "t": 4}


def vllm_size(value: object) -> int | None:
    """Bytes as vLLM reads them; None for what it refuses (`4GiB`, `4G`, `1TB`, null)."""
    return _size(value, _VLLM)


def own_size(value: object) -> int | None:
    """Bytes as Mooncake's own loader reads them; None for what it refuses."""
    return _size(value, _OWN)


def _size(value: object, pattern: re.Pattern[str]) -> int | None:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int | float):
        return int(value) if abs(value) < float("inf") else None
    found = pattern.fullmatch(value.lower()) if isinstance(value, str) else None
    if not found:
        return None
    try:
        return int(float(found[1]) * 1024 ** _POWERS[found[2] or "b"])
    except (ValueError, OverflowError):
        return None


def size_problems(values: Mapping[str, Any], reader: Reader) -> Iterator[Problem]:
    """`global_segment_size`, `local_buffer_size` and `mode`, which go together."""
    if reader == "engine":
        return
    rule, parse = "mooncake-config-value-invalid", vllm_size if reader == "vllm" else own_size
    sizes: dict[str, int | None] = {}
    for key in ("global_segment_size", "local_buffer_size"):
        value = values.get(key, 4 * GIB)
        sizes[key] = parse(value)
        if sizes[key] is None:
            allowed = "a number of bytes, or with GB, MB, KB or B" if reader == "vllm" else "a number with k, m, g or t"
            yield Problem(key, rule, f"{key} {value!r} is no size", f"Accepted are {allowed}.", (_spelt(key, value),))
        elif sizes[key] is not None and (sizes[key] or 0) < 0:
            yield Problem(key, rule, f"{key} is negative")
    if reader != "vllm":
        return
    mode = values.get("mode", "embedded")
    if mode not in ("embedded", "standalone-store"):
        yield Problem("mode", rule, f"mode {mode!r} does not exist", "", ("Use embedded or standalone-store.",))
    segment, buffer = sizes["global_segment_size"], sizes["local_buffer_size"]
    if buffer == 0:
        yield Problem("local_buffer_size", rule, "local_buffer_size is 0", "It has to be above 0.")
    if mode == "embedded" and segment == 0:
        yield Problem(
            "global_segment_size",
            rule,
            "global_segment_size is 0 in embedded mode",
            "Each rank has to give some memory.",
        )
    if mode == "standalone-store" and segment not in (0, None):
        yield Problem(
            "global_segment_size",
            rule,
            "global_segment_size has to be 0 in standalone-store mode",
            "It is 4 GiB when it is not given, and that is refused too.",
            ('Write "global_segment_size": 0.',),
        )


def _spelt(key: str, value: object) -> str:
    text = str(value).strip()
    digits = "".join(character for character in text if character.isdigit() or character == ".")
    unit = text[len(digits) :].strip().upper().replace("IB", "B")
    if digits and unit in ("G", "GB", "M", "MB", "K", "KB"):
        return f'Write "{key}": "{digits}{unit[0]}B".'
    return f'Write "{key}": "4GB".'
