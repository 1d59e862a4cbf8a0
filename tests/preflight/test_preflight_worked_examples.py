"""Verdicts for real model families, worked out by hand from vLLM's rules."""

import pytest
from preflight_models import (
    DEEPSEEK_V3,
    DEEPSEEK_V4_FLASH,
    ERNIE_21B,
    GLM45_AIR,
    GPT_OSS,
    KIMI_K2,
    LLAMA4_SCOUT,
    MINIMAX_M2,
    MIXTRAL,
    QWEN2_57B,
    QWEN3_30B,
    QWEN3_235B,
    QWEN3_NEXT,
    QWEN15_MOE,
    case_of,
    findings_of,
    int4,
    rules_of,
    with_fp8,
)

from diagnoser.preflight.host import Host

SUBJECTS = ("parallel", "moe", "quantization")
HEADS = "parallel-attention-heads-not-divisible"
KV_HEADS = "parallel-kv-heads-not-divisible"
VOCABULARY = "parallel-vocabulary-not-divisible"
EPLB = "moe-eplb-experts-not-divisible"
WIDTH = "moe-intermediate-not-divisible"
LINEAR_BLOCK = "quantization-fp8-block-linear"
EXPERT_BLOCK = "quantization-fp8-block-moe-width"
GROUP = "quantization-moe-group-vs-tp"


def verdict(config, launch, **changes):
    """Rules of errors and of warnings, without the one for unknown GPUs."""
    found = findings_of(case_of(config, launch, **changes), *SUBJECTS)
    return rules_of(found), rules_of(found, "warning")


V3, V4, K2 = with_fp8(DEEPSEEK_V3), with_fp8(DEEPSEEK_V4_FLASH), with_fp8(KIMI_K2)
FINE = [
    ("deepseek-v3 tp8", V3, "-tp 8"),
    ("deepseek-v3 tp16", V3, "-tp 16"),
    ("deepseek-v3 dp3 ep", V3, "-dp 3 --enable-expert-parallel"),
    (
        "deepseek-v3 eplb 32",
        V3,
        "-tp 8 -dp 2 --enable-expert-parallel --enable-eplb --eplb-config.num_redundant_experts 32",
    ),
    ("deepseek-v4 tp8", V4, "-tp 8"),
    ("deepseek-v4 dp3 ep", V4, "-dp 3 --enable-expert-parallel"),
    ("kimi-k2 tp16", K2, "-tp 16"),
    ("kimi-k2 dp10 ep", K2, "-dp 10 --enable-expert-parallel"),
    ("qwen3-30b tp8", QWEN3_30B, "-tp 8"),
    ("qwen3-30b tp16", QWEN3_30B, "-tp 16"),
    ("qwen3-30b fp8 tp16 ep", with_fp8(QWEN3_30B), "-tp 16 --enable-expert-parallel"),
    ("qwen3-30b awq tp4", {**QWEN3_30B, "quantization_config": int4(method="awq")}, "-tp 4"),
    ("qwen1.5-moe tp8", QWEN15_MOE, "-tp 8"),
    ("qwen1.5-moe tp8 ep", QWEN15_MOE, "-tp 8 --enable-expert-parallel"),
    ("qwen2-57b tp4", QWEN2_57B, "-tp 4"),
    ("qwen3-next tp8", QWEN3_NEXT, "-tp 8"),
    ("qwen3-next fp8 tp4", with_fp8(QWEN3_NEXT), "-tp 4"),
    ("mixtral tp8", MIXTRAL, "-tp 8"),
    ("mixtral tp16", MIXTRAL, "-tp 16"),
    ("mixtral tp8 ep", MIXTRAL, "-tp 8 --enable-expert-parallel"),
    ("mixtral awq tp16", {**MIXTRAL, "quantization_config": int4(method="awq")}, "-tp 16"),
    ("gpt-oss tp8", GPT_OSS, "-tp 8"),
    ("gpt-oss tp16", GPT_OSS, "-tp 16"),
    ("gpt-oss tp8 ep", GPT_OSS, "-tp 8 --enable-expert-parallel"),
    ("glm-4.5-air tp8", GLM45_AIR, "-tp 8"),
    ("glm-4.5-air tp16", GLM45_AIR, "-tp 16"),
    ("glm-4.5-air tp32", GLM45_AIR, "-tp 32"),
    ("minimax-m2 fp8 tp4", with_fp8(MINIMAX_M2), "-tp 4"),
    ("minimax-m2 fp8 tp8 ep", with_fp8(MINIMAX_M2), "-tp 8 --enable-expert-parallel"),
    ("ernie tp4", ERNIE_21B, "-tp 4"),
    ("ernie dp5 ep", ERNIE_21B, "-dp 5 --enable-expert-parallel"),
    ("llama-4 scout tp8", LLAMA4_SCOUT, "-tp 8"),
    ("llama-4 scout tp8 dp2 ep", LLAMA4_SCOUT, "-tp 8 -dp 2 --enable-expert-parallel"),
]


@pytest.mark.parametrize(("config", "launch"), [row[1:] for row in FINE], ids=[row[0] for row in FINE])
def test_a_deployment_that_works_has_neither_errors_nor_warnings(config, launch):
    assert verdict(config, launch) == (set(), set())


ERRORS = [
    ("deepseek-v3 tp32", V3, "-tp 32", {LINEAR_BLOCK}),
    ("deepseek-v3 tp3", V3, "-tp 3", {HEADS}),
    ("deepseek-v3 dp3 eplb", V3, "-dp 3 --enable-expert-parallel --enable-eplb", {EPLB}),
    ("deepseek-v4 tp3", V4, "-tp 3", {HEADS}),
    (
        "deepseek-v4 mega-moe dp3",
        V4,
        "-dp 3 --enable-expert-parallel --moe-backend deep_gemm_mega_moe",
        {"moe-physical-experts-not-divisible"},
    ),
    ("kimi-k2 tp5", K2, "-tp 5", {HEADS}),
    ("kimi-k2 dp10 eplb", K2, "-dp 10 --enable-expert-parallel --enable-eplb", {EPLB}),
    ("qwen3-30b tp6", QWEN3_30B, "-tp 6", {HEADS}),
    ("qwen3-30b fp8 tp16", with_fp8(QWEN3_30B), "-tp 16", {EXPERT_BLOCK}),
    ("qwen3-30b int4 tp4", {**QWEN3_30B, "quantization_config": int4()}, "-tp 4", {GROUP}),
    ("qwen1.5-moe tp8 eplb", QWEN15_MOE, "-tp 8 --enable-expert-parallel --enable-eplb", {EPLB}),
    ("qwen1.5-moe tp3", QWEN15_MOE, "-tp 3", {HEADS}),
    ("qwen2-57b tp8", QWEN2_57B, "-tp 8", {HEADS}),
    ("qwen2-57b tp7", QWEN2_57B, "-tp 7", {KV_HEADS, VOCABULARY}),
    ("qwen3-next fp8 tp8", with_fp8(QWEN3_NEXT), "-tp 8", {LINEAR_BLOCK}),
    ("qwen3-next fp8 tp8 ep", with_fp8(QWEN3_NEXT), "-tp 8 --enable-expert-parallel", {LINEAR_BLOCK}),
    ("qwen3-next tp32", QWEN3_NEXT, "-tp 32", {HEADS}),
    ("mixtral tp6", MIXTRAL, "-tp 6", {HEADS}),
    ("gpt-oss tp3", GPT_OSS, "-tp 3", {HEADS}),
    ("gpt-oss tp7", GPT_OSS, "-tp 7", {HEADS}),
    ("glm-4.5-air tp3", GLM45_AIR, "-tp 3", {KV_HEADS, VOCABULARY}),
    ("glm-4.5-air tp6", GLM45_AIR, "-tp 6", {KV_HEADS, VOCABULARY}),
    ("glm-4.5-air tp12", GLM45_AIR, "-tp 12", {KV_HEADS, VOCABULARY}),
    ("glm-4.5-air fp8 tp2", with_fp8(GLM45_AIR), "-tp 2", {LINEAR_BLOCK}),
    ("glm-4.5-air int4 tp8", {**GLM45_AIR, "quantization_config": int4()}, "-tp 8", {GROUP}),
    ("minimax-m2 tp6", MINIMAX_M2, "-tp 6", {KV_HEADS}),
    ("minimax-m2 tp12", MINIMAX_M2, "-tp 12", {KV_HEADS}),
    ("ernie tp5", ERNIE_21B, "-tp 5", {KV_HEADS, VOCABULARY}),
    ("ernie tp10", ERNIE_21B, "-tp 10", {KV_HEADS, VOCABULARY}),
    ("ernie dp5 without ep", ERNIE_21B, "-dp 5", {WIDTH}),
    ("llama-4 scout tp16", LLAMA4_SCOUT, "-tp 16", {HEADS}),
    ("llama-4 scout tp5", LLAMA4_SCOUT, "-tp 5", {KV_HEADS, VOCABULARY}),
]


@pytest.mark.parametrize(("config", "launch", "expected"), [row[1:] for row in ERRORS], ids=[row[0] for row in ERRORS])
def test_a_deployment_that_fails_is_refused_with_the_rule_of_its_crash(config, launch, expected):
    errors, _ = verdict(config, launch)

    assert expected <= errors
    # Beside the named rules only widths may be reported, which fail later than these.
    assert errors - expected <= {
        "parallel-intermediate-not-divisible",
        "quantization-group-size-vs-tp",
        VOCABULARY,
        KV_HEADS,
        WIDTH,
        LINEAR_BLOCK,
        EXPERT_BLOCK,
    }


WARNINGS = [
    ("deepseek-v3 tp8 dp4", V3, "-tp 8 -dp 4", EXPERT_BLOCK),
    ("qwen3-30b fp8 tp4", with_fp8(QWEN3_30B), "-tp 4", EXPERT_BLOCK),
    ("qwen3-30b fp8 tp8", with_fp8(QWEN3_30B), "-tp 8", EXPERT_BLOCK),
    ("qwen3-235b fp8 tp8", with_fp8(QWEN3_235B), "-tp 8", EXPERT_BLOCK),
    ("minimax-m2 fp8 tp8", with_fp8(MINIMAX_M2), "-tp 8", EXPERT_BLOCK),
    ("minimax-m2 fp8 tp16", with_fp8(MINIMAX_M2), "-tp 16", EXPERT_BLOCK),
    ("mixtral tp8 dp2 ep", MIXTRAL, "-tp 8 -dp 2 --enable-expert-parallel", None),
]


@pytest.mark.parametrize(
    ("config", "launch", "expected"), [row[1:] for row in WARNINGS], ids=[row[0] for row in WARNINGS]
)
def test_a_deployment_that_works_with_a_drawback_is_warned_of(config, launch, expected):
    assert verdict(config, launch) == (set(), {expected})


@pytest.mark.parametrize("config", [with_fp8(QWEN3_30B), with_fp8(MINIMAX_M2)])
def test_releases_up_to_0_26_refuse_what_later_ones_refine(config):
    errors, _ = verdict(config, "-tp 8", vllm_version="0.26.0")

    assert EXPERT_BLOCK in errors


def test_compressed_tensors_does_not_refine_blocks():
    config = {
        **QWEN3_30B,
        "quantization_config": {"quant_method": "compressed-tensors", "weight_block_size": [128, 128]},
    }

    assert EXPERT_BLOCK in verdict(config, "-tp 4")[0]


def test_a_shared_expert_that_is_not_quantized_may_be_cut_anywhere():
    config = {**QWEN3_NEXT, "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}
    config["quantization_config"] |= {"modules_to_not_convert": ["model.layers.0.mlp.shared_expert"]}

    assert LINEAR_BLOCK not in verdict(config, "-tp 8")[0]


@pytest.mark.parametrize(
    ("config", "ranks", "copies"),
    [(V3, "-dp 3", 2), (K2, "-dp 10", 6), (QWEN15_MOE, "-tp 8", 4), (ERNIE_21B, "-dp 5", 1), (V4, "-dp 3", 2)],
)
def test_eplb_is_told_how_many_copies_make_it_even(config, ranks, copies):
    launch = f"{ranks} --enable-expert-parallel --enable-eplb"
    found = [finding for finding in findings_of(case_of(config, launch), "moe") if finding.rule == EPLB]

    assert found[0].suggestions[0].run == f"--eplb-config '{{\"num_redundant_experts\": {copies}}}'"

    fixed = f"{launch} --eplb-config.num_redundant_experts {copies}"
    assert rules_of(findings_of(case_of(config, fixed), "moe")) == set()


def test_uneven_experts_are_legal_and_said_so():
    found = findings_of(case_of(V3, "-dp 3 --enable-expert-parallel"), "moe")

    titles = [finding.title for finding in found if finding.check == "moe-expert-parallel"]
    assert titles == ["256 experts over 3 ranks: 86, 85 and 85 (uneven is legal without EPLB)"]


@pytest.mark.parametrize("platform", ["rocm", "cpu", "xpu"])
def test_deepseek_v4_needs_an_even_split_away_from_cuda(platform):
    config = {**DEEPSEEK_V4_FLASH, "num_attention_heads": 96}

    assert "moe-physical-experts-not-divisible" in verdict(config, "-tp 3", platform=platform)[0]
    assert "moe-physical-experts-not-divisible" not in verdict(config, "-tp 3", platform="cuda")[0]


def test_the_claims_of_articles_are_warnings_for_a_generic_engine_and_silent_for_vllm():
    case = case_of({**QWEN15_MOE, "expert_group_size": 8}, "-tp 8")

    assert verdict(QWEN15_MOE, "-tp 8") == (set(), set())
    assert rules_of(findings_of(case._replace(engine="generic"), "moe"), "warning") == {
        "moe-experts-not-divisible-claim",
        "moe-local-experts-group-size-claim",
    }


def test_a_text_that_divides_the_experts_is_no_substitute_for_the_heads():
    """64 experts divide by 8, and the 28 heads of this model do not."""
    assert HEADS in verdict(QWEN2_57B, "-tp 8")[0]


def test_suggested_sizes_pass_every_check():
    for config in (V3, V4, K2, QWEN2_57B, with_fp8(QWEN3_NEXT), GLM45_AIR, ERNIE_21B, MIXTRAL, GPT_OSS):
        found = findings_of(case_of(config, "-tp 7"), "parallel")
        steps = [finding.suggestions[0].run for finding in found if finding.suggestions]
        size = int(steps[0].rpartition(" ")[2]) if "--tensor-parallel-size" in steps[0] else 1

        assert verdict(config, f"-tp {size}")[0] == set()


@pytest.mark.parametrize(
    ("launch", "expected"),
    [("-tp 8", set()), ("-tp 4 -dp 3", {"moe-deepep-limits"}), ("-tp 8 -dp 2", set())],
)
def test_deepep_takes_whole_nodes(launch, expected):
    backend = "--enable-expert-parallel --all2all-backend deepep_high_throughput"
    config = {**QWEN3_30B, "num_attention_heads": 96, "num_experts": 96}

    assert rules_of(findings_of(case_of(config, f"{launch} {backend}"), "moe-backends")) == expected


def test_the_package_of_a_backend_is_looked_for_on_the_serving_machine():
    case = case_of(QWEN3_30B, "-tp 8 --enable-expert-parallel --all2all-backend deepep_low_latency")

    assert rules_of(findings_of(case._replace(host=Host()), "moe-backends")) == {"moe-all2all-package-missing"}
    assert rules_of(findings_of(case._replace(host=Host(modules=("deep_ep",))), "moe-backends")) == set()
