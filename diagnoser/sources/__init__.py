"""Reads logs: files, folders, globs, compressed files, bundles and standard input become lines.

`open_sources` looks at what the user named and returns one `Source` per log; `Source.lines()` yields its `RawLine`
values. Healthy stretches of large logs are skipped unless `skip=False`. `read_ahead` has large files searched before
their lines are asked for.
"""

from __future__ import annotations

from .early import read_ahead
from .limits import DEFAULT_LIMITS, Limits
from .opening import open_sources, text_source
from .source import Source

__all__ = ["DEFAULT_LIMITS", "Limits", "Source", "open_sources", "read_ahead", "text_source"]
