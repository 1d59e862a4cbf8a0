"""How much of an input is read before the rest is left out; every limit that was hit is said in the notes."""

from __future__ import annotations

from typing import NamedTuple


class Limits(NamedTuple):
    """Bounds that keep time and memory flat on hostile input."""

    line_bytes: int = 64 * 1024
    """Bytes kept of one line; the rest of the line is dropped and counted in `lines_cut`."""
    expanded_bytes: int = 64 * 1024**3
    """Bytes read from one compressed file, or from one archive in all, after expansion."""
    ratio: int = 5000
    """Expanded bytes per compressed byte. A flood of equal lines reaches 1000, so this stops only bombs."""
    archive_entries: int = 10_000
    """Entries looked at in one archive."""


DEFAULT_LIMITS = Limits()
RATIO_FREE_BYTES = 64 * 1024**2
"""Expanded bytes below which the ratio is not looked at: so little is harmless."""
