"""What a model's weights are called and which shapes they have: as config.json promises it, and as their file says.

Names and shapes are only known of families that vLLM builds of its plain layers; of others nothing is promised.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

from diagnoser.preflight.model_config import ModelConfig
from diagnoser.preflight.moe_config import MoEModelConfig

LARGEST_HEADER = 100_000_000
"""Bytes of a header that the safetensors library takes (MAX_HEADER_SIZE)."""
_REGULAR = frozenset(
    (
        "llama",
        "mistral",
        "mixtral",
        "qwen2",
        "qwen2_moe",
        "qwen3",
        "qwen3_moe",
        "gemma",
        "gemma2",
        "gemma3_text",
        "olmo2",
        "cohere",
        "granite",
        "smollm3",
        "starcoder2",
        "stablelm",
        "seed_oss",
    )
)
"""Families whose layers all have the same shapes under the usual names."""
_PLAIN = frozenset(("llama", "mistral", "qwen2", "qwen3"))
"""Families whose layers hold exactly the weights of `_LAYER`."""
_LAYER = re.compile(
    r"(?:model\.)?layers\.\d+\.(?:"
    r"(?:input_layernorm|post_attention_layernorm)\.weight"
    r"|self_attn\.(?:[qkvo]_proj\.(?:weight|bias)|[qk]_norm\.weight|qkv_proj\.weight|rotary_emb\.inv_freq)"
    r"|mlp\.(?:gate_proj|up_proj|down_proj|gate_up_proj)\.(?:weight|bias))"
)
_NEEDED = ("input_layernorm", "post_attention_layernorm", "self_attn.o_proj", "mlp.down_proj")
"""Parts of every layer of a plain family that have a weight of their own."""


def read_header(path: str) -> Mapping[str, Any] | None:
    """Names, types and shapes in a safetensors file; None when it is none or is cut off."""
    try:
        size = os.path.getsize(path)
        with open(path, "rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if not 2 <= length <= min(LARGEST_HEADER, size):
                return None
            header = json.loads(file.read(length))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(header, dict):
        return None
    ends = [
        entry["data_offsets"][1]
        for entry in header.values()
        if isinstance(entry, dict) and isinstance(entry.get("data_offsets"), list) and len(entry["data_offsets"]) == 2
    ]
    return header if not ends or max(ends) <= size - 8 - length else None


def promised_shapes(model: ModelConfig, moe: MoEModelConfig | None) -> dict[str, list[list[int]]]:
    """Shapes of a few weights, by the end of their names."""
    if model.model_type not in _REGULAR or model.quantization:
        return {}
    hidden, width, vocabulary = model.hidden, model.intermediate, model.vocabulary
    shapes: dict[str, list[list[int]]] = {}
    if hidden and vocabulary:
        shapes["embed_tokens.weight"] = [[vocabulary, hidden]]
    if hidden and width and (moe is None or not moe.is_moe):
        shapes["mlp.down_proj.weight"] = [[hidden, width]]
        shapes["mlp.up_proj.weight"] = [[width, hidden]]
    if hidden and model.heads and model.head_dim and not model.mla:
        shapes["self_attn.o_proj.weight"] = [[hidden, model.heads * model.head_dim]]
    return shapes


def is_of_language_model(weight: str) -> bool:
    """Whether a weight is one of the language model, not of its vision tower or its draft model."""
    bare = weight.removeprefix("model.").removeprefix("language_model.").removeprefix("model.")
    return bare.startswith(("layers.", "embed_tokens"))


def unknown_weight(model: ModelConfig, names: Iterable[str]) -> str | None:
    """The first weight of a layer that this family's model does not have."""
    if model.model_type not in _PLAIN or model.quantization:
        return None
    return next((name for name in names if ".layers." in f".{name}" and not _LAYER.fullmatch(name)), None)


def absent_weight(model: ModelConfig, names: Iterable[str]) -> str | None:
    """The first weight of a layer that this family's model needs and no file holds."""
    if model.model_type not in _PLAIN or model.quantization or not model.layers:
        return None
    held = {name.removeprefix("model.") for name in names}
    needed = (f"layers.{layer}.{part}.weight" for layer in range(model.layers) for part in _NEEDED)
    return next((name for name in needed if name not in held), None)


def implied_experts(weight: str) -> int:
    """The number of experts that a weight's name implies: its own number and one; 0 for a weight of no expert."""
    parts = weight.split(".")
    for position, part in enumerate(parts[:-1]):
        if part == "experts" and parts[position + 1].isdigit():
            return int(parts[position + 1]) + 1
    return 0
