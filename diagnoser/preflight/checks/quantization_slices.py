"""Quantized weights on several ranks: whether each rank's slice holds whole blocks and groups, which share a scale."""

from __future__ import annotations

from collections.abc import Iterator

from diagnoser.model import Finding, Remedy
from diagnoser.preflight.case import Case, step
from diagnoser.preflight.checks.parallel import tensor_steps
from diagnoser.preflight.checks.quantization import method_of
from diagnoser.preflight.findings import error, ok, skipped, warning
from diagnoser.preflight.numbers import divisors, in_words
from diagnoser.preflight.shapes import attention_output_width, group_size, refined_block, split_widths
from diagnoser.preflight.versions import at_least

_ONE_SCALE = "A group shares one scale, so it can't be cut between ranks."


def check_blocks(case: Case) -> Iterator[Finding]:
    """FP8 weights in blocks: linears (validate_fp8_block_shape) and routed experts (fused_moe/oracle/fp8.py)."""
    block = _block(case)
    if block is None:
        return
    if case.model is None or case.moe is None:
        yield skipped("quantization-blocks", "Layer slices against the FP8 block", case.model_missing)
        return
    yield from _linear_blocks(case, block[1])
    if case.moe.is_moe and case.moe.expert_width:
        yield from _expert_blocks(case, *block)


def _block(case: Case) -> tuple[int, int] | None:
    if case.model is None:
        return None
    block = case.model.quantization.get("weight_block_size")
    if isinstance(block, list) and len(block) == 2 and all(isinstance(size, int) and size > 0 for size in block):
        return block[0], block[1]
    return None


def _converted(case: Case, *modules: str) -> bool:
    """Whether layers with these names are quantized at all."""
    if case.model is None:
        return True
    quantization = case.model.quantization
    left = [
        entry
        for key in ("modules_to_not_convert", "ignored_layers", "ignore")
        for entry in (quantization.get(key) or ())
    ]
    return not any(module in str(entry) for entry in left for module in modules)


def _row_inputs(case: Case) -> dict[str, int]:
    """Inputs of layers that are cut along their input, by name, for one rank."""
    assert case.model is not None
    assert case.moe is not None
    tp, deployment = case.deployment.tp, case.deployment
    parts: dict[str, int] = {}
    attention = attention_output_width(case.model)
    if attention and attention % tp == 0 and _converted(case, "self_attn", "o_proj", "attention"):
        parts["attention output"] = attention // tp
    parallel = deployment.expert_parallel and tp > 1 and deployment.dp > 1
    for field, width in split_widths(case.moe, case.model, sequence_parallel=parallel).items():
        modules = ("shared_expert",) if field.startswith("shared") else (".mlp.down_proj", "mlp.gate_up", "down_proj")
        if width % tp == 0 and _converted(case, *modules):
            parts[field] = width // tp
    return parts


def _linear_blocks(case: Case, size: int) -> Iterator[Finding]:
    assert case.moe is not None
    if case.moe.model_type.startswith("deepseek_v4"):
        return  # this model pads its shared expert
    why = (
        "Each rank needs whole blocks, because a block has one scale. Expert parallelism does not help: these layers "
        "stay tensor-parallel."
    )
    more = "More data parallelism instead of tensor parallelism keeps the slices large."
    name, rule = "quantization-linear-blocks", "quantization-fp8-block-linear"
    yield from _whole_slices(case, (name, rule), (f"FP8 blocks of {size}", "block", size), why, more)


def _whole_slices(
    case: Case, about: tuple[str, str], unit: tuple[str, str, int], why: str, *more: str
) -> Iterator[Finding]:
    """Whether what each rank gets of layers that are cut along their input holds whole units with one scale each.

    `about` is the check's name and the rule that explains the crash; `unit` its words, its name among the inputs, and
    its size in weights; `more` are steps besides those to other tensor-parallel sizes.
    """
    (name, rule), (words, key, size), tp = about, unit, case.deployment.tp
    if tp == 1:
        return
    parts = _row_inputs(case)
    odd = {field: part for field, part in parts.items() if part % size}
    inputs = {**{f"{field} per rank": part for field, part in parts.items()}, key: size}
    if odd:
        text = in_words([f"{field} {part}" for field, part in odd.items()], "and")
        yield error(
            name, rule, f"Slices of TP {tp} are not whole {words}: {text}", why, inputs, [*tensor_steps(case), *more]
        )
    elif parts:
        yield ok(name, f"Every slice of TP {tp} holds whole {words}", inputs)


def _expert_blocks(case: Case, block_n: int, block_k: int) -> Iterator[Finding]:
    assert case.model is not None
    assert case.moe is not None
    assert case.moe.expert_width
    name, deployment, width = "quantization-expert-blocks", case.deployment, case.moe.expert_width
    ranks = deployment.moe_tp
    if width % ranks:
        return
    part = width // ranks
    inputs = {"expert width": width, "per rank": part, "block": block_n, **deployment.parallel_inputs}
    if part % block_n == 0 and (deployment.tp == 1 or part % block_k == 0):
        yield ok(name, f"The expert slice of {part} holds whole FP8 blocks of {block_n}", inputs)
        return
    finer = refined_block(block_n, block_k, part, case.model.hidden or 0)
    old = at_least(deployment.vllm_version, "0.27") is False
    strict = method_of(case) == "compressed-tensors"
    sizes = [size for size in divisors(width // block_n) if size <= 64]
    steps: list[Remedy | str] = [
        step(case, "Give whole experts to ranks; their width is then not cut.", enable_expert_parallel=True),
        f"Or use TP x DP out of {in_words(sizes)}.",
    ]
    if finer and not old and not strict:
        yield warning(
            name,
            "quantization-fp8-block-moe-width",
            f"The expert slice of {part} cuts FP8 blocks of {block_n}; vLLM refines them to {finer}",
            "That loads, but only Triton kernels can use the finer blocks, and vLLM up to 0.26 refuses it.",
            inputs,
            steps,
        )
        return
    why = "vLLM up to 0.26 has no finer blocks." if old and finer else "No finer block of at least 32 fits."
    if strict and finer:
        why = "The compressed-tensors loader does not refine blocks."
    yield error(
        name,
        "quantization-fp8-block-moe-width",
        f"The expert slice of {part} is no whole number of FP8 blocks of {block_n}",
        why,
        inputs,
        steps,
    )


def check_groups(case: Case) -> Iterator[Finding]:
    """INT4 and INT8 weights in groups, one scale each."""
    if case.model is None or case.moe is None:
        return
    group = group_size(case.model)
    if group is None or group <= 0 or _block(case) is not None:
        return
    method = method_of(case) or ""
    if method in ("mxfp4", "gpt_oss_mxfp4"):
        return  # padded
    name, rule = "quantization-linear-groups", "quantization-group-size-vs-tp"
    unit = (f"groups of {group}", "group size", group)
    yield from _whole_slices(case, (name, rule), unit, _ONE_SCALE)
    if case.moe.is_moe and case.moe.expert_width:
        yield from _expert_groups(case, group, method)


def _expert_groups(case: Case, group: int, method: str) -> Iterator[Finding]:
    assert case.model is not None
    assert case.moe is not None
    assert case.moe.expert_width
    name, deployment, width = "quantization-expert-groups", case.deployment, case.moe.expert_width
    ranks, hidden = deployment.moe_tp, case.model.hidden or 0
    if width % ranks:
        return
    part = width // ranks
    inputs = {"expert width": width, "per rank": part, "group size": group, **deployment.parallel_inputs}
    if method != "compressed-tensors":
        finer = group
        while finer > 32 and (part % finer or hidden % finer):
            finer //= 2
        if part % finer == 0 and hidden % finer == 0:
            note = "" if finer == group else f", refined to {finer}"
            yield ok(name, f"The expert slice of {part} holds whole groups of {group}{note}", inputs)
            if deployment.expert_parallel and deployment.ep > 1 and _zero_points(case):
                yield _zero_point_warning(case, inputs)
            return
    elif part % group == 0 and hidden % group == 0:
        yield ok(name, f"The expert slice of {part} holds whole groups of {group}", inputs)
        return
    fitting = [size for size in divisors(width // group) if size <= 64] if width % group == 0 else []
    yield error(
        name,
        "quantization-moe-group-vs-tp" if method == "compressed-tensors" else "quantization-wna16-kernel-block",
        f"The expert slice of {part} is no whole number of quantization groups of {group}",
        _ONE_SCALE,
        inputs,
        [
            step(case, "Give whole experts to ranks; their width is then not cut.", enable_expert_parallel=True),
            f"Or use TP x DP out of {in_words(fitting)}." if fitting else None,
        ],
    )


def _zero_points(case: Case) -> bool:
    assert case.model is not None
    quantization = case.model.quantization
    return quantization.get("zero_point") is True or quantization.get("sym") is False


def _zero_point_warning(case: Case, inputs: dict[str, object]) -> Finding:
    return warning(
        "quantization-expert-zero-points",
        "moe-wna16-ep-index-error",
        "INT4 experts with zero points and expert parallelism may fail while loading",
        "When the experts go through moe_wna16, its loader takes global expert numbers for local places.",
        inputs,
        [step(case, "Start without expert parallelism.", enable_expert_parallel=None)],
    )


CHECKS = (check_blocks, check_groups)
