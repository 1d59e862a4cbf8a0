"""Estimates the memory of one rank from config.json: weights, KV cache per token, and what the rest takes.

It is an estimate. Against figures that real logs print (see the tests) weights are within WEIGHT_ERROR, bytes per
token within TOKEN_ERROR, and the memory left for the KV cache within REST_ERROR bytes. Vision and audio encoders,
draft models, LoRA adapters and CUDA graphs of unusual size are not counted.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable
from typing import Any

from diagnoser.preflight.deployment import Deployment
from diagnoser.preflight.model_config import ModelConfig
from diagnoser.preflight.moe_config import MoEModelConfig
from diagnoser.preflight.numbers import GIB
from diagnoser.preflight.shapes import group_size, padded_vocabulary
from diagnoser.records import NamedTuple

WEIGHT_ERROR = 0.05
"""Part of the weights by which the estimate may be wrong."""
TOKEN_ERROR = 0.02
"""Part of the KV cache's bytes per token by which the estimate may be wrong."""
REST_ERROR = 2 * GIB
"""Bytes by which the memory left for the KV cache may be wrong."""

MOST_LAYERS = 10_000
"""A model with more layers is taken for a mistake."""

_BYTES = {"float32": 4.0, "float16": 2.0, "bfloat16": 2.0, "float64": 8.0}
_CACHE_BYTES = {
    "fp8": 1,
    "fp8_e4m3": 1,
    "fp8_e5m2": 1,
    "fp8_inc": 1,
    "int8": 1,
    "bfloat16": 2,
    "float16": 2,
    "float32": 4,
}
_UNGATED = frozenset(("opt", "gpt2", "gptj", "gpt_neox", "gpt_bigcode", "starcoder2", "falcon", "bloom", "mpt", "phi"))
"""Families whose MLP has two matrices instead of three."""
_LEARNED_POSITIONS = frozenset(("opt", "gpt2", "gpt_bigcode"))


class Estimate(NamedTuple):
    """Bytes on one rank."""

    weights: int
    cache_per_token: int
    """Of one token in all layers of the rank that keep every token."""
    cache_of_windows: int
    """Of one request in the layers that keep a window only."""
    rest: int
    """Activations, CUDA context, communication buffers and CUDA graphs."""

    def cache_of(self, tokens: int) -> int:
        """Bytes that one request of so many tokens needs."""
        return self.cache_per_token * tokens + self.cache_of_windows


def estimate(model: ModelConfig, moe: MoEModelConfig, deployment: Deployment) -> Estimate | None:
    """The estimate for the fullest rank; None when config.json lacks the sizes it needs."""
    if not (model.hidden and model.layers and model.heads and model.head_dim) or model.layers > MOST_LAYERS:
        return None
    per_token, windows = cache_bytes(model, deployment)
    return Estimate(int(weight_bytes(model, moe, deployment)), per_token, windows, int(_rest(model, moe, deployment)))


def cache_bytes(model: ModelConfig, deployment: Deployment) -> tuple[int, int]:
    """Bytes of a token in the layers that keep all tokens, and of a request in the layers with a window."""
    asked = deployment.text("kv_cache_dtype") or "auto"
    width = _CACHE_BYTES.get(asked) or int(_BYTES.get(_dtype(model, deployment), 2.0))
    if model.mla:
        per_layer = ((model.whole("kv_lora_rank") or 0) + (model.whole("qk_rope_head_dim") or 0)) * width
    else:
        heads = max((model.kv_heads or 1) // deployment.tp, 1)
        per_layer = 2 * heads * (model.head_dim or 0) * width
    full, windowed = _kinds_of_layers(model)
    stages = deployment.pp
    window = model.whole("sliding_window") or 0
    per_token = per_layer * -(-full // stages)
    return per_token // deployment.dcp, per_layer * -(-windowed // stages) * window


def _kinds_of_layers(model: ModelConfig) -> tuple[int, int]:
    """Layers that keep all tokens, and layers that keep a window; others (linear, Mamba) keep none."""
    layers = model.layers or 0
    kinds = model.text.get("layer_types") or model.text.get("layers_block_type")
    if isinstance(kinds, list) and kinds:
        full = sum(1 for kind in kinds if kind in ("full_attention", "attention"))
        return full, sum(1 for kind in kinds if kind in ("sliding_attention", "chunked_attention"))
    if every := model.whole("full_attention_interval"):
        return layers // every, 0
    pattern = model.whole("sliding_window_pattern")
    if pattern and model.whole("sliding_window"):
        return layers // pattern, layers - layers // pattern
    return layers, 0


def _dtype(model: ModelConfig, deployment: Deployment) -> str:
    asked = deployment.text("dtype") or "auto"
    aliases = {"half": "float16", "float": "float32"}
    asked = aliases.get(asked, asked)
    if asked in _BYTES:
        return asked
    stored = model.dtype or "bfloat16"
    return "bfloat16" if stored == "float32" and deployment.platform != "cpu" else stored


def weight_bytes(model: ModelConfig, moe: MoEModelConfig, deployment: Deployment) -> float:
    """Weights on the fullest rank."""
    plain = _BYTES.get(_dtype(model, deployment), 2.0)
    small = _quantized_bytes(model, deployment, plain)
    left = _Unquantized(model)
    hidden, layers = model.hidden or 0, model.layers or 0
    stage = -(-layers // deployment.pp)
    total = 0.0
    for layer in range(stage):
        attention = plain if left.covers(layer, "self_attn") else small
        mlp = plain if left.covers(layer, "mlp") else small
        total += _attention(model, deployment.tp) * attention + _absorbed(model, deployment.tp) * plain
        total += _feed_forward(model, moe, deployment, layer, mlp, plain)
        total += 2 * hidden * plain
    table = padded_vocabulary(model.vocabulary or 0) * hidden / deployment.tp * plain
    if model.model_type in _LEARNED_POSITIONS:
        total += (model.whole("max_position_embeddings", "n_positions") or 0) * hidden * plain
    tables = 1 if model.tied_embeddings or deployment.pp > 1 else 2
    return total + tables * table


def _attention(model: ModelConfig, tp: int) -> float:
    """Weights of one attention block on one rank."""
    hidden, heads, size = model.hidden or 0, model.heads or 0, model.head_dim or 0
    if not model.mla:
        kv = max((model.kv_heads or 1) / tp, 1)
        return hidden * size * (2 * heads / tp + 2 * kv)
    nope, rope = model.whole("qk_nope_head_dim") or 0, model.whole("qk_rope_head_dim") or 0
    rank, query = model.whole("kv_lora_rank") or 0, model.whole("q_lora_rank")
    queries = (nope + rope) * heads / tp
    total = (hidden * query + query * queries) if query else hidden * queries
    return total + hidden * (rank + rope) + rank * heads / tp * (nope + size) + heads / tp * size * hidden


def _absorbed(model: ModelConfig, tp: int) -> float:
    """MLA keeps the two halves of the up-projection a second time, unquantized, for decoding."""
    if not model.mla:
        return 0.0
    rank, nope = model.whole("kv_lora_rank") or 0, model.whole("qk_nope_head_dim") or 0
    return rank * (model.heads or 0) / tp * (nope + (model.head_dim or 0))


def _feed_forward(
    model: ModelConfig, moe: MoEModelConfig, deployment: Deployment, layer: int, small: float, plain: float
) -> float:
    """Bytes of one layer's MLP or experts on the fullest rank."""
    hidden = model.hidden or 0
    matrices = 2 if model.model_type in _UNGATED else 3
    if not moe.is_moe or _is_dense(model, layer):
        return matrices * hidden * (moe.dense_width or model.intermediate or 0) / deployment.tp * small
    width = moe.expert_width or 0
    count = moe.num_experts + (deployment.redundant_experts if deployment.eplb else 0)
    experts = -(-count // deployment.ep) * width / deployment.moe_tp
    total = matrices * hidden * experts * small + hidden * moe.num_experts * plain
    return total + matrices * hidden * (moe.shared_width or 0) / deployment.tp * small


def _is_dense(model: ModelConfig, layer: int) -> bool:
    first = model.whole("first_k_dense_replace", "moe_layer_start_index", "num_dense_layers") or 0
    only = model.text.get("mlp_only_layers")
    step = model.whole("decoder_sparse_step", "moe_layer_freq", "moe_layer_interval") or 1
    return layer < first or (isinstance(only, list) and layer in only) or (step > 1 and (layer + 1) % step != 0)


def _quantized_bytes(model: ModelConfig, deployment: Deployment, plain: float) -> float:
    """Bytes of one quantized weight with its part of the scales."""
    quantization = model.quantization
    method = str(quantization.get("quant_method") or deployment.text("quantization") or "").lower()
    if not method:
        return plain
    bits = _bits(quantization, method)
    if bits is None:
        return plain
    group = group_size(model) or 0
    if method in ("mxfp4", "gpt_oss_mxfp4"):
        return 0.5 + 1 / 32
    scales = (2.0 + (bits / 8 if quantization.get("zero_point") else 0.0)) / group if group > 0 else 0.0
    return bits / 8 + scales


def _bits(quantization: Any, method: str) -> float | None:
    for key in ("bits", "w_bit", "num_bits", "weight_bits"):
        value = quantization.get(key)
        if isinstance(value, int) and not isinstance(value, bool):
            return float(value)
    groups = quantization.get("config_groups")
    for group in groups.values() if isinstance(groups, dict) else ():
        weights = group.get("weights") if isinstance(group, dict) else None
        if isinstance(weights, dict) and isinstance(weights.get("num_bits"), int):
            return float(weights["num_bits"])
    if "fp4" in method or str(quantization.get("quant_algo", "")).upper().startswith("NVFP4"):
        return 4.5
    if "fp8" in method or method in ("modelopt", "experts_int8", "int8"):
        return 8.0
    return 4.0 if method.startswith(("awq", "gptq", "auto_", "moe_wna16", "bitsandbytes")) else None


class _Unquantized:
    """Which modules a quantized checkpoint leaves as they are."""

    def __init__(self, model: ModelConfig) -> None:
        quantization = model.quantization
        entries: list[str] = []
        for key in ("modules_to_not_convert", "ignored_layers", "ignore"):
            value = quantization.get(key)
            entries += [str(item) for item in value] if isinstance(value, list) else []
        self._patterns = [_pattern(entry) for entry in _relevant(entries)]
        self._known: dict[tuple[int, str], bool] = {}

    def covers(self, layer: int, part: str) -> bool:
        """Whether the part (`self_attn` or `mlp`) of a layer is not quantized."""
        if not self._patterns:
            return False
        key = layer, part
        if key not in self._known:
            names = {
                "self_attn": (f"model.layers.{layer}.self_attn.o_proj", f"model.layers.{layer}.self_attn"),
                "mlp": (f"model.layers.{layer}.mlp.down_proj", f"model.layers.{layer}.mlp"),
            }[part]
            self._known[key] = any(pattern.search(name) for pattern in self._patterns for name in names)
        return self._known[key]


def _relevant(entries: Iterable[str]) -> list[str]:
    return [entry for entry in entries if re.search(r"self_attn|attn|mlp$|mlp\.|down_proj|layers\.\d+$", entry)]


def _pattern(entry: str) -> re.Pattern[str]:
    try:
        if entry.startswith("re:"):
            return re.compile(entry[3:])
        if "*" in entry:
            return re.compile(fnmatch.translate(entry))
    except re.error:
        pass
    return re.compile(rf"(?:^|\.){re.escape(entry.removeprefix('model.'))}$")


def _rest(model: ModelConfig, moe: MoEModelConfig, deployment: Deployment) -> float:
    """What neither weights nor KV cache take: found by fitting to logs, hence REST_ERROR."""
    tokens = deployment.whole("max_num_batched_tokens", 8192 if (deployment.device_memory or 0) >= 70 * GIB else 2048)
    requests = deployment.whole("max_num_seqs", 256)
    width = max(moe.dense_width or model.intermediate or 0, (moe.expert_width or 0) * (moe.top_k or 1))
    activations = tokens * (4 * (model.hidden or 0) + 4 * width / deployment.tp) * 2
    logits = min(requests, tokens) * (model.vocabulary or 0) * 8
    fixed = 0.6 * GIB + (0.9 * GIB if deployment.tp > 1 else 0.0)
    graphs = 0.0 if deployment.flag("enforce_eager") else 0.4 * GIB
    return fixed + activations + logits + graphs
