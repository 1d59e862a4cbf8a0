"""Speculative decoding and LoRA adapters: settings that do not fit the model or the server."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from diagnoser.errors import InputError
from diagnoser.model import Finding
from diagnoser.preflight.case import Case, step
from diagnoser.preflight.findings import error, ok
from diagnoser.preflight.numbers import whole
from diagnoser.preflight.reading import read_json_object

_WITHOUT_MODEL = ("ngram", "ngram_gpu", "suffix", "mtp", "deepseek_mtp", "qwen3_next_mtp", "glm4_moe_mtp", "[ngram]")


def check_speculative(case: Case) -> Iterator[Finding]:
    """vLLM: config/speculative.py."""
    config = case.deployment.table("speculative_config")
    if not config:
        return
    problems = list(_speculative_problems(case, config))
    for title, why in problems:
        yield error("model-speculative", "model-speculative-config-invalid", title, why, _shown(config))
    if not problems:
        yield ok("model-speculative", "The speculative decoding settings are complete", _shown(config))


def _shown(config: Mapping[str, Any]) -> dict[str, object]:
    names = ("method", "model", "num_speculative_tokens", "draft_tensor_parallel_size")
    return {name: config[name] for name in names if config.get(name) is not None}


def _speculative_problems(case: Case, config: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    method, model, count = config.get("method"), config.get("model"), config.get("num_speculative_tokens")
    if "tensor_parallel_size" in config:
        yield "speculative_config has tensor_parallel_size", "The draft model's size is draft_tensor_parallel_size."
    if count is not None and (whole(count) or 0) < 1:
        yield f"num_speculative_tokens is {count!r}", "It has to be a positive whole number."
    if not method and not model:
        yield "speculative_config names neither a method nor a model", "vLLM can't tell what should draft."
    elif model is None and method not in _WITHOUT_MODEL and "mtp" not in str(method):
        yield (
            f"speculative_config names no model for the method {method!r}",
            "This method drafts with a model of its own.",
        )
    if count is None and method in ("ngram", "[ngram]", "ngram_gpu"):
        yield "num_speculative_tokens is missing", f"The method {method} can't tell how many tokens to draft."
    size, tp = whole(config.get("draft_tensor_parallel_size")), case.deployment.tp
    if size is not None and size not in (1, tp):
        yield f"draft_tensor_parallel_size {size} with TP {tp}", f"The draft model can run on 1 rank or on all {tp}."


def check_adapters(case: Case) -> Iterator[Finding]:
    """vLLM: the server's rank has to hold the adapter's (lora/peft_helper.py)."""
    deployment, name, rule = case.deployment, "model-adapters", "model-lora-adapter-rejected"
    modules = deployment.options.get("lora_modules")
    if not isinstance(modules, list) or not modules:
        return
    if deployment.options.get("enable_lora") is False:
        yield error(name, rule, "--lora-modules with LoRA turned off", "Adapters need --enable-lora.")
    limit = whole(deployment.options.get("max_lora_rank")) or 16
    for entry in modules:
        adapter, _, path = str(entry).partition("=")
        if not os.path.isdir(path):
            continue
        yield _adapter(case, name, rule, adapter, path, limit)


def _adapter(case: Case, name: str, rule: str, adapter: str, path: str, limit: int) -> Finding:
    inputs = {"adapter": adapter, "path": path, "max_lora_rank": limit}
    try:
        rank = whole(read_json_object(os.path.join(path, "adapter_config.json"), "an adapter's settings").get("r"))
    except InputError as failure:
        return error(name, rule, f"The adapter {adapter} can't be read", str(failure), inputs)
    if rank is not None and rank > limit:
        return error(
            name,
            rule,
            f"The adapter {adapter} has rank {rank}, and the server takes {limit}",
            "vLLM refuses adapters above --max-lora-rank, which is 16 unless set.",
            {**inputs, "rank": rank},
            [step(case, "Raise the limit.", max_lora_rank=_next_rank(rank))],
        )
    return ok(name, f"The adapter {adapter} has rank {rank}", inputs)


def _next_rank(rank: int) -> int:
    """The smallest rank of those that vLLM takes for the limit."""
    return next((size for size in (8, 16, 32, 64, 128, 256, 320, 512) if size >= rank), rank)


CHECKS = (check_speculative, check_adapters)
