"""The model's folder: config.json, custom code, tokenizer, weights; and what this vLLM knows of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from shlex import quote

from diagnoser.model import Finding, Remedy
from diagnoser.preflight.case import NO_HOST, Case, step
from diagnoser.preflight.findings import error, ok, skipped, warning
from diagnoser.preflight.known_names import NEWEST, names_of
from diagnoser.preflight.numbers import in_words
from diagnoser.preflight.versions import at_least

_CPU_HEAD_SIZES = (32, 64, 80, 96, 112, 128, 160, 192, 224, 256, 512)
"""Head sizes of vLLM's CPU attention (v1/attention/backends/cpu_attn.py of 0.32)."""
_NO_FLOAT16 = {"gemma2": "Gemma 2", "gemma3": "Gemma 3", "gemma3_text": "Gemma 3", "glm4": "GLM-4", "plamo2": "PLaMo 2"}
_ASK_REGISTRY = "import sys, vllm; print(sys.argv[1] in vllm.ModelRegistry.get_supported_archs())"


def check_config(case: Case) -> Iterator[Finding]:
    """Whether the model's config.json was found and can be read."""
    name = "model-config"
    if case.model_problem is not None:
        rule, message = case.model_problem
        yield error(
            name,
            rule,
            f"The model {case.deployment.model} can't be used",
            message,
            {"model": case.deployment.model},
            [
                "Check the path; a folder that does not exist is taken for a repository of the Hugging Face Hub.",
                "The folder has to hold config.json.",
            ],
        )
    elif case.model is None:
        if case.deployment.model or case.deployment.options:
            yield skipped(name, "Everything that depends on the model's shape", case.model_missing)
    else:
        yield ok(name, f"{case.model.origin} was read", {"model_type": case.model.model_type})


def check_hub(case: Case) -> Iterator[Finding]:
    """A model by name while the Hub is off limits."""
    deployment = case.deployment
    offline = [
        name
        for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
        if deployment.environ(name) in ("1", "true", "yes", "on")
    ]
    named = deployment.model
    if not offline or not named or os.path.exists(named) or named.startswith(("/", ".", "s3://", "gs://")):
        return
    name, inputs = "model-hub", {"model": named, offline[0]: "1"}
    if case.host is None:
        yield skipped(
            name, f"Whether {named} is in the cache while {offline[0]} is set", NO_HOST
        )
        return
    folder = _cache_folder(case, named)
    if os.path.isdir(folder):
        yield ok(name, f"{named} is in the cache", inputs)
        return
    yield error(
        name,
        "hub-offline-and-not-cached",
        f"{named} is not in the cache, and {offline[0]} forbids the download",
        f"The cache would be {folder}.",
        inputs,
        [
            Remedy("Download it where the network allows it.", f"HF_HUB_OFFLINE=0 hf download {quote(named)}"),
            "Or give the path of a local copy.",
        ],
    )


def _cache_folder(case: Case, named: str) -> str:
    environment = case.deployment.environment
    home = environment.get("HF_HOME") or os.path.join(
        (case.host.home if case.host else None) or "~", ".cache", "huggingface"
    )
    hub = environment.get("HF_HUB_CACHE") or os.path.join(home, "hub")
    hub = case.deployment.text("download_dir") or hub
    return os.path.join(hub, f"models--{named.replace('/', '--')}")


def check_architecture(case: Case) -> Iterator[Finding]:
    """vLLM: model_executor/models/registry.py; custom code needs trust."""
    if case.model is None:
        return
    name, model = "model-architecture", case.model
    auto = model.raw.get("auto_map")
    custom = isinstance(auto, dict) and any(key in auto for key in ("AutoConfig", "AutoModel", "AutoModelForCausalLM"))
    known = [found for found in model.architectures if found in names_of("architectures")]
    inputs = {"architectures": model.architectures, "model_type": model.model_type, "auto_map": custom}
    if known:
        yield ok(name, f"{known[0]} is an architecture of vLLM {NEWEST}", inputs)
        return
    trusted = case.deployment.flag("trust_remote_code")
    if custom and not trusted:
        # A release that is not stated may be one that has the architecture itself.
        settled = at_least(case.deployment.vllm_version, "0.33") is False
        yield (error if settled else warning)(
            name,
            "model-custom-code-not-trusted",
            "The model brings its own code, and --trust-remote-code is not set",
            "config.json names classes in auto_map, and vLLM has none of its own for this architecture.",
            inputs,
            [step(case, "Read that code; if you trust it:", trust_remote_code=True)],
        )
        return
    if not model.architectures:
        yield warning(
            name,
            "model-architecture-unsupported",
            "config.json names no architectures",
            "vLLM then guesses from model_type, and stops where it can't.",
            inputs,
        )
        return
    yield warning(
        name,
        "model-architecture-unsupported",
        f"{in_words(model.architectures, 'and')} is no architecture of vLLM {NEWEST}",
        "It can still run when Transformers has the class and supports vLLM's backend; otherwise vLLM refuses it.",
        inputs,
        [
            Remedy(
                "Ask this vLLM.",
                f"python3 -c {quote(_ASK_REGISTRY)} {quote(model.architectures[0])}",
            )
        ],
    )


def check_head_size(case: Case) -> Iterator[Finding]:
    """Attention kernels of the CPU are made for certain head sizes."""
    if case.model is None or case.deployment.platform != "cpu" or case.model.mla:
        return
    size = case.model.head_dim
    if not size:
        return
    name, inputs = "model-head-size", {"head_dim": size, "platform": "cpu"}
    if size in _CPU_HEAD_SIZES:
        yield ok(name, f"Head size {size} has a CPU kernel", inputs)
        return
    yield error(
        name,
        "model-head-size-unsupported",
        f"Head size {size} has no attention kernel on CPU",
        f"There are kernels for {in_words(_CPU_HEAD_SIZES, 'and')} (vLLM 0.32). "
        "The server may start and fail at the first request.",
        inputs,
        ["Serve this model on a GPU, or another model on CPU."],
    )


def check_float16(case: Case) -> Iterator[Finding]:
    """vLLM: families whose activations leave the range of float16."""
    if case.model is None:
        return
    asked = case.deployment.text("dtype")
    family = _NO_FLOAT16.get(case.model.model_type)
    if family and asked in ("float16", "half"):
        yield error(
            "model-dtype",
            "model-float16-unsupported",
            f"{family} must not run in float16",
            "Its activations overflow there; vLLM refuses it.",
            {"dtype": asked, "model_type": case.model.model_type},
            [step(case, "Use bfloat16.", dtype="bfloat16")],
        )


def check_values(case: Case) -> Iterator[Finding]:
    """Numbers of config.json that have to be positive whole numbers."""
    if case.model is None:
        return
    text = case.model.text
    odd = [
        f"{field} is {text[field]!r}"
        for field in ("hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "vocab_size")
        if field in text
        and (
            text[field] is None
            or isinstance(text[field], bool | str)
            or (isinstance(text[field], int | float) and text[field] <= 0)
        )
        and not (field == "num_key_value_heads" and text[field] is None)
    ]
    if odd:
        yield error(
            "model-values",
            "model-config-values-inconsistent",
            f"config.json holds values that can't be: {'; '.join(odd)}",
            "They have to be positive whole numbers.",
            {},
            ["Restore the file from the model's original."],
        )
    heads, hidden = case.model.heads, case.model.hidden
    if heads and hidden and hidden % heads and not text.get("head_dim") and not case.model.mla:
        yield error(
            "model-values",
            "model-config-values-inconsistent",
            f"hidden_size {hidden} is no multiple of the {heads} attention heads, and head_dim is not given",
            "The width of a head can't be told.",
            {"hidden_size": hidden, "num_attention_heads": heads},
        )


CHECKS = (
    check_config,
    check_hub,
    check_architecture,
    check_head_size,
    check_float16,
    check_values,
)
