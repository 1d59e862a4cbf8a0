"""Names that releases of vLLM register: architectures, connectors, quantization methods, parsers.

Sources: model_executor/models/registry.py, kv_connector/factory.py, layers/quantization, tool_parsers and reasoning of
vLLM 0.32, with names that older releases had. A name that is not here may still come from a plug-in or a newer
release; what a check makes of that is its own affair.
"""

from __future__ import annotations

import os
from functools import cache

_FOLDER = os.path.join(os.path.dirname(__file__), "names")

NEWEST = "0.32"
"""The newest release whose names are listed."""

CONNECTORS = frozenset(
    (
        "MooncakeConnector",
        "MooncakeStoreConnector",
        "MultiConnector",
        "NixlConnector",
        "NixlPullConnector",
        "NixlPushConnector",
        "LMCacheConnectorV1",
        "LMCacheMPConnector",
        "OffloadingConnector",
        "SimpleCPUOffloadConnector",
        "MoRIIOConnector",
        "FlexKVConnectorV1",
        "HF3FSKVConnector",
        "HiSparseConnector",
        "DecodeBenchConnector",
        "ExampleConnector",
        "ExampleHiddenStatesConnector",
    )
)
"""Connectors of the newest release."""

REMOVED_CONNECTORS = {
    "P2pNcclConnector": ("0.26", "NixlConnector or MooncakeConnector"),
    "SharedStorageConnector": ("0.32", "ExampleConnector"),
    "LMCacheConnector": ("0.26", "LMCacheConnectorV1"),
    "PyNcclConnector": ("0.26", "NixlConnector or MooncakeConnector"),
    "MooncakePipe": ("0.26", "MooncakeConnector"),
}
"""Connector: a release that has it no more (it may have gone earlier), and what takes its place."""

ASCEND_CONNECTORS = frozenset(
    (
        "MooncakeConnectorV1",
        "MooncakeLayerwiseConnector",
        "MooncakeHybridConnector",
        "MooncakeConnectorStoreV1",
        "AscendStoreConnector",
        "LLMDataDistCMgrConnector",
        "CPUOffloadingConnector",
        "LMCacheAscendConnector",
        "LMCacheAscendConnectorV1Dynamic",
        "UCMConnector",
    )
)
"""What vllm-ascend registers besides."""

EXECUTORS = ("ray", "mp", "uni", "external_launcher")
"""Values of `--distributed-executor-backend`; a dotted class name is accepted too."""


@cache
def names_of(kind: str) -> frozenset[str]:
    """The names in `names/<kind>.txt`: architectures, tool-parsers, reasoning-parsers or quantization."""
    return frozenset(pairs_of(kind))


@cache
def pairs_of(kind: str) -> dict[str, str]:
    """Names and what stands behind each in `names/<kind>.txt`."""
    with open(os.path.join(_FOLDER, f"{kind}.txt"), encoding="utf-8") as file:
        lines = [line.split() for line in file if line.strip() and not line.startswith("#")]
    return {words[0]: " ".join(words[1:]) for words in lines}
