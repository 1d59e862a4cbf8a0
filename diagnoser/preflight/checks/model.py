"""The model's folder: config.json, custom code, tokenizer, weights; and what this vLLM knows of it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

from diagnoser.model import Finding, Remedy
from diagnoser.preflight.case import Case, step
from diagnoser.preflight.findings import error, ok, skipped, warning
from diagnoser.preflight.known_names import NEWEST, names_of
from diagnoser.preflight.numbers import in_words
from diagnoser.preflight.reading import inside

_CPU_HEAD_SIZES = (32, 64, 80, 96, 112, 128, 160, 192, 224, 256, 512)
"""Head sizes of vLLM's CPU attention (v1/attention/backends/cpu_attn.py of 0.32)."""
_TOKENIZERS = (
    "tokenizer.json",
    "tokenizer.model",
    "tokenizer_config.json",
    "vocab.json",
    "tekken.json",
    "tiktoken.model",
    "vocab.txt",
    "spiece.model",
    "qwen.tiktoken",
)
_WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".gguf")
_NO_FLOAT16 = {"gemma2": "Gemma 2", "gemma3": "Gemma 3", "gemma3_text": "Gemma 3", "glm4": "GLM-4", "plamo2": "PLaMo 2"}
LARGEST_HEADER = 100 << 20


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
            name, f"Whether {named} is in the cache while {offline[0]} is set", "the serving machine (--here)"
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
            Remedy("Download it where the network allows it.", f"HF_HUB_OFFLINE=0 hf download {named}"),
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
        yield error(
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
                "python3 -c \"from vllm import ModelRegistry; print('%s' in ModelRegistry.get_supported_archs())\""  # noqa: UP031
                % model.architectures[0],
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


def _served_folder(case: Case) -> str | None:
    """The folder that holds the whole model; None when only its config.json was given."""
    named = case.deployment.model
    if named and os.path.isdir(named):
        return named
    return None


def check_tokenizer(case: Case) -> Iterator[Finding]:
    """A tokenizer in the model's folder, unless another one is named."""
    folder, deployment = _served_folder(case), case.deployment
    if (
        folder is None
        or deployment.flag("skip_tokenizer_init")
        or deployment.text("tokenizer") not in (None, deployment.model)
    ):
        return
    if inside(folder, *_TOKENIZERS):
        yield ok("model-tokenizer", "The folder has a tokenizer")
        return
    yield error(
        "model-tokenizer",
        "model-tokenizer-unavailable",
        "The model's folder has no tokenizer",
        f"None of {in_words(_TOKENIZERS[:3])} and other known files is there.",
        {"folder": folder},
        [
            "Copy the tokenizer files of the original model into the folder.",
            step(case, "Or name another tokenizer.", tokenizer="FOLDER-OR-NAME"),
        ],
    )


def check_weights(case: Case) -> Iterator[Finding]:
    """Weight files that exist, are complete, and hold the shapes that config.json promises."""
    folder = _served_folder(case)
    if folder is None or case.deployment.text("load_format") == "dummy":
        return
    name = "model-weights"
    files = sorted(entry for entry in os.listdir(folder) if entry.endswith(_WEIGHTS))
    if not files:
        yield error(
            name,
            "model-weights-missing",
            "The model's folder has no weight files",
            f"vLLM looks for {in_words([f'*{ending}' for ending in _WEIGHTS[:3]])}.",
            {"folder": folder},
            [Remedy("Download the weights.", f"hf download MODEL --local-dir {folder}")],
        )
        return
    yield from _index(folder, files, name)
    pointers = [entry for entry in files if _is_pointer(os.path.join(folder, entry))]
    if pointers:
        yield error(
            name,
            "model-weights-corrupt",
            f"{pointers[0]} is a Git LFS pointer, not the weights",
            "The repository was cloned without Git LFS.",
            {"files": pointers[:4]},
            [Remedy("Fetch the real files.", f"git -C {folder} lfs pull")],
        )
    elif case.model is not None:
        yield from _shapes(case, folder, [entry for entry in files if entry.endswith(".safetensors")], name)


def _index(folder: str, files: list[str], name: str) -> Iterator[Finding]:
    path = inside(folder, "model.safetensors.index.json")
    if path is None:
        return
    try:
        with open(path, encoding="utf-8") as file:
            index = json.load(file)
        wanted = set(index["weight_map"].values())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        yield error(name, "model-weights-corrupt", "model.safetensors.index.json can't be read", "", {"file": path})
        return
    absent = sorted(wanted - set(files))
    if absent:
        yield error(
            name,
            "model-weights-missing",
            f"{len(absent)} of {len(wanted)} weight files are missing",
            f"The index names them, and they are not in the folder: {in_words(absent[:3], 'and')}.",
            {"folder": folder},
            ["Resume the download."],
        )


def _is_pointer(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(40).startswith(b"version https://git-lfs")
    except OSError:
        return False


def read_header(path: str) -> Mapping[str, Any] | None:
    """Names, types and shapes in a safetensors file; None when it is none or is cut off."""
    try:
        size = os.path.getsize(path)
        with open(path, "rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if not 2 <= length <= min(LARGEST_HEADER, size):
                return None
            header = json.loads(file.read(length))
    except (OSError, ValueError):
        return None
    if not isinstance(header, dict):
        return None
    ends = [
        entry["data_offsets"][1]
        for entry in header.values()
        if isinstance(entry, dict) and isinstance(entry.get("data_offsets"), list) and len(entry["data_offsets"]) == 2
    ]
    return header if not ends or max(ends) <= size - 8 - length else None


def _shapes(case: Case, folder: str, files: list[str], name: str) -> Iterator[Finding]:
    assert case.model is not None
    promised = _promised(case)
    seen, experts = 0, 0
    for entry in files:
        header = read_header(os.path.join(folder, entry))
        if header is None:
            yield error(
                name,
                "model-weights-corrupt",
                f"{entry} is damaged or cut off",
                "Its header can't be read, or promises more data than the file has.",
                {"file": entry},
                ["Download it again."],
            )
            continue
        for weight, value in header.items():
            shape = value.get("shape") if isinstance(value, dict) else None
            if not isinstance(shape, list):
                continue
            experts = max(experts, _expert_number(weight))
            ending = next((key for key in promised if weight.endswith(key)), None)
            if ending is None or case.model.quantization or not _of_language_model(weight):
                continue
            seen += 1
            if shape not in promised[ending]:
                yield error(
                    name,
                    "model-weight-shape-mismatch",
                    f"{weight} has the shape {shape}, and config.json asks for {promised[ending][0]}",
                    "Config and weights come from different models or exports.",
                    {"file": entry},
                    ["Take config.json and the weights from one source."],
                )
                return
    if case.moe is not None and case.moe.is_moe and experts and experts != case.moe.num_experts:
        yield error(
            name,
            "moe-checkpoint-key-missing",
            f"The weights hold {experts} experts, and config.json says {case.moe.num_experts}",
            "Config and weights come from different models or exports.",
            {},
            ["Take config.json and the weights from one source."],
        )
    elif seen:
        yield ok(name, f"{len(files)} weight files hold the shapes of config.json")


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


def _of_language_model(weight: str) -> bool:
    bare = weight.removeprefix("model.").removeprefix("language_model.").removeprefix("model.")
    return bare.startswith(("layers.", "embed_tokens"))


def _promised(case: Case) -> dict[str, list[list[int]]]:
    """Shapes of a few weights, by the end of their names."""
    model, moe = case.model, case.moe
    assert model is not None
    if model.model_type not in _REGULAR:
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


def _expert_number(weight: str) -> int:
    """The number of experts that a weight's name implies: its own number and one."""
    parts = weight.split(".")
    for position, part in enumerate(parts[:-1]):
        if part == "experts" and parts[position + 1].isdigit():
            return int(parts[position + 1]) + 1
    return 0


CHECKS = (
    check_config,
    check_hub,
    check_architecture,
    check_head_size,
    check_float16,
    check_values,
    check_tokenizer,
    check_weights,
)
