"""Random shapes: the checks agree with a direct model of vLLM's rules, and the expert map is a bijection."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

import pytest
from hypothesis import given
from hypothesis import strategies as st
from preflight_models import case_of, findings_of, rules_of

from diagnoser.errors import PreflightError
from diagnoser.preflight import check_moe_worker_invariants, expert_owner, safe_expert_dispatch
from diagnoser.preflight.model_config import ModelConfig
from diagnoser.preflight.moe_config import moe_of
from diagnoser.preflight.shapes import experts_per_rank, tensor_sizes


@dataclass
class Shape:
    """A model and a launch, and what vLLM does with them."""

    heads: int
    kv_heads: int
    head_dim: int
    hidden: int
    width: int
    dense: int
    experts: int
    vocabulary: int
    tp: int
    dp: int
    expert_parallel: bool
    eplb: bool
    redundant: int
    block: int

    @property
    def config(self):
        config = {
            "model_type": "glm4_moe",
            "hidden_size": self.hidden,
            "num_hidden_layers": 4,
            "num_attention_heads": self.heads,
            "num_key_value_heads": self.kv_heads,
            "head_dim": self.head_dim,
            "intermediate_size": self.dense,
            "moe_intermediate_size": self.width,
            "n_routed_experts": self.experts,
            "num_experts_per_tok": 1,
            "first_k_dense_replace": 1,
            "vocab_size": self.vocabulary,
        }
        if self.block:
            config["quantization_config"] = {"quant_method": "fp8", "weight_block_size": [self.block, self.block]}
        return config

    @property
    def launch(self):
        words = [f"-tp {self.tp} -dp {self.dp}"]
        if self.expert_parallel:
            words.append("--enable-expert-parallel")
        if self.eplb:
            words.append("--enable-eplb")
        if self.redundant:
            words.append(f"--eplb-config.num_redundant_experts {self.redundant}")
        return " ".join(words)


def what_vllm_refuses(shape: Shape) -> set[str]:
    """Written from vLLM's own statements, one `if` for each assertion or raise."""
    refused = set()
    tp, dp = shape.tp, shape.dp
    if shape.heads % tp != 0:  # config/model.py
        refused.add("parallel-attention-heads-not-divisible")
    if (shape.kv_heads >= tp and shape.kv_heads % tp != 0) or (shape.kv_heads < tp and tp % shape.kv_heads != 0):
        refused.add("parallel-kv-heads-not-divisible")  # the model file
    if ((shape.vocabulary + 63) // 64 * 64) % tp != 0:  # vocab_parallel_embedding.py
        refused.add("parallel-vocabulary-not-divisible")
    if shape.dense % tp != 0:  # linear.py, divide()
        refused.add("parallel-intermediate-not-divisible")
    flat = tp * dp
    ep = flat if shape.expert_parallel else 1
    moe_tp = flat if ep == 1 else 1
    if shape.width % moe_tp != 0:  # FusedMoEConfig
        refused.add("moe-intermediate-not-divisible")
    if shape.eplb and (not shape.expert_parallel or flat <= 1):  # config/parallel.py
        refused.add("moe-eplb-configuration-invalid")
    if not shape.eplb and shape.redundant:
        refused.add("moe-eplb-configuration-invalid")
    if shape.eplb and shape.expert_parallel and flat > 1 and (shape.experts + shape.redundant) % ep != 0:
        refused.add("moe-eplb-experts-not-divisible")  # fused_moe/layer.py
    if shape.block:
        rows = [shape.dense, shape.heads * shape.head_dim]
        if tp > 1 and any(row % tp == 0 and (row // tp) % shape.block for row in rows):
            refused.add("quantization-fp8-block-linear")  # validate_fp8_block_shape
        if shape.width % moe_tp == 0:
            part = shape.width // moe_tp
            cut = part % shape.block != 0
            if cut and gcd(gcd(shape.block, shape.block), gcd(part, shape.hidden)) < 32:
                refused.add("quantization-fp8-block-moe-width")  # oracle/fp8.py
    return refused


shapes = st.builds(
    Shape,
    heads=st.sampled_from([1, 2, 3, 4, 6, 8, 12, 16, 20, 28, 32, 40, 48, 64, 96, 128]),
    kv_heads=st.sampled_from([1, 2, 3, 4, 5, 8, 16]),
    head_dim=st.sampled_from([32, 64, 80, 128]),
    hidden=st.sampled_from([512, 2048, 2880, 3072, 4096, 7168]),
    width=st.sampled_from([32, 96, 192, 512, 768, 1408, 1536, 2048, 2880]),
    dense=st.sampled_from([256, 257, 1024, 5632, 10944, 12288, 18432]),
    experts=st.integers(1, 260),
    vocabulary=st.integers(1, 200_000),
    tp=st.integers(1, 16),
    dp=st.integers(1, 5),
    expert_parallel=st.booleans(),
    eplb=st.booleans(),
    redundant=st.integers(0, 40),
    block=st.sampled_from([0, 0, 64, 128]),
)


@given(shapes)
def test_the_checks_refuse_what_vllm_refuses_and_nothing_else(shape):
    found = findings_of(case_of(shape.config, shape.launch), "parallel", "moe", "quantization")

    assert rules_of(found) == what_vllm_refuses(shape)


@given(shapes)
def test_every_suggested_size_is_one_that_vllm_takes(shape):
    model = ModelConfig.of(shape.config)
    sizes = tensor_sizes(model, moe_of(model), expert_parallel=shape.expert_parallel, others=shape.dp)

    for size in sizes:
        shape.tp = size
        about_size = {rule for rule in what_vllm_refuses(shape) if "eplb" not in rule}
        assert about_size == set()


@given(shapes)
def test_a_size_that_is_not_suggested_is_refused(shape):
    model = ModelConfig.of(shape.config)
    sizes = tensor_sizes(model, moe_of(model), expert_parallel=shape.expert_parallel, others=shape.dp)

    if shape.tp not in sizes:
        assert what_vllm_refuses(shape)


experts = st.integers(1, 400)
ranks = st.integers(1, 70)
placements = st.sampled_from(["linear", "round_robin"])


def expert_maps(number: int, size: int, placement: str) -> list[list[int]]:
    """vLLM's maps of all ranks, built as determine_expert_map builds them."""
    base, more = divmod(number, size)
    maps = []
    for rank in range(size):
        here = base + 1 if rank < more else base
        owned = (
            range(rank, number, size) if placement == "round_robin" else range(rank * base + min(rank, more), number)
        )
        table = [-1] * number
        for place, expert in enumerate(list(owned)[:here]):
            table[expert] = place
        maps.append(table)
    return maps


@given(experts, ranks, placements)
def test_the_owner_of_every_expert_is_the_one_in_vllms_maps(number, size, placement):
    maps = expert_maps(number, size, placement)

    for expert in range(number):
        rank, place = expert_owner(expert, number, size, placement)
        assert maps[rank][expert] == place
        assert [table[expert] for table in maps].count(-1) == size - 1


@given(experts, ranks, placements)
def test_experts_and_places_are_a_bijection(number, size, placement):
    owners = [expert_owner(expert, number, size, placement) for expert in range(number)]

    held = [[place for rank, place in owners if rank == wanted] for wanted in range(size)]
    assert len(set(owners)) == number
    assert [sorted(places) for places in held] == [list(range(count)) for count in experts_per_rank(number, size)]


@given(experts, ranks, placements, st.data())
def test_a_workers_own_map_passes_and_any_other_is_refused(number, size, placement, data):
    rank = data.draw(st.integers(0, size - 1))
    table = expert_maps(number, size, placement)[rank]
    local = sum(place >= 0 for place in table)

    check_moe_worker_invariants(
        number, ep_size=size, rank=rank, placement=placement, local_experts=local, expert_map=table
    )

    spoilt = list(table)
    at = data.draw(st.integers(0, number - 1))
    spoilt[at] += 1
    with pytest.raises(PreflightError):
        check_moe_worker_invariants(number, ep_size=size, rank=rank, placement=placement, expert_map=spoilt)


def test_folding_ids_into_range_would_be_wrong_for_most_pairs():
    """The figure of the module's text: 256 experts on 8 ranks."""
    wrong = sum(safe_expert_dispatch(expert, 256, 8, rank) != expert % 32 for rank in range(8) for expert in range(256))

    assert wrong == 1792
