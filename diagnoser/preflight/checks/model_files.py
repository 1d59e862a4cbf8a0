"""The files of a model's folder: a tokenizer, and weights that are complete and have the shapes of config.json."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from shlex import quote

from diagnoser.model import Finding, Remedy
from diagnoser.preflight.case import Case, step
from diagnoser.preflight.findings import error, ok, warning
from diagnoser.preflight.model_config import ModelConfig
from diagnoser.preflight.numbers import in_words
from diagnoser.preflight.reading import inside
from diagnoser.preflight.weights import (
    absent_weight,
    implied_experts,
    is_of_language_model,
    promised_shapes,
    read_header,
    unknown_weight,
)

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
            [Remedy("Download the weights.", f"hf download MODEL --local-dir {quote(folder)}")],
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
            [Remedy("Fetch the real files.", f"git -C {quote(folder)} lfs pull")],
        )
    else:
        yield from _shapes(case, folder, [entry for entry in files if entry.endswith(".safetensors")], name)


def _index(folder: str, files: list[str], name: str) -> Iterator[Finding]:
    path = inside(folder, "model.safetensors.index.json")
    if path is None:
        return
    try:
        with open(path, encoding="utf-8") as file:
            index = json.load(file)
        wanted = set(index["weight_map"].values())
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
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


def _shapes(case: Case, folder: str, files: list[str], name: str) -> Iterator[Finding]:
    """Shapes and names of the weights, and the number of experts that their names imply."""
    if case.model is None:
        return
    promised = promised_shapes(case.model, case.moe)
    seen, experts = 0, 0
    names: list[str] = []
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
        names += [weight for weight in header if weight != "__metadata__"]
        for weight, value in header.items():
            shape = value.get("shape") if isinstance(value, dict) else None
            if not isinstance(shape, list):
                continue
            experts = max(experts, implied_experts(weight))
            ending = next((key for key in promised if weight.endswith(key)), None)
            if ending is None or not is_of_language_model(weight):
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
    yield from _names(case.model, names, name)
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


def _names(model: ModelConfig, names: list[str], name: str) -> Iterator[Finding]:
    """Weights that the model does not have, and weights that it needs, for families whose names are known."""
    if (odd := unknown_weight(model, names)) is not None:
        yield error(
            name,
            "model-weight-name-unknown",
            f"The weights hold {odd}, which this model does not have",
            "The loader stops at a name that it can't place.",
            {"model_type": model.model_type},
            ["Use weights that were exported for this architecture."],
        )
    elif names and (lost := absent_weight(model, names)) is not None:
        yield warning(
            name,
            "model-weights-not-initialised",
            f"No weight file holds {lost}",
            "Some releases of vLLM stop then; others start with whatever stands in memory.",
            {"model_type": model.model_type},
            ["Download the weights again, or export them anew."],
        )


CHECKS = (
    check_tokenizer,
    check_weights,
)
