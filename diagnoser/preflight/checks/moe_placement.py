"""Whole experts on ranks: expert parallelism, load balancing with copies of experts, and the order of placement."""

from __future__ import annotations

from collections.abc import Iterator

from diagnoser.model import Finding, Remedy
from diagnoser.preflight.case import Case, step
from diagnoser.preflight.findings import error, ok, skipped, warning
from diagnoser.preflight.numbers import divisors, in_words
from diagnoser.preflight.shapes import split_in_words

EVEN_BACKENDS = {
    "deepep_low_latency": "DeepEP",
    "deepep_high_throughput": "DeepEP",
    "deepep_v2": "DeepEP",
    "moonep": "MoonEP",
}
"""All-to-all backends that need the same number of experts on every rank."""


def check_expert_parallel(case: Case) -> Iterator[Finding]:
    """vLLM: config/model.py and fused_moe/expert_map_manager.py."""
    name, deployment = "moe-expert-parallel", case.deployment
    if not deployment.expert_parallel:
        return
    if case.moe is None:
        yield skipped(name, "Experts against the expert-parallel ranks", case.model_missing)
        return
    experts, ranks = case.moe.num_experts, deployment.ep
    inputs = {"experts": experts, **deployment.parallel_inputs}
    if not experts:
        yield error(
            name,
            "moe-expert-parallel-without-experts",
            "--enable-expert-parallel for a model without experts",
            "config.json has none of num_experts, moe_num_experts, n_routed_experts, num_local_experts.",
            inputs,
            [step(case, "Leave the option out.", enable_expert_parallel=None)],
        )
        return
    if deployment.eplb:
        return
    if ranks > experts:
        yield warning(
            name,
            None,
            f"{ranks} expert-parallel ranks for {experts} experts: {ranks - experts} ranks hold none",
            "vLLM's map allows it, but those ranks only wait.",
            inputs,
            [f"Use sizes whose product TP x DP is at most {experts}."],
        )
        return
    if experts % ranks == 0:
        yield ok(name, f"{experts} experts: {split_in_words(experts, ranks)}", inputs)
        return
    yield from _uneven(case, name, experts, ranks, inputs)


def _uneven(case: Case, name: str, experts: int, ranks: int, inputs: dict[str, object]) -> Iterator[Finding]:
    """An uneven split: legal in vLLM, except for some backends."""
    backend = case.deployment.text("all2all_backend") or ""
    chosen = case.deployment.text("moe_backend") or ""
    even = [size for size in divisors(experts) if size > 1]
    if backend in EVEN_BACKENDS or "mega_moe" in chosen:
        what = EVEN_BACKENDS.get(backend, "mega-MoE")
        yield error(
            name,
            "moe-physical-experts-not-divisible" if "mega_moe" in chosen else "moe-backend-needs-even-experts",
            f"{what} needs {experts} experts to divide over {ranks} ranks",
            f"They come out as {split_in_words(experts, ranks)}; this backend wants the same number everywhere.",
            {**inputs, "all2all_backend": backend, "moe_backend": chosen},
            [
                step(case, "Use the default backend.", all2all_backend="allgather_reducescatter"),
                f"Or use TP x DP out of {in_words(even)}.",
            ],
        )
        return
    yield ok(
        name,
        f"{experts} experts over {ranks} ranks: {split_in_words(experts, ranks)} (uneven is legal without EPLB)",
        inputs,
        "vLLM gives the first ranks one expert more. Only EPLB, DeepEP, MoonEP and mega-MoE need an even split.",
    )


def check_load_balancing(case: Case) -> Iterator[Finding]:
    """vLLM: config/parallel.py and fused_moe/layer.py."""
    name, deployment = "moe-load-balancing", case.deployment
    redundant = deployment.redundant_experts
    inputs = {"num_redundant_experts": redundant, **deployment.parallel_inputs}
    rule = "moe-eplb-configuration-invalid"
    if not deployment.eplb:
        if redundant:
            yield error(
                name,
                rule,
                f"num_redundant_experts is {redundant}, but EPLB is off",
                "Further copies of experts are only placed by the load balancer.",
                inputs,
                ["Add --enable-eplb, or leave num_redundant_experts out."],
            )
        return
    if not deployment.expert_parallel:
        yield error(
            name,
            rule,
            "--enable-eplb without --enable-expert-parallel",
            "There are no experts to move while every rank holds a slice of each.",
            inputs,
            [step(case, "Add --enable-expert-parallel.", enable_expert_parallel=True, enable_eplb=True)],
        )
        return
    if deployment.ep <= 1:
        yield error(
            name,
            rule,
            "EPLB with a single rank",
            "TP x PCP x DP has to be above 1, or there is nothing to balance.",
            inputs,
            ["Raise --tensor-parallel-size or --data-parallel-size, or leave --enable-eplb out."],
        )
        return
    if deployment.platform in ("cpu", "tpu", "npu"):
        yield error(
            name,
            rule,
            f"EPLB is not implemented on {deployment.platform}",
            "vLLM supports it on CUDA, ROCm and XPU.",
            inputs,
            ["Leave --enable-eplb out."],
        )
        return
    yield from _balanced(case, name, inputs)


def _balanced(case: Case, name: str, inputs: dict[str, object]) -> Iterator[Finding]:
    if case.moe is None:
        yield skipped(name, "Experts and their copies against the EPLB ranks", case.model_missing)
        return
    deployment, experts = case.deployment, case.moe.num_experts
    if not experts:
        return
    ranks, physical = deployment.ep, experts + deployment.redundant_experts
    inputs = {"experts": experts, "physical experts": physical, **inputs}
    if physical % ranks == 0:
        yield ok(name, f"{physical} physical experts: {physical // ranks} on each of {ranks} ranks", inputs)
        return
    least = -experts % ranks
    choices = [least, least + ranks, least + 2 * ranks]
    yield error(
        name,
        "moe-eplb-experts-not-divisible",
        f"EPLB needs {physical} physical experts to divide over {ranks} ranks",
        f"{experts} experts and {deployment.redundant_experts} copies are {physical}, and {physical} is not a multiple "
        f"of {ranks}. Without EPLB the uneven split would be legal.",
        inputs,
        [
            Remedy(
                f"Set num_redundant_experts to {in_words(choices)}.",
                "--eplb-config '{\"num_redundant_experts\": %d}'" % least,  # noqa: UP031 - braces
            )
        ],
    )


def check_placement(case: Case) -> Iterator[Finding]:
    """vLLM: determine_expert_placement_strategy falls back to linear with a warning."""
    chosen = case.deployment.text("expert_placement_strategy")
    if chosen in (None, "linear"):
        return
    name, inputs = "moe-placement", {"expert_placement_strategy": chosen}
    if chosen != "round_robin":
        yield error(
            name,
            "moe-expert-placement-invalid",
            f"Expert placement {chosen!r} is not known",
            "It is linear or round_robin.",
            inputs,
        )
    elif case.moe is not None and (
        not case.moe.n_group or case.moe.n_group < 2 or case.deployment.eplb or case.deployment.redundant_experts
    ):
        yield warning(
            name,
            "moe-expert-placement-invalid",
            "Round-robin placement will not be used",
            "It needs a model with several expert groups and no EPLB; vLLM falls back to linear.",
            inputs,
        )


CHECKS = (check_expert_parallel, check_load_balancing, check_placement)
