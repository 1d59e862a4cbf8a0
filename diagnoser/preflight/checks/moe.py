"""Experts: the fields of config.json that say what they are, and what cuts or refuses them on ranks."""

from __future__ import annotations

from collections.abc import Iterator

from diagnoser.model import Finding
from diagnoser.preflight.case import Case, step
from diagnoser.preflight.findings import error, ok, skipped, warning
from diagnoser.preflight.moe_config import MoEModelConfig
from diagnoser.preflight.numbers import divisors, in_words

TENSOR_LIMITED = frozenset(
    (
        "qwen2_moe",
        "qwen3_moe",
        "qwen3_vl_moe_text",
        "qwen3_next",
        "qwen3_5_moe",
        "minimax_m2",
        "minimax_m3",
        "ernie4_5_moe",
        "ernie4_5_vl_moe",
        "lfm2_moe",
        "step3_text",
        "step3p5",
        "hy_v3",
        "hy_v4",
        "k2_horizon",
        "cohere2_moe",
        "laguna",
        "interns1_pro",
        "exaone_moe",
        "mimo_v2",
    )
)
"""Families whose model file refuses a tensor-parallel size above the number of experts."""


def check_fields(case: Case) -> Iterator[Finding]:
    """Every MoE field is a positive whole number, under a name that vLLM reads."""
    if case.moe is None:
        return
    moe = case.moe
    name = "moe-fields"
    if moe.invalid:
        yield error(
            name,
            "moe-config-field-missing",
            "A MoE field of config.json is unusable",
            f"{'; '.join(moe.invalid)}. Transformers or the model file stops on it.",
            {"model_type": moe.model_type},
            ["Restore the values from the model's original config.json."],
        )
        return
    if not moe.is_moe:
        return
    where = dict(moe.fields)
    inputs = {where.get(meaning, meaning): value for meaning, value in _values(moe).items() if value is not None}
    if moe.assumed:
        yield warning(
            name,
            "moe-config-field-missing",
            f"config.json does not say how many experts there are; Transformers will assume {moe.num_experts}",
            "The class of this model type fills in its own default for an absent field. If the checkpoint has another "
            "number of experts, loading fails.",
            {"model_type": moe.model_type},
            ["Restore the field from the model's original config.json."],
        )
        return
    missing = [label for label, value in (("top-k", moe.top_k), ("expert width", moe.expert_width)) if not value]
    if missing:
        yield warning(
            name,
            "moe-config-field-missing",
            f"config.json names {moe.num_experts} experts, but no {in_words(missing, 'and')}",
            "None of the field names that models use for it is there.",
            inputs,
            ["Restore the fields from the model's original config.json."],
        )
        return
    if moe.top_k and moe.top_k > moe.num_experts:
        return
    yield ok(name, f"{moe.num_experts} experts, {moe.top_k} per token, width {moe.expert_width}", inputs)


def _values(moe: MoEModelConfig) -> dict[str, int | None]:
    return {
        "num_experts": moe.num_experts,
        "top_k": moe.top_k,
        "expert_width": moe.expert_width,
        "n_group": moe.n_group,
        "topk_group": moe.topk_group,
    }


def check_expert_slices(case: Case) -> Iterator[Finding]:
    """vLLM: the assertion in fused_moe/config.py; without EP, TP x DP x PCP cut the width of each expert."""
    name, moe, deployment = "moe-expert-width", case.moe, case.deployment
    if moe is None or not moe.is_moe or not moe.expert_width:
        return
    ranks, width = deployment.moe_tp, moe.expert_width
    inputs = {"expert width": width, **deployment.parallel_inputs}
    if width % ranks == 0:
        if ranks > 1:
            yield ok(
                name,
                f"Every rank holds all {moe.num_experts} experts and {width // ranks} of their width {width}",
                inputs,
            )
        return
    yield error(
        name,
        "moe-intermediate-not-divisible",
        f"The expert width {width} does not divide over {ranks} ranks",
        "Without expert parallelism each expert is cut over TP x DP ranks; data parallelism counts. vLLM stops with a "
        "bare assertion.",
        inputs,
        [
            step(case, "Give whole experts to ranks instead.", enable_expert_parallel=True),
            f"Or use TP x DP out of {in_words([size for size in divisors(width) if size <= 64])}.",
        ],
    )


def check_tensor_limit(case: Case) -> Iterator[Finding]:
    """vLLM: a check in some model files only."""
    moe, deployment = case.moe, case.deployment
    if moe is None or not moe.is_moe or deployment.tp <= moe.num_experts:
        return
    name, inputs = "moe-tensor-limit", {"experts": moe.num_experts, **deployment.parallel_inputs}
    title = f"Tensor parallel size {deployment.tp} is above the {moe.num_experts} experts"
    if moe.model_type in TENSOR_LIMITED:
        yield error(
            name,
            "moe-tp-exceeds-experts",
            title,
            f"The model file of {moe.model_type} refuses that, although the experts are not split by TP.",
            inputs,
            [f"Use --tensor-parallel-size of at most {moe.num_experts}, the other GPUs for pipeline stages."],
        )
    else:
        yield ok(name, f"{title}; this model allows it", inputs)


def check_platform(case: Case) -> Iterator[Finding]:
    """What the MoE kernels of a platform can't do; seen in real runs on CPU."""
    moe, deployment = case.moe, case.deployment
    if deployment.platform != "cpu" or not (deployment.expert_parallel or deployment.dp > 1):
        return
    name = "moe-platform"
    if moe is None:
        yield skipped(name, "Whether this model has experts, which CPU can't run in parallel", case.model_missing)
        return
    if not moe.is_moe:
        return
    inputs = {"experts": moe.num_experts, "platform": "cpu", **deployment.parallel_inputs}
    steps = [step(case, "On CPU, use tensor parallelism only.", enable_expert_parallel=None, data_parallel_size=None)]
    if deployment.expert_parallel and deployment.ep > 1:
        yield error(
            name,
            "moe-cpu-expert-parallel-crash",
            "Expert parallelism on CPU crashes at the first request",
            "The CPU kernel uses global expert numbers as places in its local weights.",
            inputs,
            steps,
        )
    if deployment.dp > 1:
        yield error(
            name,
            "moe-data-parallel-unsupported-platform",
            "A model with experts can't run data-parallel on CPU",
            "The exchange between data-parallel ranks (all_gatherv) is not implemented there.",
            inputs,
            steps,
        )


def check_deepseek_v4(case: Case) -> Iterator[Finding]:
    """vLLM: an assertion in the DeepSeek-V4 model for platforms other than CUDA."""
    moe, deployment = case.moe, case.deployment
    if moe is None or not moe.model_type.startswith("deepseek_v4") or deployment.platform not in ("rocm", "cpu", "xpu"):
        return
    if moe.is_moe and moe.num_experts % deployment.tp:
        yield error(
            "moe-deepseek-v4",
            "moe-physical-experts-not-divisible",
            f"DeepSeek-V4 on {deployment.platform} needs {moe.num_experts} experts to divide over TP {deployment.tp}",
            "Only the CUDA version takes an uneven split.",
            {"experts": moe.num_experts, **deployment.parallel_inputs},
            [f"--tensor-parallel-size {in_words(divisors(moe.num_experts)[:8])} would work for the experts."],
        )


def check_generic_claims(case: Case) -> Iterator[Finding]:
    """What articles demand of experts and ranks; true for engines that group experts, not for vLLM."""
    moe, tp = case.moe, case.deployment.tp
    if case.engine != "generic" or moe is None or not moe.is_moe:
        return
    inputs = {"experts": moe.num_experts, "group size": moe.expert_group_size, "TP": tp}
    if moe.num_experts % tp:
        yield warning(
            "moe-generic-experts",
            "moe-experts-not-divisible-claim",
            f"Generic engine: {moe.num_experts} experts do not divide over TP {tp}",
            "True only for an engine that gives whole experts to tensor-parallel ranks. vLLM does not ask for it.",
            inputs,
            [f"TP {in_words(divisors(moe.num_experts))} would satisfy such an engine."],
        )
    group = moe.expert_group_size
    if group and (moe.num_experts // tp) % group:
        yield warning(
            "moe-generic-groups",
            "moe-local-experts-group-size-claim",
            f"Generic engine: {moe.num_experts // tp} experts per rank are no whole number of groups of {group}",
            "True only for an engine that groups experts. vLLM has no such check.",
            inputs,
        )


CHECKS = (
    check_fields,
    check_expert_slices,
    check_tensor_limit,
    check_platform,
    check_deepseek_v4,
    check_generic_claims,
)
