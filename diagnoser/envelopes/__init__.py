"""Envelopes: what collectors and loggers put around a line, one file for each format.

`Peeler` takes them off, outermost first, until none fits. A new format is one new file that defines `ENVELOPE`.
"""

from __future__ import annotations

from diagnoser.envelopes._memory import Known, Meaning
from diagnoser.envelopes._peeler import Peeler

__all__ = ["Known", "Meaning", "Peeler"]
