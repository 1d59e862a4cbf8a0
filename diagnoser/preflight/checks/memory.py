"""Memory: an estimate of weights and KV cache against the device, and the sizes that options give."""

from __future__ import annotations

import os
from collections.abc import Iterator

from diagnoser.model import Finding, Remedy
from diagnoser.preflight.case import Case, step
from diagnoser.preflight.estimate import REST_ERROR, TOKEN_ERROR, WEIGHT_ERROR, Estimate, estimate
from diagnoser.preflight.findings import error, ok, skipped, warning
from diagnoser.preflight.numbers import GIB, gib, in_words, whole
from diagnoser.preflight.shapes import tensor_sizes
from diagnoser.preflight.versions import at_least

_CAVEAT = (
    f"This is an estimate from config.json: weights within {WEIGHT_ERROR:.0%}, cache per token within "
    f"{TOKEN_ERROR:.0%}, the rest within {REST_ERROR // GIB} GiB."
)


def check_fit(case: Case) -> Iterator[Finding]:
    """Weights and one request of the full length against the memory that vLLM may take."""
    name, deployment = "memory-estimate", case.deployment
    if deployment.platform == "cpu" or not (case.model or deployment.model or deployment.options):
        return
    if case.model is None or case.moe is None:
        yield skipped(name, "Weights and KV cache against the GPU's memory", case.model_missing)
        return
    found = estimate(case.model, case.moe, deployment)
    if found is None:
        yield skipped(
            name, "Weights and KV cache against the GPU's memory", "hidden size, layers and heads in config.json"
        )
        return
    memory = _memory(case)
    if memory is None:
        yield skipped(
            name,
            f"About {gib(found.weights)} of weights per GPU against the GPU's memory",
            "the memory of one GPU (--device-memory 80GiB)",
        )
        return
    part = deployment.number("gpu_memory_utilization", _default_part(case))
    yield _fit(case, found, memory, part)


def _default_part(case: Case) -> float:
    """vLLM's default of --gpu-memory-utilization (0.9 until some release after 0.26)."""
    return 0.9 if at_least(case.deployment.vllm_version, "0.27") is False else 0.92


def _memory(case: Case) -> int | None:
    if case.deployment.device_memory is not None:
        return case.deployment.device_memory
    gpus = case.host.gpus if case.host is not None else None
    return min(gpu.memory for gpu in gpus) if gpus else None


def _length(case: Case) -> int:
    asked = case.deployment.whole("max_model_len", 0)
    longest = case.model.longest if case.model is not None else None
    return asked if asked > 0 else (longest[1] if longest else 2048)


def _fit(case: Case, found: Estimate, memory: int, part: float) -> Finding:
    name, length = "memory-estimate", _length(case)
    budget = memory * part
    room = budget - found.weights - found.rest
    fitting = max(int((room - found.cache_of_windows) / found.cache_per_token), 0) if found.cache_per_token else length
    inputs = {
        "weights per GPU": gib(found.weights),
        "activations, graphs and buffers": gib(found.rest),
        "KV cache per 1,000 tokens": gib(found.cache_per_token * 1000),
        "GPU memory": gib(memory),
        "gpu_memory_utilization": part,
        "max_model_len": length,
        **case.deployment.parallel_inputs,
    }
    if found.weights * (1 - WEIGHT_ERROR) > memory:
        return error(
            name,
            "memory-oom-loading-weights",
            f"About {gib(found.weights)} of weights per GPU can't fit {gib(memory)}",
            f"Even the lower end of the estimate is more than the GPU has. {_CAVEAT}",
            inputs,
            _smaller(case, memory * part),
        )
    if found.weights > budget:
        return warning(
            name,
            "memory-oom-loading-weights",
            f"About {gib(found.weights)} of weights per GPU exceed the {gib(budget)} that vLLM may take",
            _CAVEAT,
            inputs,
            _smaller(case, budget),
        )
    if case.deployment.whole("max_model_len", 0) == -1:
        return ok(name, f"About {gib(found.weights)} of weights per GPU; vLLM fits the context length itself", inputs)
    if room <= 0 or fitting < length:
        return _too_long(case, found, room, fitting, length, inputs)
    many = fitting // length if length else 0
    return ok(
        name,
        f"About {gib(found.weights)} of weights and {gib(room)} for the KV cache per GPU: "
        f"{fitting:,} tokens, {many} requests of full length",
        inputs,
        _CAVEAT,
    )


def _too_long(
    case: Case, found: Estimate, room: float, fitting: int, length: int, inputs: dict[str, object]
) -> Finding:
    rule = "memory-max-model-len-too-long" if room > 0 else "memory-no-kv-cache-blocks"
    rounded = fitting // 1024 * 1024
    steps: list[Remedy | str | None] = []
    if rounded >= 1024:
        steps.append(step(case, "Shorten the context to what fits.", max_model_len=rounded))
    if not case.deployment.text("kv_cache_dtype"):
        steps.append(
            step(case, "An FP8 cache takes half of the memory, where GPU and model allow it.", kv_cache_dtype="fp8")
        )
    steps += _smaller(case, room + found.weights)
    return warning(
        "memory-estimate",
        rule,
        f"One request of {length:,} tokens needs about {gib(found.cache_of(length))} of KV cache, "
        f"and about {gib(max(room, 0))} is left",
        _CAVEAT,
        inputs,
        steps,
    )


def _smaller(case: Case, budget: float) -> list[Remedy | str | None]:
    """Larger tensor-parallel sizes at which the weights and one request of full length fit."""
    assert case.model is not None
    assert case.moe is not None
    deployment = case.deployment
    others = deployment.dp * deployment.pcp
    fitting = []
    for size in tensor_sizes(case.model, case.moe, expert_parallel=deployment.expert_parallel, others=others):
        wider = deployment._replace(options={**deployment.options, "tensor_parallel_size": size})
        found = estimate(case.model, case.moe, wider)
        needed = found.weights + found.rest + found.cache_of(_length(case)) if found is not None else budget
        if size > deployment.tp and needed < budget:
            fitting.append(size)
    if not fitting:
        return ["Use more GPUs (--tensor-parallel-size, --pipeline-parallel-size) or a quantized checkpoint."]
    return [
        step(
            case,
            f"Spread the model over more GPUs: --tensor-parallel-size {in_words(fitting[:4])} leaves room.",
            tensor_parallel_size=fitting[0],
        )
    ]


def check_utilization(case: Case) -> Iterator[Finding]:
    """vLLM: config/cache.py and v1/worker/utils.py."""
    name = "memory-utilization"
    part = case.deployment.options.get("gpu_memory_utilization")
    if isinstance(part, float) and not 0 < part <= 1:
        yield error(
            name,
            "config-cli-argument-invalid",
            f"--gpu-memory-utilization {part} is outside 0 to 1",
            "It is the part of the GPU's memory that vLLM may take.",
            {"gpu_memory_utilization": part},
            [step(case, "Use 0.9.", gpu_memory_utilization=0.9)],
        )
        return
    gpus = case.host.gpus if case.host is not None else None
    if not gpus or case.deployment.platform == "cpu":
        return
    wanted = part if isinstance(part, float) else _default_part(case)
    short = [number for number, gpu in enumerate(gpus) if gpu.free < wanted * gpu.memory]
    if short and len(short) > len(gpus) - case.deployment.local_world_size:
        gpu = gpus[short[0]]
        yield warning(
            name,
            "memory-free-below-utilisation",
            f"GPU {in_words(short, 'and')} has less free memory than vLLM would take",
            f"GPU {short[0]} has {gib(gpu.free)} of {gib(gpu.memory)} free, and {wanted:.0%} are asked for.",
            {"free": gib(gpu.free), "total": gib(gpu.memory), "gpu_memory_utilization": wanted},
            [
                Remedy("See what holds the memory and end it.", "nvidia-smi"),
                step(
                    case,
                    "Or take less.",
                    gpu_memory_utilization=max(int(gpu.free / gpu.memory * 100) - 2, 1) / 100,
                ),
            ],
        )


def check_cpu_cache(case: Case) -> Iterator[Finding]:
    """vLLM on CPU: VLLM_CPU_KVCACHE_SPACE, in GiB, a whole number (envs.py, v1/worker/cpu_worker.py)."""
    space = case.deployment.environ("VLLM_CPU_KVCACHE_SPACE")
    if space is None:
        return
    name, inputs = "memory-cpu-cache", {"VLLM_CPU_KVCACHE_SPACE": space}
    number = whole(space)
    if number is None or number < 0:
        yield error(
            name,
            "memory-cpu-kv-space-invalid",
            f"VLLM_CPU_KVCACHE_SPACE is {space!r}, no whole number",
            "It counts GiB and takes no unit.",
            inputs,
            [Remedy("Give the number of GiB alone.", "export VLLM_CPU_KVCACHE_SPACE=4")],
        )
        return
    memory = case.host.memory if case.host is not None else None
    if case.deployment.container is not None and case.deployment.container.memory_limit:
        memory = case.deployment.container.memory_limit
    if memory is None:
        yield skipped(name, f"{number} GiB of KV cache against the memory of the host", "the host's memory (--here)")
        return
    inputs["memory"] = gib(memory)
    if number * GIB > memory:
        yield error(
            name,
            "memory-cpu-kv-space-invalid",
            f"VLLM_CPU_KVCACHE_SPACE asks for {number} GiB, and there are {gib(memory)}",
            "Each rank allocates that much main memory.",
            inputs,
            [Remedy("Ask for less than is free.", f"export VLLM_CPU_KVCACHE_SPACE={max(int(memory / GIB) // 2, 1)}")],
        )
    else:
        yield ok(name, f"{number} GiB of KV cache fit {gib(memory)}", inputs)


def check_blocks(case: Case) -> Iterator[Finding]:
    """vLLM: --num-gpu-blocks-override still has to hold one request (v1/core/kv_cache_utils.py)."""
    blocks = case.deployment.whole("num_gpu_blocks_override", 0)
    if blocks <= 0:
        return
    size = case.deployment.whole("block_size", 16)
    tokens, length = blocks * size, _length(case)
    inputs = {"num_gpu_blocks_override": blocks, "block_size": size, "max_model_len": length}
    if tokens < length and (case.model is not None or case.deployment.whole("max_model_len", 0) > 0):
        yield error(
            "memory-blocks",
            "memory-kv-blocks-override-too-small",
            f"--num-gpu-blocks-override {blocks} holds {tokens:,} tokens, and one request may have {length:,}",
            "A request of full length has to fit.",
            inputs,
            [step(case, "Leave the override out, or raise it.", num_gpu_blocks_override=-(-length // size))],
        )


def check_swap(case: Case) -> Iterator[Finding]:
    """vLLM before V1: --swap-space, in GiB of host memory for each GPU."""
    swap = case.deployment.options.get("swap_space")
    if not isinstance(swap, float) or case.host is None or case.host.memory is None:
        return
    needed = swap * GIB * case.deployment.local_world_size
    if needed > 0.7 * case.host.memory:
        yield error(
            "memory-swap",
            "memory-swap-space-too-large",
            f"--swap-space {swap:g} for {case.deployment.local_world_size} GPUs is {gib(needed)} of host memory",
            f"vLLM refuses more than 70 % of the {gib(case.host.memory)} here.",
            {"swap_space": swap},
            [step(case, "Ask for less.", swap_space=0)],
        )


def check_store_memory(case: Case) -> Iterator[Finding]:
    """Mooncake's embedded segment and buffer are allocated by every rank."""
    store = case.store
    if store is None or store.values is None:
        return
    from diagnoser.preflight.mooncake_sizes import vllm_size

    sizes = [vllm_size(store.values.get(key, 4 * GIB)) for key in ("global_segment_size", "local_buffer_size")]
    if any(size is None for size in sizes):
        return
    total = sum(size or 0 for size in sizes) * case.deployment.local_world_size
    memory = case.host.memory if case.host is not None else None
    container = case.deployment.container
    if container is not None and container.memory_limit:
        memory = container.memory_limit
    if memory is None:
        return
    inputs = {"ranks": case.deployment.local_world_size, "segments and buffers": gib(total), "memory": gib(memory)}
    if total > memory:
        yield error(
            "memory-store-segments",
            "mooncake-store-segment-allocation-failed",
            f"Mooncake segments of all ranks need {gib(total)}, and there are {gib(memory)}",
            "Every rank allocates global_segment_size and local_buffer_size.",
            inputs,
            [f"Set global_segment_size in {os.path.basename(store.path)} to a smaller size."],
        )


CHECKS = (check_fit, check_utilization, check_cpu_cache, check_blocks, check_swap, check_store_memory)
