"""Sizes in Mooncake's settings, as each of its readers takes them.

vLLM (distributed/mooncake_store.py) takes numbers and GB, MB, KB, B; Mooncake's own loader (mooncake_config.py) takes
k, m, g and t, with or without b. Both count in powers of 1024.
"""

from __future__ import annotations

import re

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
