"""`MoEModelConfig`: what config.json says about the experts, whatever the family calls it.

    >>> read_moe_config({"n_routed_experts": 256, "moe_topk": 8, "expert_group_size": 8}).num_experts
    256

Field names and their order: vLLM 0.32, transformers_utils/model_arch_config_convertor.py and the model files.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from diagnoser.errors import PreflightError
from diagnoser.preflight.model_config import ModelConfig, read_model_config
from diagnoser.preflight.numbers import whole
from diagnoser.preflight.reading import kind_of
from diagnoser.records import NamedTuple

EXPERTS = ("num_experts", "moe_num_experts", "n_routed_experts", "num_local_experts")
TOP_K = (
    "num_experts_per_tok",
    "num_experts_per_token",
    "top_k_experts",
    "moe_topk",
    "moe_top_k",
    "moe_k",
    "num_selected_experts",
)
GROUPS = ("n_group", "num_expert_group", "n_groups")
GROUP_CHOICE = ("topk_group", "topk_groups")
GROUP_SIZE = ("expert_group_size", "experts_per_group")
_PLAIN_WIDTH = frozenset(
    (
        "mixtral",
        "gpt_oss",
        "minimax",
        "minimax_text_01",
        "minimax_m1",
        "minimax_m2",
        "minimax_m3",
        "phimoe",
        "granitemoe",
        "granitemoehybrid",
        "granitemoeshared",
        "olmoe",
        "llama4",
        "llama4_text",
        "cohere2_moe",
        "jamba",
        "grok-1",
    )
)
"""Families whose experts are `intermediate_size` wide."""
ASSUMED_EXPERTS = {
    "deepseek_v2": 64,
    "deepseek_v3": 256,
    "mixtral": 8,
    "qwen2_moe": 60,
    "qwen3_moe": 128,
    "qwen3_next": 512,
    "gpt_oss": 128,
    "olmoe": 64,
    "granitemoe": 8,
    "phimoe": 16,
    "llama4_text": 16,
    "glm4_moe": 128,
    "ernie4_5_moe": 64,
}
"""What the class of Transformers fills in when the field is absent, by `model_type`."""


class MoEModelConfig(NamedTuple):
    """The experts of a model. Zero experts means a dense model."""

    num_experts: int = 0
    top_k: int | None = None
    expert_width: int | None = None
    """Inner width of one routed expert."""
    shared_width: int | None = None
    """Inner width of the shared experts together; None without any."""
    dense_width: int | None = None
    """Inner width of layers without experts; None when every layer has experts."""
    n_group: int | None = None
    topk_group: int | None = None
    expert_group_size: int | None = None
    """Experts per group, for engines that group experts; no model of vLLM reads it."""
    hidden_size: int | None = None
    model_type: str = ""
    fields: tuple[tuple[str, str], ...] = ()
    """Pairs of what was read and the field it was read from."""
    assumed: bool = False
    """True when the number of experts is what Transformers fills in for the absent field."""
    invalid: tuple[str, ...] = ()
    """Fields that are present and unusable, each with what it holds."""

    @property
    def is_moe(self) -> bool:
        """Whether there are experts at all."""
        return self.num_experts > 0


def read_moe_config(raw: Mapping[str, Any] | str | ModelConfig) -> MoEModelConfig:
    """The experts that a config.json describes: its parsed JSON, its path or its folder.

    Raises InputError for a path that can't be read and PreflightError when fields hold no usable numbers.
    """
    config = moe_of(_model(raw))
    if config.invalid:
        raise PreflightError(config.invalid)
    return config


def _model(raw: Mapping[str, Any] | str | ModelConfig) -> ModelConfig:
    if isinstance(raw, ModelConfig):
        return raw
    return read_model_config(raw) if isinstance(raw, str) else ModelConfig.of(raw)


def moe_of(model: ModelConfig) -> MoEModelConfig:
    """As `read_moe_config`, with unusable fields listed in `invalid` instead of raised."""
    reader = _Fields(_part(model))
    experts = reader.number("num_experts", EXPERTS)
    assumed = False
    if experts is None:
        experts = _from_blocks(model.text) or 0
        if not experts and "num_experts" not in reader.seen and model.model_type in ASSUMED_EXPERTS:
            experts, assumed = ASSUMED_EXPERTS[model.model_type], True
    top_k = reader.number("top_k", TOP_K)
    n_group, topk_group = reader.number("n_group", GROUPS), reader.number("topk_group", GROUP_CHOICE)
    group_size = reader.number("expert_group_size", GROUP_SIZE)
    width = _expert_width(model, reader) if experts else None
    return MoEModelConfig(
        experts,
        top_k,
        width,
        _shared_width(model, width) if experts else None,
        _dense_width(model) if experts else model.intermediate,
        n_group,
        topk_group,
        group_size,
        model.hidden,
        model.model_type,
        tuple(reader.found),
        assumed,
        tuple(reader.invalid),
    )


def _part(model: ModelConfig) -> Mapping[str, Any]:
    """The fields to look in: DBRX keeps those of its experts in an object of their own."""
    inner = model.text.get("ffn_config")
    return {**model.text, **inner} if isinstance(inner, dict) else model.text


class _Fields:
    """Reads whole numbers by several names and remembers which one served."""

    def __init__(self, part: Mapping[str, Any]) -> None:
        self._part = part
        self.found: list[tuple[str, str]] = []
        self.invalid: list[str] = []
        self.seen: set[str] = set()

    def number(self, meaning: str, names: tuple[str, ...]) -> int | None:
        """The first field of these that exists; lists give their first number (vLLM takes the first too)."""
        for name in names:
            if name not in self._part:
                continue
            value = self._part[name]
            self.seen.add(meaning)
            if isinstance(value, list):
                numbers = [whole(item) for item in value]
                value = max((item for item in numbers if item), default=None) if meaning == "top_k" else value[:1]
                value = value[0] if isinstance(value, list) and value else value
            number = None if isinstance(value, str) else whole(value)
            if value is None and meaning in ("n_group", "topk_group", "expert_group_size"):
                return None
            if number is None or number < 0:
                self.invalid.append(f"{name} is {_shown(value)}, expected a positive whole number")
                return None
            self.found.append((meaning, name))
            return number
        return None


def _shown(value: object) -> str:
    return "null" if value is None else f"{value!r} ({kind_of(value)})"


def _from_blocks(text: Mapping[str, Any]) -> int:
    """The most experts of any layer, where layers are described one by one."""
    blocks = text.get("block_configs")
    counts = [
        whole(block.get("n_routed_experts")) or 0
        for block in (blocks if isinstance(blocks, list) else ())
        if isinstance(block, dict) and block.get("block_type") == "moe"
    ]
    return max(counts, default=0)


def _expert_width(model: ModelConfig, reader: _Fields) -> int | None:
    plain = model.model_type in _PLAIN_WIDTH
    names: tuple[str, ...] = (
        "moe_intermediate_size",
        "expert_hidden_dim",
        "expert_intermediate_size",
        "expert_ffn_hidden_size",
    )
    if plain:
        names = ("intermediate_size",)
    if model.model_type == "dbrx":
        names = ("ffn_hidden_size",)
    width = reader.number("expert_width", names)
    return width if width is not None else (model.intermediate or None)


def _shared_width(model: ModelConfig, width: int | None) -> int | None:
    for name in ("shared_expert_intermediate_size", "share_expert_dim", "shared_intermediate_size"):
        if stated := model.whole(name):
            return stated
    shared = model.whole("n_shared_experts", "num_shared_experts", "moe_num_shared_experts")
    if shared and width:
        return width * shared
    return None


def _dense_width(model: ModelConfig) -> int | None:
    """Width of the layers without experts; None when there are none."""
    text = model.text
    if model.model_type in ("llama4", "llama4_text"):
        return model.whole("intermediate_size_mlp")
    if model.model_type in _PLAIN_WIDTH or model.model_type == "dbrx":
        return None
    first = model.whole("first_k_dense_replace", "moe_layer_start_index", "num_dense_layers") or 0
    only = text.get("mlp_only_layers")
    step = model.whole("decoder_sparse_step", "moe_layer_freq", "moe_layer_interval") or 1
    if first > 0 or (isinstance(only, list) and only) or step > 1:
        return model.intermediate
    return None
