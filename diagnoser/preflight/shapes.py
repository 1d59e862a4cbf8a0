"""Which parallel sizes a model's shape allows, as vLLM splits it.

One function per requirement, so that a check, its suggestion and the library give the same answer.
Sources: config/model.py, layers/linear.py, layers/vocab_parallel_embedding.py and fused_moe of vLLM 0.32.
"""

from __future__ import annotations

from math import gcd

from diagnoser.preflight.model_config import ModelConfig
from diagnoser.preflight.moe_config import MoEModelConfig
from diagnoser.preflight.numbers import divisors, round_up

VOCABULARY_PADDING = 64


def heads_fit(heads: int, tp: int) -> bool:
    """Every rank gets the same number of attention heads."""
    return heads % tp == 0


def kv_heads_fit(kv_heads: int, tp: int) -> bool:
    """KV heads are split when there are at least as many as ranks, and copied otherwise; both must come out whole."""
    return kv_heads % tp == 0 if kv_heads >= tp else tp % kv_heads == 0


def padded_vocabulary(size: int) -> int:
    """The vocabulary as vLLM stores it."""
    return round_up(size, VOCABULARY_PADDING)


def split_widths(moe: MoEModelConfig, model: ModelConfig, *, sequence_parallel: bool) -> dict[str, int]:
    """Inner widths that tensor parallelism cuts whatever happens to the experts, by field."""
    widths: dict[str, int] = {}
    if moe.dense_width:
        widths["intermediate_size"] = moe.dense_width
    if moe.shared_width and not sequence_parallel:
        widths["shared expert width"] = moe.shared_width
    if model.model_type == "gpt_oss" and moe.expert_width:
        widths["intermediate_size"] = moe.expert_width
    return widths


def tensor_sizes(
    model: ModelConfig, moe: MoEModelConfig, *, expert_parallel: bool = False, others: int = 1
) -> list[int]:
    """Tensor-parallel sizes that satisfy every requirement at once, smallest first.

    `others` is DP x PCP, which also cuts the experts' width without expert parallelism. Block and group sizes of
    quantized weights are part of it. Empty when the model's heads are not known.
    """
    vocabulary = padded_vocabulary(model.vocabulary) if model.vocabulary else 0
    unit = group_unit(model)
    strict = model.quantization.get("quant_method") == "compressed-tensors"
    found: list[int] = []
    for tp in divisors(model.heads or 0):
        sequence_parallel = expert_parallel and tp > 1 and others > 1
        widths = list(split_widths(moe, model, sequence_parallel=sequence_parallel).values())
        if output_width := attention_output_width(model):
            widths.append(output_width)
        cut = 1 if expert_parallel and tp * others > 1 else tp * others
        if (
            vocabulary % tp == 0
            and (model.mla or not model.kv_heads or kv_heads_fit(model.kv_heads, tp))
            and all(width % tp == 0 and (tp == 1 or (width // tp) % unit == 0) for width in widths)
            and (not moe.expert_width or expert_slice_fits(moe.expert_width, cut, unit, model.hidden or 0, strict))
        ):
            found.append(tp)
    return found


def attention_output_width(model: ModelConfig) -> int | None:
    """Inputs of the attention's output projection, which are cut over the ranks by whole heads."""
    heads, size = model.heads, model.head_dim
    return heads * size if heads and size else None


def group_unit(model: ModelConfig) -> int:
    """The block or group of quantized weights that a slice must hold whole; 1 without any."""
    quantization = model.quantization
    block = quantization.get("weight_block_size")
    if isinstance(block, list) and len(block) == 2 and all(isinstance(item, int) and item > 0 for item in block):
        return int(block[1])
    group = group_size(model)
    return group if group and group > 0 else 1


def group_size(model: ModelConfig) -> int | None:
    """Weights that share one scale, for group-quantized checkpoints; -1 means one scale per channel."""
    quantization = model.quantization
    value = quantization.get("group_size", quantization.get("q_group_size"))
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    groups = quantization.get("config_groups")
    for group in groups.values() if isinstance(groups, dict) else ():
        weights = group.get("weights") if isinstance(group, dict) else None
        size = weights.get("group_size") if isinstance(weights, dict) else None
        if isinstance(size, int) and not isinstance(size, bool):
            return size
    return None


def expert_slice_fits(width: int, ranks: int, unit: int, hidden: int, strict: bool = False) -> bool:
    """An expert's slice is whole and holds whole blocks, or (not `strict`) blocks that can be made finer."""
    if width % ranks:
        return False
    part = width // ranks
    return unit == 1 or part % unit == 0 or (not strict and refined_block(unit, unit, part, hidden) is not None)


def refined_block(block_n: int, block_k: int, part: int, hidden: int) -> int | None:
    """The finer block that vLLM (later than 0.26) uses for FP8 experts when a slice cuts a block; None without one.

    Source: refine_fp8_moe_block_shape in fused_moe/oracle/fp8.py.
    """
    finer = gcd(gcd(block_n, block_k), gcd(part, hidden))
    return finer if finer >= 32 else None


def experts_per_rank(experts: int, ranks: int) -> list[int]:
    """How many experts each rank holds: the first ranks hold one more when the split is uneven."""
    base, more = divmod(experts, ranks)
    return [base + 1] * more + [base] * (ranks - more)


def split_in_words(experts: int, ranks: int) -> str:
    """`86, 85 and 85`, or `32 on each of 8 ranks`."""
    base, more = divmod(experts, ranks)
    if not more:
        return f"{base} on each of {ranks} ranks"
    if ranks <= 8:
        counts = experts_per_rank(experts, ranks)
        return f"{', '.join(map(str, counts[:-1]))} and {counts[-1]}"
    return f"{base + 1} on {more} ranks and {base} on {ranks - more}"
