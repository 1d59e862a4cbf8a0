"""How many ranks there are and where they run: devices, context and data parallelism, executor, CPU cores."""

from __future__ import annotations

from collections.abc import Iterator

from diagnoser.model import Finding, Remedy
from diagnoser.preflight.case import Case, step
from diagnoser.preflight.findings import error, ok, skipped, warning
from diagnoser.preflight.numbers import divisors, in_words
from diagnoser.preflight.shapes import tensor_sizes


def check_world_size(case: Case) -> Iterator[Finding]:
    """vLLM: config/parallel.py and v1/executor: every local rank needs a device of its own."""
    name, deployment = "parallel-world-size", case.deployment
    if deployment.platform in ("cpu", "tpu"):
        return
    needed, devices = deployment.local_world_size, _devices(case)
    if devices is None:
        gpus = "1 GPU is" if needed == 1 else f"{needed} GPUs are"
        yield skipped(name, f"{gpus} needed on this node", "the number of GPUs (--devices N)")
        return
    inputs = {"ranks on this node": needed, "visible devices": devices, **deployment.parallel_inputs}
    if needed <= devices:
        yield ok(name, f"{needed} ranks fit {devices} visible devices", inputs)
        return
    ray = deployment.text("distributed_executor_backend") == "ray" or deployment.text("data_parallel_backend") == "ray"
    if ray:
        yield ok(
            name,
            f"{needed} ranks need more than one node's {devices} devices",
            inputs,
            "Ray places them on other nodes; the cluster has to have that many GPUs.",
        )
        return
    yield error(
        name,
        "parallel-world-size-exceeds-gpus",
        f"{needed} ranks were asked for, {devices} GPUs are visible",
        "Tensor, pipeline, context and local data-parallel sizes are multiplied; each rank takes one GPU.",
        inputs,
        [
            step(case, f"Use sizes whose product is at most {devices}.", tensor_parallel_size=_largest(case, devices)),
            "For more GPUs than one node has, add --distributed-executor-backend ray, or --nnodes with --node-rank.",
        ],
    )


def _largest(case: Case, devices: int) -> int:
    deployment = case.deployment
    room = max(devices // (deployment.pp * deployment.local_dp * deployment.pcp), 1)
    sizes = divisors(deployment.tp)
    if case.model is not None and case.moe is not None:
        sizes = tensor_sizes(case.model, case.moe, expert_parallel=deployment.expert_parallel) or sizes
    return max((size for size in sizes if size <= room), default=1)


def _devices(case: Case) -> int | None:
    deployment = case.deployment
    if deployment.devices is not None:
        return deployment.devices
    visible = deployment.environ("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        return len([part for part in visible.split(",") if part.strip() and part.strip() != "-1"])
    if case.host is not None and case.host.gpus is not None:
        return len(case.host.gpus)
    return None


def check_context(case: Case) -> Iterator[Finding]:
    """vLLM: config/parallel.py and config/model.py, rules of decode and prefill context parallelism."""
    name, deployment = "parallel-context", case.deployment
    tp, dcp, pcp = deployment.tp, deployment.dcp, deployment.pcp
    if dcp == 1:
        return
    inputs = {**deployment.parallel_inputs}
    rule = "parallel-context-parallel-invalid"
    if pcp > 1 and dcp not in (1, pcp, tp * pcp):
        yield error(
            name,
            rule,
            f"Decode context parallel size {dcp} does not go with prefill context parallel size {pcp}",
            f"With PCP {pcp} and TP {tp} it can be {in_words(sorted({1, pcp, tp * pcp}))}.",
            inputs,
        )
        return
    if pcp == 1 and tp % dcp:
        yield error(
            name,
            rule,
            f"Decode context parallel size {dcp} does not divide TP {tp}",
            "Its groups are parts of the tensor-parallel group.",
            inputs,
            [f"--decode-context-parallel-size {in_words(divisors(tp))} would work."],
        )
        return
    if case.model is None or not case.model.heads or not case.model.kv_heads:
        yield skipped(name, "Context-parallel sizes against the heads", case.model_missing)
        return
    if not case.model.mla:
        yield from _grouped_context(name, rule, tp, dcp, case.model.heads, case.model.kv_heads, inputs)


def _grouped_context(
    name: str, rule: str, tp: int, dcp: int, heads: int, kv: int, inputs: dict[str, object]
) -> Iterator[Finding]:
    inputs = {"num_attention_heads": heads, "num_key_value_heads": kv, **inputs}
    if tp <= kv:
        problem = f"needs a tensor-parallel size above the {kv} KV heads; it is {tp}"
    elif dcp > tp // kv:
        problem = f"can be at most {tp // kv} with TP {tp} and {kv} KV heads; it is {dcp}"
    elif (heads // kv) % dcp:
        problem = f"has to divide the {heads // kv} query heads per KV head; {dcp} does not"
    else:
        yield ok(name, f"Decode context parallel size {dcp} fits the heads", inputs)
        return
    allowed = [size for size in divisors(tp // kv) if (heads // kv) % size == 0] if tp > kv else [1]
    yield error(
        name,
        rule,
        f"Decode context parallelism {problem}",
        "Its ranks share the copies of one KV head, so there must be copies to share.",
        inputs,
        [f"--decode-context-parallel-size {in_words(allowed)} would work with TP {tp}."],
    )


def check_data_parallel(case: Case) -> Iterator[Finding]:
    """vLLM: config/parallel.py, contradictions among the data-parallel options."""
    name, deployment = "parallel-data", case.deployment
    local = deployment.options.get("data_parallel_size_local")
    inputs = {**deployment.parallel_inputs, "data_parallel_size_local": local}
    rule = "parallel-dp-launch-options-invalid"
    if isinstance(local, int) and local > deployment.dp:
        yield error(
            name,
            rule,
            f"--data-parallel-size-local {local} is more than --data-parallel-size {deployment.dp}",
            "The local ranks are a part of all ranks.",
            inputs,
        )
    if deployment.dp <= 1 and deployment.flag("data_parallel_external_lb"):
        yield error(
            name,
            rule,
            "--data-parallel-external-lb without --data-parallel-size above 1",
            "There is nothing to balance.",
            inputs,
        )
    rank = deployment.options.get("data_parallel_rank")
    if isinstance(rank, int) and not 0 <= rank < deployment.dp:
        yield error(
            name,
            rule,
            f"--data-parallel-rank {rank} is outside 0 to {deployment.dp - 1}",
            "Ranks are counted from 0 and there are --data-parallel-size of them.",
            inputs,
        )


def check_executor(case: Case) -> Iterator[Finding]:
    """vLLM: a known executor, or the dotted name of a class."""
    from diagnoser.preflight.known_names import EXECUTORS

    chosen = case.deployment.text("distributed_executor_backend")
    if not chosen or chosen in EXECUTORS or "." in chosen:
        return
    yield error(
        "parallel-executor",
        "parallel-executor-backend-unknown",
        f"--distributed-executor-backend {chosen} is not known",
        f"It is {in_words(EXECUTORS)}, or the full dotted name of a class.",
        {"distributed_executor_backend": chosen},
        [step(case, "Leave it out; vLLM then chooses.", distributed_executor_backend=None)],
    )


def check_cpu_ranks(case: Case) -> Iterator[Finding]:
    """vLLM on CPU binds each rank to a NUMA node or to a list of cores of its own."""
    deployment = case.deployment
    if deployment.platform != "cpu":
        return
    ranks = deployment.local_world_size
    binding = deployment.environ("VLLM_CPU_OMP_THREADS_BIND")
    if binding and binding not in ("auto", "nobind", "all"):
        lists = binding.split("|")
        inputs = {"VLLM_CPU_OMP_THREADS_BIND": binding, "ranks": ranks}
        if len(lists) != ranks:
            yield error(
                "parallel-cpu-binding",
                "parallel-cpu-bind-list-mismatch",
                f"VLLM_CPU_OMP_THREADS_BIND has {len(lists)} lists of cores for {ranks} ranks",
                "Lists are separated by |, one for each rank.",
                inputs,
                [Remedy("Give one list per rank, or let vLLM bind.", "export VLLM_CPU_OMP_THREADS_BIND=auto")],
            )
        else:
            yield ok("parallel-cpu-binding", f"One list of cores for each of {ranks} ranks", inputs)
    elif binding in (None, "auto") and case.host is not None and case.host.numa_nodes is not None and ranks > 1:
        nodes = case.host.numa_nodes
        inputs = {"ranks": ranks, "NUMA nodes": nodes}
        if ranks > nodes:
            yield warning(
                "parallel-cpu-binding",
                "parallel-cpu-numa-nodes",
                f"{ranks} ranks for {nodes} NUMA nodes",
                "With automatic binding each rank takes a NUMA node, and vLLM stops when there are fewer.",
                inputs,
                [Remedy("Do not bind, or name the cores yourself.", "export VLLM_CPU_OMP_THREADS_BIND=nobind")],
            )


def check_nodes(case: Case) -> Iterator[Finding]:
    """vLLM: with --nnodes every node holds the same number of ranks."""
    deployment = case.deployment
    nodes, world = deployment.whole("nnodes", 1), deployment.tp * deployment.pp * deployment.pcp
    if nodes > 1 and deployment.dp == 1 and world % nodes:
        yield error(
            "parallel-nodes",
            "parallel-world-size-inconsistent",
            f"{world} ranks do not divide over {nodes} nodes",
            "Every node starts the same number of ranks.",
            {"nnodes": nodes, **deployment.parallel_inputs},
            [f"--nnodes {in_words([size for size in divisors(world) if size > 1][:6])} would work."],
        )


CHECKS = (
    check_world_size,
    check_context,
    check_data_parallel,
    check_executor,
    check_cpu_ranks,
    check_nodes,
)
