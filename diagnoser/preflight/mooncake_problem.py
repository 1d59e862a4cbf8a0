"""`Problem`: something that a reader of a Mooncake configuration refuses or gets wrong.

Readers:
  vllm       MooncakeStoreConnector, distributed/mooncake_store.py of vLLM 0.32
  mooncake   Mooncake's own loader, mooncake_config.py of 0.3.13 (store service, LMCache, SGLang)
  engine     a transfer engine alone: initialize(local host name, metadata server, protocol, device)
"""

from __future__ import annotations

from typing import Literal

from diagnoser.model import Remedy
from diagnoser.records import NamedTuple

Reader = Literal["vllm", "mooncake", "engine"]


class Problem(NamedTuple):
    """One thing that is wrong with a setting."""

    key: str
    rule: str
    text: str
    why: str = ""
    steps: tuple[Remedy | str, ...] = ()
    severe: bool = True
    """False for what may work all the same."""
