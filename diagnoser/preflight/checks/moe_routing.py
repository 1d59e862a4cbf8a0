"""Expert groups and top-k: numbers that only the first request would trip over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from diagnoser.model import Finding
from diagnoser.preflight.case import Case
from diagnoser.preflight.findings import error, ok, warning
from diagnoser.preflight.numbers import divisors, in_words

GROUPED = frozenset(
    (
        "deepseek_v2",
        "deepseek_v3",
        "deepseek_v32",
        "kimi_k2",
        "kimi_k3",
        "glm4_moe",
        "glm4_moe_lite",
        "glm_moe_dsa",
        "mimo_v2",
        "nemotron_h",
        "bailing_moe",
        "bailing_moe_v2",
        "bailing_hybrid",
        "exaone_moe",
        "afmoe",
        "dots1",
    )
)
"""Families whose router uses expert groups. Source: model files of vLLM 0.32."""
_CARD = "Take n_group, topk_group and the top-k from the model's original config.json."


def check_top_k(case: Case) -> Iterator[Finding]:
    """`torch.topk` refuses to take more than there is."""
    moe = case.moe
    if moe is None or not moe.is_moe or not moe.top_k or moe.top_k <= moe.num_experts:
        return
    yield error(
        "moe-top-k",
        "moe-grouped-topk-invalid",
        f"{moe.top_k} experts per token, but the model has {moe.num_experts}",
        "The server starts and fails at the first request: selected index k out of range.",
        {"experts": moe.num_experts, "top-k": moe.top_k},
        [_CARD],
    )


def check_groups(case: Case) -> Iterator[Finding]:
    """vLLM: fused_moe/router/grouped_topk_router.py and its kernels."""
    moe = case.moe
    if moe is None or not moe.is_moe:
        return
    name, groups, chosen = "moe-groups", moe.n_group, moe.topk_group
    inputs = {"experts": moe.num_experts, "n_group": groups, "topk_group": chosen, "top-k": moe.top_k}
    if (groups is None) != (chosen is None):
        if moe.model_type in GROUPED:
            yield error(
                name,
                "moe-group-fields-missing",
                f"config.json has {'topk_group' if groups is None else 'n_group'} missing",
                "This family routes by groups and needs both numbers.",
                inputs,
                [_CARD, "1 and 1 mean no groups."],
            )
        return
    if not groups or not chosen or (groups == 1 and chosen == 1):
        return
    findings = list(_group_findings(case, groups, chosen, inputs))
    yield from findings
    if not findings:
        yield ok(name, f"{moe.num_experts} experts in {groups} groups, {chosen} of them chosen", inputs)


def _group_findings(case: Case, groups: int, chosen: int, inputs: Mapping[str, object]) -> Iterator[Finding]:
    moe = case.moe
    assert moe is not None
    name, rule = "moe-groups", "moe-grouped-topk-invalid"
    if chosen > groups:
        yield error(
            name,
            rule,
            f"{chosen} groups are to be chosen out of {groups}",
            "The server starts and fails at the first request: selected index k out of range.",
            inputs,
            [_CARD],
        )
        return
    if moe.num_experts % groups or moe.num_experts <= groups:
        on_cpu = case.deployment.platform == "cpu" or case.deployment.environ("VLLM_ROCM_USE_AITER") == "1"
        finding = error if on_cpu else warning
        yield finding(
            name,
            rule,
            f"{moe.num_experts} experts do not form {groups} equal groups",
            "On CPU and with AITER or fused kernels the first request fails."
            if on_cpu
            else "The CUDA router then drops the groups silently and picks other experts.",
            inputs,
            [f"n_group {in_words(divisors(moe.num_experts)[:-1])} would divide.", _CARD],
        )
        return
    room = chosen * moe.num_experts // groups
    if moe.top_k and moe.top_k > room:
        yield error(
            name,
            rule,
            f"{moe.top_k} experts per token do not fit into {chosen} of {groups} groups, which hold {room}",
            "The fused CUDA kernel refuses it at the first request.",
            inputs,
            [_CARD],
        )


CHECKS = (check_top_k, check_groups)
