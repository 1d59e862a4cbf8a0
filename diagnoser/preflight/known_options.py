"""Options of `vllm serve`, by what follows them.

An option that no listed release has is no reason for an error, since forks and newer releases add options.
"""

from __future__ import annotations

from diagnoser.preflight.known_names import pairs_of

_KINDS = pairs_of("options")
SWITCHES = frozenset(name for name, kind in _KINDS.items() if kind == "switch")
"""Take no value; `--no-…` turns each off."""
VALUES = frozenset(name for name, kind in _KINDS.items() if kind != "switch")
"""Take one value or more."""
LISTS = frozenset(name for name, kind in _KINDS.items() if kind == "list")
"""Take every word up to the next option."""
WHOLE_NUMBERS = frozenset(name for name, kind in _KINDS.items() if kind == "whole")
"""Values that have to be whole numbers."""
NUMBERS = frozenset(name for name, kind in _KINDS.items() if kind == "number")
"""Values that have to be numbers."""
JSON_VALUES = frozenset(name for name, kind in _KINDS.items() if kind == "json")
"""Values that are JSON objects; `--option.key value` sets one key."""

HUMAN_NUMBERS = frozenset(
    (
        "max_model_len",
        "max_num_batched_tokens",
        "max_num_scheduled_tokens",
        "kv_cache_memory_bytes",
        "max_num_queued_tokens",
    )
)
"""Whole numbers that may be written as `32k` (thousands) or `32K` (times 1,024)."""

SHORT = {
    "tp": "tensor_parallel_size",
    "pp": "pipeline_parallel_size",
    "dp": "data_parallel_size",
    "dpl": "data_parallel_size_local",
    "dpa": "data_parallel_address",
    "dpp": "data_parallel_rpc_port",
    "dpb": "data_parallel_backend",
    "dpn": "data_parallel_rank",
    "dpr": "data_parallel_start_rank",
    "dph": "data_parallel_hybrid_lb",
    "dpe": "data_parallel_external_lb",
    "dpm": "data_parallel_multi_port_external_lb",
    "dcp": "decode_context_parallel_size",
    "pcp": "prefill_context_parallel_size",
    "ep": "enable_expert_parallel",
    "q": "quantization",
    "cc": "compilation_config",
    "ac": "attention_config",
    "sc": "speculative_config",
    "dc": "diffusion_config",
    "n": "nnodes",
    "r": "node_rank",
    "asc": "api_server_count",
    "O": "optimization_level",
    "h": "help",
}
"""One-dash names."""
