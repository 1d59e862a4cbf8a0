"""Reads a model's config.json over all families: field names differ, text models nest, lists stand for numbers.

The shapes are those that vLLM 0.32 splits over ranks; sources: transformers_utils/model_arch_config_convertor.py and
the model files of vLLM.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from diagnoser.errors import InputError
from diagnoser.preflight.numbers import whole
from diagnoser.preflight.reading import read_json_object
from diagnoser.records import NamedTuple

_NESTED = ("text_config", "llm_config", "language_config", "text_model_config", "thinker_config", "language_model")
_HEADS = ("num_attention_heads", "n_head", "num_heads", "n_heads", "num_attention_head")
_KV_HEADS = ("n_head_kv", "num_kv_heads", "num_key_value_heads", "multi_query_group_num", "num_attention_groups")
_LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "num_decoder_layers", "decoder_layers")
_HIDDEN = ("hidden_size", "n_embd", "d_model", "dim")
_WIDTH = ("intermediate_size", "ffn_dim", "n_inner", "ffn_hidden_size", "d_ff")
_LENGTHS = (
    "max_position_embeddings",
    "n_positions",
    "max_seq_len",
    "seq_length",
    "max_sequence_length",
    "max_seq_length",
    "seq_len",
    "max_target_positions",
)


class ModelConfig(NamedTuple):
    """A model's configuration as read; `text` is the part that describes the language model."""

    raw: Mapping[str, Any]
    text: Mapping[str, Any]
    origin: str = "config.json"
    folder: str | None = None

    @classmethod
    def of(cls, raw: Mapping[str, Any], origin: str = "config.json", folder: str | None = None) -> ModelConfig:
        """From the parsed JSON."""
        return cls(raw, text_config(raw), origin, folder)

    def overridden(self, overrides: Mapping[str, Any]) -> ModelConfig:
        """With `--hf-overrides` applied, nested objects merged."""
        return ModelConfig.of(_merged(self.raw, overrides), self.origin, self.folder) if overrides else self

    def whole(self, *names: str) -> int | None:
        """The first of these fields that is present, as a whole number; a list gives its first item."""
        for name in names:
            value = self.text.get(name)
            if value is not None:
                return whole(value[0]) if isinstance(value, list) and value else whole(value)
        return None

    @property
    def model_type(self) -> str:
        """`model_type` of the language model."""
        return str(self.text.get("model_type") or self.raw.get("model_type") or "")

    @property
    def architectures(self) -> tuple[str, ...]:
        """Class names that the checkpoint asks for."""
        value = self.raw.get("architectures") or self.text.get("architectures")
        return tuple(map(str, value)) if isinstance(value, list) else ()

    @property
    def heads(self) -> int | None:
        """Attention heads."""
        return self.whole(*_HEADS)

    @property
    def kv_heads(self) -> int | None:
        """Key/value heads; as many as attention heads when the file names none."""
        if self.text.get("multi_query") is True and not self.text.get("new_decoder_architecture"):
            return 1
        return self.whole(*_KV_HEADS) or self.heads

    @property
    def mla(self) -> bool:
        """Whether attention keeps one compressed key/value per token (multi-head latent attention)."""
        return self.text.get("kv_lora_rank") is not None

    @property
    def layers(self) -> int | None:
        """Decoder layers."""
        return self.whole(*_LAYERS)

    @property
    def hidden(self) -> int | None:
        """Width of the residual stream."""
        return self.whole(*_HIDDEN)

    @property
    def vocabulary(self) -> int | None:
        """Number of tokens."""
        return self.whole("vocab_size")

    @property
    def head_dim(self) -> int | None:
        """Width of one attention head; for MLA the width of its value part."""
        if self.mla:
            return self.whole("v_head_dim") or self.whole("head_dim")
        if stated := self.whole("head_dim", "attention_head_dim", "kv_channels"):
            return stated
        heads, hidden = self.heads, self.hidden
        return hidden // heads if heads and hidden else None

    @property
    def intermediate(self) -> int | None:
        """`intermediate_size` or what stands for it."""
        return self.whole(*_WIDTH)

    @property
    def tied_embeddings(self) -> bool:
        """Whether the output layer shares the input embedding's weights."""
        value = self.text.get("tie_word_embeddings", self.raw.get("tie_word_embeddings"))
        return value is True or (value is None and self.model_type in ("opt", "gemma", "gemma2", "gemma3_text", "gpt2"))

    @property
    def dtype(self) -> str | None:
        """The checkpoint's compute type, for example `bfloat16`."""
        for part in (self.text, self.raw):
            value = part.get("dtype") or part.get("torch_dtype")
            if value:
                return str(value).removeprefix("torch.")
        return None

    @property
    def quantization(self) -> Mapping[str, Any]:
        """`quantization_config`; empty for a checkpoint that is not quantized."""
        for part in (self.raw, self.text):
            value = part.get("quantization_config") or part.get("compression_config")
            if isinstance(value, dict):
                return value
        return {}

    @property
    def longest(self) -> tuple[str, int] | None:
        """The longest context that the positions allow, rope scaling included, and the field that says so."""
        found = [(name, number) for name in _LENGTHS if (number := self.whole(name))]
        if not found:
            return None
        name, number = min(found, key=lambda item: item[1])
        return name, int(number * self._rope_factor(number))

    def _rope_factor(self, length: int) -> float:
        """How far rope scaling stretches the stated length (vLLM: _get_and_verify_max_len)."""
        scaling = self.text.get("rope_scaling") or self.text.get("rope_parameters")
        if not isinstance(scaling, dict) or "gemma3" in self.model_type:
            return 1.0
        kind = scaling.get("rope_type", scaling.get("type"))
        factor = scaling.get("factor")
        if not isinstance(factor, int | float) or isinstance(factor, bool):
            return 1.0
        if kind in ("yarn", "deepseek_yarn"):
            # Files before Transformers 5 give the original length in the field itself; newer ones the scaled one.
            original = whole(scaling.get("original_max_position_embeddings")) or length
            return max(1.0, original * factor / length)
        return 1.0 if kind in ("su", "longrope", "llama3", "deepseek_llama_scaling") else float(factor)


def text_config(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """The part of a config.json that describes the language model."""
    for name in _NESTED:
        value = raw.get(name)
        if isinstance(value, dict):
            inner = text_config(value)
            if any(field in inner for field in (*_HEADS, *_HIDDEN, *_LAYERS)):
                return inner
    return raw


def _merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in changes.items():
        inner = merged.get(key)
        merged[key] = _merged(inner, value) if isinstance(inner, dict) and isinstance(value, dict) else value
    return merged


def read_model_config(path: str) -> ModelConfig:
    """The configuration in a file, or in a model's folder.

    Raises InputError for a missing file, a folder without config.json, and JSON that breaks (with line and column).
    """
    folder = path if os.path.isdir(path) else os.path.dirname(path) or "."
    if os.path.isdir(path):
        inner = os.path.join(path, "config.json")
        if not os.path.isfile(inner):
            raise InputError(path, "the folder has no config.json", expected="a model's folder or its config.json")
        path = inner
    raw = read_json_object(path, "the config.json of a model")
    return ModelConfig.of(raw, path, folder)
