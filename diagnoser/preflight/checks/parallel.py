"""Tensor, pipeline and context parallel sizes against the model's shape and the visible devices."""

from __future__ import annotations

from collections.abc import Iterator

from diagnoser.model import Finding, Remedy
from diagnoser.preflight.case import Case, step
from diagnoser.preflight.findings import error, ok, skipped
from diagnoser.preflight.numbers import divisors, in_words
from diagnoser.preflight.shapes import (
    heads_fit,
    kv_heads_fit,
    padded_vocabulary,
    split_widths,
    tensor_sizes,
)


def tensor_steps(case: Case) -> list[Remedy]:
    """Tensor-parallel sizes that fit, and what to do with the other GPUs."""
    if case.model is None or case.moe is None:
        return []
    deployment = case.deployment
    sizes = tensor_sizes(
        case.model, case.moe, expert_parallel=deployment.expert_parallel, others=deployment.dp * deployment.pcp
    )
    if not sizes:
        return []
    best = max((size for size in sizes if size <= deployment.tp), default=sizes[0])
    steps = [
        step(
            case,
            f"--tensor-parallel-size {in_words(sizes)} would work; {best} is the largest that needs no more GPUs.",
            tensor_parallel_size=best,
        )
    ]
    rest = deployment.tp // best
    if rest > 1 and deployment.tp % best == 0 and case.model.layers and rest * deployment.pp <= case.model.layers:
        stages = rest * deployment.pp
        steps.append(
            step(
                case,
                f"To use all GPUs, split the layers as well: {best} x {stages} pipeline stages.",
                tensor_parallel_size=best,
                pipeline_parallel_size=stages,
            )
        )
    return steps


def check_attention_heads(case: Case) -> Iterator[Finding]:
    """vLLM: config/model.py, verify_with_parallel_config; the first of all shape checks."""
    name, tp = "parallel-attention-heads", case.deployment.tp
    if case.model is None:
        yield skipped(name, "Attention heads against the tensor-parallel size", case.model_missing)
        return
    heads = case.model.heads
    if not heads:
        yield skipped(name, "Attention heads against the tensor-parallel size", "num_attention_heads in config.json")
        return
    inputs = {"num_attention_heads": heads, **case.deployment.parallel_inputs}
    if heads_fit(heads, tp):
        yield ok(name, f"{heads} attention heads divide over TP {tp}", inputs)
        return
    yield error(
        name,
        "parallel-attention-heads-not-divisible",
        f"{heads} attention heads do not divide over {tp} tensor-parallel ranks",
        f"Every rank has to hold the same number of heads. The heads divide over {in_words(divisors(heads))} ranks; "
        f"{tp} is not one of them, and vLLM refuses this before it loads anything.",
        inputs,
        tensor_steps(case),
    )


def check_kv_heads(case: Case) -> Iterator[Finding]:
    """vLLM: the assertions in most model files and `divide` in layers/linear.py."""
    name, model, tp = "parallel-kv-heads", case.model, case.deployment.tp
    if model is None:
        yield skipped(name, "KV heads against the tensor-parallel size", case.model_missing)
        return
    if model.mla and case.deployment.environ("VLLM_MLA_DISABLE") not in ("1", "true"):
        yield ok(name, "Compressed attention (MLA) keeps one KV head on every rank", {"kv_lora_rank": "set"})
        return
    kv = model.kv_heads
    if not kv:
        yield skipped(name, "KV heads against the tensor-parallel size", "num_key_value_heads in config.json")
        return
    inputs = {"num_key_value_heads": kv, **case.deployment.parallel_inputs}
    if kv_heads_fit(kv, tp):
        how = f"{kv // tp} on each rank" if kv >= tp else f"each copied to {tp // kv} ranks"
        yield ok(name, f"{kv} KV heads fit TP {tp}: {how}", inputs)
        return
    yield error(
        name,
        "parallel-kv-heads-not-divisible",
        f"{kv} KV heads do not fit {tp} tensor-parallel ranks",
        f"KV heads are split while there are at least as many as ranks, and copied when there are fewer. {tp} neither "
        f"divides {kv} nor is it a multiple. vLLM stops with an assertion that has no text.",
        inputs,
        tensor_steps(case),
    )


def check_vocabulary(case: Case) -> Iterator[Finding]:
    """vLLM: layers/vocab_parallel_embedding.py."""
    name, tp = "parallel-vocabulary", case.deployment.tp
    if case.model is None or not case.model.vocabulary:
        missing = case.model_missing if case.model is None else "vocab_size in config.json"
        yield skipped(name, "Vocabulary against the tensor-parallel size", missing)
        return
    size = case.model.vocabulary
    padded = padded_vocabulary(size)
    inputs = {"vocab_size": size, "padded": padded, **case.deployment.parallel_inputs}
    if padded % tp == 0:
        yield ok(name, f"The vocabulary, padded to {padded}, divides over TP {tp}", inputs)
        return
    yield error(
        name,
        "parallel-vocabulary-not-divisible",
        f"The vocabulary, padded to {padded}, does not divide over {tp} ranks",
        f"vLLM pads the {size} tokens to a multiple of 64 and then needs that number to divide. Powers of two up to 64 "
        "always do.",
        inputs,
        tensor_steps(case),
    )


def check_widths(case: Case) -> Iterator[Finding]:
    """vLLM: `divide` and the assertion in layers/linear.py. Expert parallelism does not change it."""
    name, tp = "parallel-width", case.deployment.tp
    if case.model is None or case.moe is None:
        yield skipped(name, "Layer widths against the tensor-parallel size", case.model_missing)
        return
    deployment = case.deployment
    shared = deployment.expert_parallel and tp > 1 and deployment.dp > 1
    widths = split_widths(case.moe, case.model, sequence_parallel=shared)
    inputs = {**widths, **deployment.parallel_inputs}
    odd = {field: width for field, width in widths.items() if width % tp}
    if not odd:
        if widths:
            yield ok(name, f"Layer widths divide over TP {tp}", inputs)
        return
    text = " and ".join(f"{field} {width}" for field, width in odd.items())
    more = " Expert parallelism does not help: it moves routed experts only." if deployment.expert_parallel else ""
    yield error(
        name,
        "parallel-intermediate-not-divisible",
        f"{text} does not divide over {tp} ranks",
        f"Dense layers and shared experts are cut into {tp} equal slices, so their width has to be a multiple of {tp}."
        f"{more} vLLM stops with a bare assertion.",
        inputs,
        tensor_steps(case),
    )


def check_pipeline(case: Case) -> Iterator[Finding]:
    """vLLM: distributed/utils.py, get_pp_indices."""
    name, pp = "parallel-pipeline", case.deployment.pp
    partition = case.deployment.environ("VLLM_PP_LAYER_PARTITION")
    if pp == 1 and not partition:
        return
    if case.model is None or not case.model.layers:
        missing = case.model_missing if case.model is None else "num_hidden_layers in config.json"
        yield skipped(name, "Layers against the pipeline stages", missing)
        return
    layers = case.model.layers
    inputs = {"num_hidden_layers": layers, "VLLM_PP_LAYER_PARTITION": partition, **case.deployment.parallel_inputs}
    if partition:
        yield _partition(name, partition, layers, pp, inputs)
    if pp > layers:
        yield error(
            name,
            "parallel-pipeline-more-stages-than-layers",
            f"{pp} pipeline stages for {layers} layers",
            "A stage without a layer can't work.",
            inputs,
            [step(case, f"Use at most {layers} stages.", pipeline_parallel_size=layers)],
        )
    elif not partition:
        yield ok(name, f"{layers} layers over {pp} stages", inputs, "An uneven split is allowed.")


def _partition(name: str, partition: str, layers: int, pp: int, inputs: dict[str, object]) -> Finding:
    parts = partition.split(",")
    try:
        numbers = [int(part) for part in parts]
    except ValueError:
        numbers = []
    if not numbers:
        problem = "is no list of whole numbers"
    elif len(numbers) != pp:
        problem = f"has {len(numbers)} entries for {pp} stages"
    elif sum(numbers) != layers:
        problem = f"adds up to {sum(numbers)}, and the model has {layers} layers"
    else:
        return ok(name, f"VLLM_PP_LAYER_PARTITION fits {layers} layers and {pp} stages", inputs)
    base, more = divmod(layers, pp)
    even = ",".join(str(base + (1 if stage >= pp - more else 0)) for stage in range(pp))
    return error(
        name,
        "parallel-pipeline-partition-invalid",
        f"VLLM_PP_LAYER_PARTITION {problem}",
        "It needs one number per stage, and they have to add up to the model's layers.",
        inputs,
        [
            Remedy("Give one number per stage.", f"export VLLM_PP_LAYER_PARTITION={even}"),
            Remedy("Or leave the split to vLLM.", "unset VLLM_PP_LAYER_PARTITION"),
        ],
    )


CHECKS = (
    check_attention_heads,
    check_kv_heads,
    check_vocabulary,
    check_widths,
    check_pipeline,
)
