"""The memory estimate against figures that real logs print, and what the checks make of it.

The figures come from public issue reports and from lab runs; only the numbers were taken.
"""

import pytest
from preflight_models import LLAMA_8B, QWEN3_30B, QWEN3_235B, case_of, findings_of, rules_of, with_fp8

from diagnoser.preflight.estimate import REST_ERROR, TOKEN_ERROR, WEIGHT_ERROR, estimate
from diagnoser.preflight.host import Host
from diagnoser.preflight.launch import parse_arguments
from diagnoser.preflight.model_config import ModelConfig
from diagnoser.preflight.moe_config import moe_of
from diagnoser.preflight.numbers import GIB, MIB
from diagnoser.preflight.nvidia import Gpu

LLAMA_70B_W8A8 = {
    **LLAMA_8B,
    "hidden_size": 8192,
    "num_hidden_layers": 80,
    "num_attention_heads": 64,
    "intermediate_size": 28672,
    "quantization_config": {
        "quant_method": "compressed-tensors",
        "config_groups": {"group_0": {"weights": {"num_bits": 8, "strategy": "channel"}}},
        "ignore": ["lm_head"],
    },
}
LLAMA_405B_FP8 = {
    **LLAMA_8B,
    "hidden_size": 16384,
    "num_hidden_layers": 126,
    "num_attention_heads": 128,
    "intermediate_size": 53248,
    "quantization_config": {
        "quant_method": "fbgemm_fp8",
        "modules_to_not_convert": [
            "lm_head",
            *(f"model.layers.{layer}.self_attn.{part}_proj" for layer in range(126) for part in "qkvo"),
            *(f"model.layers.{layer}.mlp.{part}_proj" for layer in (0, 125) for part in ("gate", "up", "down")),
        ],
    },
}
QWEN3_8B = {
    "model_type": "qwen3",
    "hidden_size": 4096,
    "num_hidden_layers": 36,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "intermediate_size": 12288,
    "vocab_size": 151936,
    "torch_dtype": "bfloat16",
    "tie_word_embeddings": False,
}
OPT_125M = {
    "model_type": "opt",
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "ffn_dim": 3072,
    "vocab_size": 50272,
    "max_position_embeddings": 2048,
    "torch_dtype": "float16",
}
TINY = {
    "model_type": "llama",
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 128,
    "vocab_size": 512,
}


def estimated(config, launch=""):
    model = ModelConfig.of(config)
    found = estimate(model, moe_of(model), parse_arguments(["m", *launch.split()], "the test"))
    assert found is not None
    return found


WEIGHTS = [
    ("Llama-3.1-8B", LLAMA_8B, "", 14.9888 * GIB),
    ("Llama-3-8B, TP 1", LLAMA_8B, "", 14.96 * GIB),
    ("Llama-3-8B, TP 2", LLAMA_8B, "-tp 2", 7.48 * GIB),
    ("Llama-3.1-70B W8A8", LLAMA_70B_W8A8, "", 67.7229 * GIB),
    ("Llama-3.1-405B FP8, TP 8", LLAMA_405B_FP8, "-tp 8", 57.7520 * GIB),
    ("Qwen3-8B", QWEN3_8B, "", 15.27 * GIB),
    ("OPT-125M", OPT_125M, "", 244.61 * MIB),
]


@pytest.mark.parametrize(("config", "launch", "printed"), [row[1:] for row in WEIGHTS], ids=[row[0] for row in WEIGHTS])
def test_weights_are_within_the_stated_error_of_what_logs_print(config, launch, printed):
    assert estimated(config, launch).weights == pytest.approx(printed, rel=WEIGHT_ERROR)


CACHES = [
    ("Llama-3.1-8B, 1,952 blocks", LLAMA_8B, "", 3.81 * GIB, 31_232),
    ("Llama-3.1-8B, 1,478 blocks", LLAMA_8B, "", 2.89 * GIB, 23_648),
    ("Qwen3-235B-A22B, TP 4", with_fp8(QWEN3_235B), "-tp 4", 8.11 * GIB, 178_880),
    ("Qwen3-Coder-30B-A3B, whole context", QWEN3_30B, "", 24.0 * GIB, 262_144),
    ("Qwen3-Coder-30B-A3B, longest that fits", QWEN3_30B, "", 3.18 * GIB, 34_736),
    ("Qwen3-8B", QWEN3_8B, "", 89_040 * 147_456, 89_040),
]


@pytest.mark.parametrize(
    ("config", "launch", "memory", "tokens"), [row[1:] for row in CACHES], ids=[row[0] for row in CACHES]
)
def test_cache_per_token_is_within_the_stated_error_of_what_logs_print(config, launch, memory, tokens):
    assert estimated(config, launch).cache_per_token == pytest.approx(memory / tokens, rel=TOKEN_ERROR)


RESTS = [
    ("Llama-3-8B, 80 GB", LLAMA_8B, "--max-num-batched-tokens 8192", 79.22, 0.9, 53.29),
    ("Qwen3-8B, 32 GB", QWEN3_8B, "", 32607 / 1024, 0.92, 12.23),
    ("Llama-3.1-8B, 24 GB, 20k", LLAMA_8B, "--max-num-batched-tokens 20000", 23.58, 0.9, 3.81),
    ("Llama-3.1-8B, 24 GB, 29k", LLAMA_8B, "--max-num-batched-tokens 29000", 23.58, 0.9, 2.89),
]


@pytest.mark.parametrize(
    ("config", "launch", "memory", "part", "printed"), [row[1:] for row in RESTS], ids=[row[0] for row in RESTS]
)
def test_memory_left_for_the_cache_is_within_the_stated_error_of_what_logs_print(config, launch, memory, part, printed):
    found = estimated(config, launch)
    left = memory * part * GIB - found.weights - found.rest

    assert left == pytest.approx(printed * GIB, abs=REST_ERROR)


def test_one_gib_holds_as_many_tokens_as_a_lab_run_printed():
    """2 layers, 2 KV heads of width 16, float32: 1,048,576 tokens for 512 MiB."""
    assert estimated(TINY, "--dtype float32").cache_per_token * 1_048_576 == 512 * MIB


def test_mla_keeps_one_row_on_every_rank():
    from preflight_models import DEEPSEEK_V3

    one, eight = (estimated(DEEPSEEK_V3, f"-tp {tp}").cache_per_token for tp in (1, 8))
    assert one == eight == 61 * (512 + 64) * 2


def test_layers_with_a_window_keep_only_the_window():
    config = {**LLAMA_8B, "sliding_window": 512, "layer_types": ["full_attention"] * 8 + ["sliding_attention"] * 24}
    found = estimated(config)

    assert found.cache_per_token == 8 * 2 * 8 * 128 * 2
    assert found.cache_of_windows == 24 * 512 * 2 * 8 * 128 * 2


def test_layers_of_linear_attention_keep_nothing():
    from preflight_models import QWEN3_NEXT

    assert estimated(QWEN3_NEXT).cache_per_token == 12 * 2 * 2 * 256 * 2


def test_expert_parallelism_gives_the_first_ranks_the_larger_share():
    whole = estimated(QWEN3_30B).weights
    third = estimated(QWEN3_30B, "-dp 3 --enable-expert-parallel").weights

    assert third > whole / 3


def verdict(config, launch, memory):
    (finding,) = [
        found
        for found in findings_of(case_of(config, launch, device_memory=int(memory * GIB)), "memory")
        if found.check == "memory-estimate"
    ]
    return finding


def test_a_model_that_fits_says_how_many_tokens_do():
    finding = verdict(LLAMA_8B, "--max-model-len 8192", 80)

    assert finding.status == "ok"
    assert "requests of full length" in finding.title
    assert "estimate" in finding.message


def test_weights_that_can_never_fit_are_an_error_with_sizes_that_would():
    finding = verdict(LLAMA_70B_W8A8, "", 40)

    assert (finding.status, finding.rule) == ("error", "memory-oom-loading-weights")
    assert finding.suggestions[0].run.endswith("--tensor-parallel-size 4")


def test_weights_that_fit_the_gpu_but_not_the_share_are_a_warning():
    finding = verdict(LLAMA_70B_W8A8, "--gpu-memory-utilization 0.8", 80)

    assert (finding.status, finding.rule) == ("warning", "memory-oom-loading-weights")


def test_a_context_that_does_not_fit_is_warned_of_with_one_that_does():
    finding = verdict(LLAMA_8B, "", 24)

    assert (finding.status, finding.rule) == ("warning", "memory-max-model-len-too-long")
    assert "--max-model-len" in finding.suggestions[0].run
    length = int(finding.suggestions[0].run.rpartition(" ")[2])
    assert verdict(LLAMA_8B, f"--max-model-len {length}", 24).status == "ok"


def test_nothing_left_for_the_cache_is_another_rule():
    assert verdict(LLAMA_8B, "", 17.5).rule == "memory-no-kv-cache-blocks"


def test_what_is_missing_is_named():
    skipped = [found.missing for found in findings_of(case_of(LLAMA_8B), "memory") if found.status == "skipped"]

    assert skipped == ["the memory of one GPU (--device-memory 80GiB)"]


@pytest.mark.parametrize("part", ["0", "1.5", "-1"])
def test_a_share_outside_0_to_1_is_refused(part):
    assert "config-cli-argument-invalid" in rules_of(
        findings_of(case_of(LLAMA_8B, f"--gpu-memory-utilization {part}"), "memory")
    )


def test_gpus_that_are_taken_are_seen():
    host = Host(gpus=(Gpu("Example GPU", 80 * GIB, 10 * GIB),))

    assert "memory-free-below-utilisation" in rules_of(
        findings_of(case_of(LLAMA_8B)._replace(host=host), "memory"), "warning"
    )


SPACES = [("4GiB", None, {"memory-cpu-kv-space-invalid"}), ("-1", None, {"memory-cpu-kv-space-invalid"})]
SPACES += [("400", 16, {"memory-cpu-kv-space-invalid"}), ("4", 16, set()), ("400", None, set())]


@pytest.mark.parametrize(("space", "memory", "expected"), SPACES)
def test_the_cache_of_the_cpu(space, memory, expected):
    host = Host(memory=memory * GIB) if memory else None
    case = case_of(TINY, environment={"VLLM_CPU_KVCACHE_SPACE": space}, platform="cpu")._replace(host=host)

    assert rules_of(findings_of(case, "memory")) == expected


def test_mooncake_segments_of_all_ranks_have_to_fit():
    from diagnoser.preflight.case import StoreFile

    store = StoreFile("mooncake.json", {"global_segment_size": "40GB", "local_buffer_size": "4GB"})
    case = case_of(LLAMA_8B, "-tp 4")._replace(store=store, host=Host(memory=128 * GIB))

    assert "mooncake-store-segment-allocation-failed" in rules_of(findings_of(case, "memory"))


def test_swap_space_that_exceeds_the_host_is_refused():
    case = case_of(LLAMA_8B, "-tp 4 --swap-space 16")._replace(host=Host(memory=64 * GIB))

    assert "memory-swap-space-too-large" in rules_of(findings_of(case, "memory"))


@pytest.mark.parametrize(("blocks", "expected"), [(10, {"memory-kv-blocks-override-too-small"}), (512, set())])
def test_an_override_of_blocks_has_to_hold_one_request(blocks, expected):
    case = case_of(LLAMA_8B, f"--num-gpu-blocks-override {blocks} --max-model-len 8192")

    assert rules_of(findings_of(case, "memory")) == expected
