"""The catalogue: rules from files, and which of them hold for a failure.

    catalogue = Catalogue.load()
    catalogue.match(failure, facts, logs) -> [Match(rule="parallel-kv-heads-not-divisible", …)]
"""

from __future__ import annotations

from diagnoser.catalogue.catalogue import Catalogue
from diagnoser.catalogue.subjects import LogHit, RecordHit

__all__ = ["Catalogue", "LogHit", "RecordHit"]
