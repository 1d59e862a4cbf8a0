"""Quantized weights: the method against the checkpoint's, and the compute type against the method."""

from __future__ import annotations

from collections.abc import Iterator

from diagnoser.model import Finding
from diagnoser.preflight.case import Case, step
from diagnoser.preflight.findings import error, ok
from diagnoser.preflight.numbers import in_words

_HALF = ("bfloat16", "float16")
DTYPES: dict[str, tuple[str, ...]] = {
    "awq": _HALF,
    "auto_awq": _HALF,
    "awq_marlin": _HALF,
    "gptq": _HALF,
    "auto_gptq": _HALF,
    "gptq_marlin": _HALF,
    "fp8": _HALF,
    "fbgemm_fp8": _HALF,
    "modelopt": _HALF,
    "modelopt_fp4": _HALF,
    "modelopt_mxfp8": ("bfloat16",),
    "mxfp4": ("bfloat16",),
    "fp_quant": ("bfloat16",),
    "quark": _HALF,
    "moe_wna16": _HALF,
    "experts_int8": _HALF,
    "inc": _HALF,
    "humming": _HALF,
    "compressed-tensors": ("float32", *_HALF),
    "torchao": ("float32", *_HALF),
}
"""Compute types that each method takes (vLLM 0.32, get_supported_act_dtypes)."""
ALIASES = {"half": "float16", "float": "float32", "bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}
FAMILIES = {
    "awq": frozenset(("awq", "auto_awq", "awq_marlin", "moe_wna16", "cpu_awq", "ipex", "humming", "inc", "auto-round")),
    "gptq": frozenset(
        (
            "gptq",
            "auto_gptq",
            "gptq_marlin",
            "moe_wna16",
            "gptq_bitblas",
            "ipex",
            "humming",
            "inc",
            "auto-round",
            "marlin",
        )
    ),
    "modelopt": frozenset(("modelopt", "modelopt_fp4", "modelopt_mxfp8", "modelopt_mixed", "nvfp4", "humming")),
    "fp8": frozenset(("fp8", "deepseek_v4_fp8", "humming", "ptpc_fp8", "ascend")),
    "mxfp4": frozenset(("mxfp4", "gpt_oss_mxfp4", "humming", "quark")),
    "auto-round": frozenset(("auto-round", "inc", "gptq", "awq", "gptq_marlin", "awq_marlin", "auto_gptq", "auto_awq")),
    "intel/auto-round": frozenset(("auto-round", "inc")),
}
"""What `--quantization` may say for a checkpoint's own method, where it may say more than that method."""


def method_of(case: Case) -> str | None:
    """The checkpoint's quantization method, or the one asked for."""
    if case.model is not None and case.model.quantization:
        method = case.model.quantization.get("quant_method")
        return str(method).lower() if method else None
    return case.deployment.text("quantization")


def dtype_of(case: Case) -> str | None:
    """The compute type: the one asked for, or the checkpoint's with vLLM's rule for `auto`."""
    asked = case.deployment.text("dtype")
    if asked and asked != "auto":
        return ALIASES.get(asked, asked)
    stored = case.model.dtype if case.model is not None else None
    return "bfloat16" if stored == "float32" and case.deployment.platform != "cpu" else stored


def check_method(case: Case) -> Iterator[Finding]:
    """vLLM: config/model.py, _verify_quantization."""
    from diagnoser.preflight.known_names import names_of

    name, asked = "quantization-method", case.deployment.text("quantization")
    if asked and asked not in names_of("quantization"):
        yield error(
            name,
            "quantization-method-unknown",
            f"--quantization {asked} is not known",
            "No release up to 0.32 has this method. A plug-in may add it; then ignore this finding.",
            {"quantization": asked},
            ["Leave --quantization out: vLLM reads the method from the checkpoint."],
        )
        return
    if not asked or case.model is None:
        return
    stored = case.model.quantization.get("quant_method")
    if not stored:
        yield from _unquantized(case, name, asked)
        return
    stored = str(stored).lower()
    allowed = FAMILIES.get(stored, frozenset((stored, "humming")))
    if asked.lower() in allowed:
        yield ok(name, f"--quantization {asked} goes with the checkpoint's {stored}")
        return
    yield error(
        name,
        "quantization-method-mismatch",
        f"--quantization {asked}, but the checkpoint is quantized with {stored}",
        "A checkpoint can only be loaded with the method that made it.",
        {"quantization": asked, "quant_method": stored},
        [step(case, "Leave --quantization out.", quantization=None)],
    )


_NEEDS_CHECKPOINT = frozenset(
    ("awq", "auto_awq", "awq_marlin", "gptq", "auto_gptq", "gptq_marlin", "compressed-tensors")
)


def _unquantized(case: Case, name: str, asked: str) -> Iterator[Finding]:
    if asked not in _NEEDS_CHECKPOINT or (case.model and case.model.folder and _side_file(case.model.folder)):
        return
    yield error(
        name,
        "quantization-method-mismatch",
        f"--quantization {asked} for a checkpoint that is not quantized",
        f"{asked} weights are made beforehand; config.json has no quantization_config.",
        {"quantization": asked},
        [
            step(case, "Leave --quantization out.", quantization=None),
            "Or use a checkpoint that was quantized with this method, or --quantization fp8, which works on load.",
        ],
    )


def _side_file(folder: str) -> bool:
    """Whether the folder has a quantization file besides config.json, as early AWQ and GPTQ exports do."""
    from diagnoser.preflight.reading import inside

    return inside(folder, "quant_config.json", "quantize_config.json", "hf_quant_config.json") is not None


def check_dtype(case: Case) -> Iterator[Finding]:
    """vLLM: the list of compute types of each method."""
    name, method, dtype = "quantization-dtype", method_of(case), dtype_of(case)
    if not method or dtype not in ("float16", "bfloat16", "float32") or method not in DTYPES:
        return
    inputs = {"quantization": method, "dtype": dtype}
    if dtype in DTYPES[method]:
        yield ok(name, f"{method} computes in {dtype}", inputs)
        return
    allowed = in_words(DTYPES[method])
    yield error(
        name,
        "quantization-dtype-unsupported",
        f"{method} does not go with dtype {dtype}",
        f"This method computes in {allowed}.",
        inputs,
        [step(case, "Let vLLM choose.", dtype="auto")],
    )


CHECKS = (check_method, check_dtype)
