"""How much of an input is read: bounds whose effect is said in the notes, and the sizes of skipping."""

from diagnoser.records import NamedTuple


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


class Settings(NamedTuple):
    """What is read of a log larger than `whole`; sizes in bytes."""

    whole: int = 1024 * 1024
    """Regular files up to this size are read whole."""
    head: int = 128 * 1024
    """Read at the start of every log: it holds the start-up lines that facts come from."""
    tail: int = 32 * 1024
    """Read at the end of a log in which a trigger was hit behind the head."""
    before: int = 16 * 1024
    slack: int = 8 * 1024
    """How far back the start of the line is sought in which `before` ends."""
    after: int = 48 * 1024
    weak_after: int = 8 * 1024
    weak_lines: int = 32
    """Lines around which each weak trigger has something read."""
    window: int = 1024 * 1024
    """Bytes searched at once."""
    threads: int = 2
    """Threads that read and search a large regular file; no more than there are cores."""


DEFAULT_SETTINGS = Settings()
