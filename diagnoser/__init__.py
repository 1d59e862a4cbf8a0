"""Find the real cause of a crashed LLM-serving deployment in its logs, and say what to do about it."""

from __future__ import annotations

__version__ = "0.1.0"
