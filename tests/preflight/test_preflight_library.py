"""The guards as a library: Mooncake configurations, MoE configurations, expert dispatch."""

import json

import pytest
from preflight_models import DEEPSEEK_V3, GLM45_AIR, LLAMA4_SCOUT, MIXTRAL, QWEN3_30B

from diagnoser.errors import InputError
from diagnoser.preflight import (
    MoEModelConfig,
    MoEWorkerValidator,
    MooncakeConfig,
    PreflightError,
    assert_mooncake_ready,
    check_moe_worker_invariants,
    expert_owner,
    read_moe_config,
    safe_expert_dispatch,
    validate_moe_tp_config,
)

GOOD = {"hostname": "192.0.2.10", "metadata_server": "http://192.0.2.1:8080/metadata", "backend": "rdma"}


def test_a_missing_metadata_server_is_caught():
    with pytest.raises(PreflightError, match="metadata_server is missing"):
        MooncakeConfig(hostname="192.0.2.10", backend="rdma").validate()


def test_the_host_name_is_filled_in_from_the_environment():
    config = MooncakeConfig(metadata_server="P2PHANDSHAKE", backend="tcp")

    assert config.autofill({"VLLM_HOST_IP": "192.0.2.77"}) is config
    assert config.hostname == "192.0.2.77"
    assert config.validate() is config


def test_the_host_name_is_filled_in_without_an_environment_too():
    assert MooncakeConfig(metadata_server="P2PHANDSHAKE").autofill({}).hostname


def test_a_stated_host_name_is_kept():
    assert MooncakeConfig(hostname="192.0.2.10").autofill({"VLLM_HOST_IP": "192.0.2.77"}).hostname == "192.0.2.10"


def test_another_metadata_size_on_the_peer_is_caught():
    mine, peer = MooncakeConfig(**GOOD, metadata_size=4096), MooncakeConfig(**GOOD, metadata_size=8192)

    assert not mine.compatible_with(peer)
    with pytest.raises(PreflightError, match="metadata_size differs: 4096 here, 8192 on the peer"):
        assert_mooncake_ready(mine, peer)


def test_another_transport_on_the_peer_is_caught():
    mine, peer = MooncakeConfig(**GOOD), MooncakeConfig(**{**GOOD, "backend": "tcp"})

    assert mine.differences(peer) == ("The transport (backend) differs: rdma here, tcp on the peer.",)


def test_a_valid_pair_passes():
    mine = MooncakeConfig(**GOOD, metadata_size=4096)
    peer = MooncakeConfig(**{**GOOD, "hostname": "192.0.2.11"}, metadata_size=4096)

    assert mine.compatible_with(peer)
    assert_mooncake_ready(mine, peer)


def test_every_problem_is_listed_at_once():
    with pytest.raises(PreflightError) as failure:
        assert_mooncake_ready(
            MooncakeConfig(metadata_server="redis://192.0.2.1:6379", backend="shm", metadata_size=-1),
            MooncakeConfig(**GOOD, metadata_size=1),
        )

    assert [problem.split(".")[0] for problem in failure.value.problems] == [
        "The host name (local_hostname) is missing",
        "metadata_server has the scheme redis://",
        "protocol 'shm' does not exist",
        "metadata_size is -1, expected a positive whole number",
        "metadata_size differs: -1 here, 1 on the peer",
        "The transport (backend) differs: shm here, rdma on the peer",
        "The metadata servers differ: redis://192",
    ]
    assert failure.value.exit_code == 1


def test_a_file_with_keys_of_the_store_is_held_to_mooncakes_own_loader(tmp_path):
    path = tmp_path / "mooncake.json"
    path.write_text(
        json.dumps({"local_hostname": "node-a", "metadata_server": "P2PHANDSHAKE", "global_segment_size": "4gb"})
    )

    config = MooncakeConfig.from_file(path)

    assert config.reader == "mooncake"
    assert config.problems() == ("master_server_address is missing. ValueError in the loader.",)


def test_vllms_reader_refuses_other_units(tmp_path):
    path = tmp_path / "mooncake.json"
    path.write_text(
        json.dumps(
            {"metadata_server": "P2PHANDSHAKE", "master_server_address": "a:50051", "global_segment_size": "4GiB"}
        )
    )

    assert MooncakeConfig.from_file(path, reader="vllm").problems() == (
        "global_segment_size '4GiB' is no size. Accepted are a number of bytes, or with GB, MB, KB or B.",
    )
    assert MooncakeConfig.from_file(path, reader="mooncake").problems()[-1].startswith("global_segment_size '4GiB'")


def test_broken_json_names_line_and_column(tmp_path):
    path = tmp_path / "mooncake.json"
    path.write_text('{\n  "metadata_server": "P2PHANDSHAKE",,\n}')

    with pytest.raises(InputError, match=r"mooncake.json:2: not valid JSON: .* at column 37"):
        MooncakeConfig.from_file(path)


def test_the_environment_gives_a_file_or_variables(tmp_path):
    path = tmp_path / "mooncake.json"
    path.write_text(json.dumps({"local_hostname": "node-a", "metadata_server": "P2PHANDSHAKE"}))

    assert MooncakeConfig.from_env({"MOONCAKE_CONFIG_PATH": str(path)}).hostname == "node-a"
    config = MooncakeConfig.from_env({"MOONCAKE_MASTER": "master:50051", "MOONCAKE_PROTOCOL": "rdma"})
    assert (config.master_server_address, config.backend) == ("master:50051", "rdma")
    with pytest.raises(InputError, match="MOONCAKE_CONFIG_PATH"):
        MooncakeConfig.from_env({})


def test_256_experts_in_groups_of_8_pass_with_tp_8():
    validate_moe_tp_config(256, 8, 8)


def test_256_experts_are_refused_with_tp_7_and_told_what_would_work():
    with pytest.raises(PreflightError) as failure:
        validate_moe_tp_config(256, 8, 7)

    assert failure.value.problems == ("256 experts do not divide over TP 7. TP 1, 2, 4, 8, 16 or 32 would work.",)


@pytest.mark.parametrize(
    ("arguments", "problems"),
    [
        ((256, 8, 64), 1),
        ((60, 8, 4), 2),
        ((0, 8, 4), 1),
        ((256, -1, "8"), 2),
        ((256, True, 8), 1),
    ],
)
def test_every_wrong_number_is_listed(arguments, problems):
    with pytest.raises(PreflightError) as failure:
        validate_moe_tp_config(*arguments)

    assert len(failure.value.problems) == problems


def test_a_config_with_other_names_is_read_right():
    config = read_moe_config({"n_routed_experts": 256, "moe_topk": 8, "expert_group_size": 8})

    assert (config.num_experts, config.top_k, config.expert_group_size) == (256, 8, 8)
    assert dict(config.fields) == {
        "num_experts": "n_routed_experts",
        "top_k": "moe_topk",
        "expert_group_size": "expert_group_size",
    }


FAMILIES = [
    ({"num_experts": 64, "num_experts_per_tok": 4, "moe_intermediate_size": 96}, (64, 4, 96)),
    ({"moe_num_experts": 64, "moe_k": 6, "moe_intermediate_size": 1536}, (64, 6, 1536)),
    ({"moe_num_experts": [64, 64], "moe_k": 6, "moe_intermediate_size": [1536, 512]}, (64, 6, 1536)),
    (
        {"num_local_experts": 8, "num_experts_per_tok": 2, "intermediate_size": 14336, "model_type": "mixtral"},
        (8, 2, 14336),
    ),
    ({"num_experts": 16, "num_experts_per_token": 4, "expert_hidden_dim": 512}, (16, 4, 512)),
    ({"num_experts": 128, "top_k_experts": 8, "expert_intermediate_size": 704}, (128, 8, 704)),
    ({"moe_num_experts": 48, "moe_top_k": 3, "moe_intermediate_size": 5120}, (48, 3, 5120)),
    (
        {"model_type": "dbrx", "ffn_config": {"moe_num_experts": 16, "moe_top_k": 4, "ffn_hidden_size": 10752}},
        (16, 4, 10752),
    ),
    (LLAMA4_SCOUT, (16, 1, 8192)),
    ({"block_configs": [{"block_type": "moe", "n_routed_experts": 96}, {"block_type": "mamba"}]}, (96, None, None)),
]


@pytest.mark.parametrize(("raw", "expected"), FAMILIES)
def test_every_familys_names_are_known(raw, expected):
    config = read_moe_config(raw)

    assert (config.num_experts, config.top_k, config.expert_width) == expected


@pytest.mark.parametrize("nest", ["text_config", "llm_config", "language_config"])
def test_the_language_model_of_a_multimodal_config_is_found(nest):
    assert read_moe_config({"model_type": "some_vl", nest: QWEN3_30B}).num_experts == 128


def test_the_language_model_of_an_omni_config_is_found():
    assert read_moe_config({"thinker_config": {"text_config": QWEN3_30B}}).num_experts == 128


def test_an_absent_count_is_what_transformers_assumes():
    config = read_moe_config({"model_type": "deepseek_v2", "moe_intermediate_size": 1408})

    assert (config.num_experts, config.assumed) == (64, True)


@pytest.mark.parametrize("value", ["128", None, -1, 1.5, {"a": 1}, True])
def test_an_unusable_count_is_refused(value):
    with pytest.raises(PreflightError, match="num_experts is"):
        read_moe_config({"num_experts": value})


def test_a_folder_is_read(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(MIXTRAL))

    assert read_moe_config(str(tmp_path)).num_experts == 8


def test_a_folder_without_config_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"the folder has no config\.json"):
        read_moe_config(str(tmp_path))


def test_the_validator_speaks_of_vllms_rules():
    validated = MoEWorkerValidator(DEEPSEEK_V3, tp=8).validate()

    assert isinstance(validated, MoEModelConfig)
    with pytest.raises(PreflightError, match="128 attention heads do not divide over 7"):
        MoEWorkerValidator(DEEPSEEK_V3, tp=7).validate()


def test_the_validator_lists_all_problems_of_a_model():
    problems = MoEWorkerValidator(GLM45_AIR, tp=12).problems()

    assert [problem.split(".")[0] for problem in problems] == [
        "8 KV heads do not fit 12 tensor-parallel ranks",
        "The vocabulary, padded to 151552, does not divide over 12 ranks",
        "shared expert width 1408 does not divide over 12 ranks",
        "The expert width 1408 does not divide over 12 ranks",
    ]


def test_a_config_that_groups_experts_is_held_to_the_grouping_rule():
    grouped = {"n_routed_experts": 256, "moe_topk": 8, "expert_group_size": 8}

    MoEWorkerValidator(grouped, tp=8).validate()
    with pytest.raises(PreflightError, match="256 experts do not divide over TP 7"):
        MoEWorkerValidator(grouped, tp=7).validate()


def test_vllm_takes_an_uneven_number_of_experts_and_a_generic_engine_does_not():
    config = {**QWEN3_30B, "num_experts": 60}

    MoEWorkerValidator(config, tp=8).validate()
    with pytest.raises(PreflightError, match="60 experts do not divide over TP 8"):
        MoEWorkerValidator(config, tp=8, engine="generic").validate()


@pytest.mark.parametrize("tp", [0, -1, True, 2.0])
def test_a_size_that_is_no_positive_whole_number_is_refused(tp):
    with pytest.raises(PreflightError, match="tp is"):
        MoEWorkerValidator(DEEPSEEK_V3, tp=tp).validate()


def test_owners_of_an_uneven_split():
    assert [expert_owner(expert, 256, 3) for expert in (0, 85, 86, 170, 171, 255)] == [
        (0, 0),
        (0, 85),
        (1, 0),
        (1, 84),
        (2, 0),
        (2, 84),
    ]
    assert [expert_owner(expert, 256, 3, "round_robin") for expert in (0, 1, 2, 3, 255)] == [
        (0, 0),
        (1, 0),
        (2, 0),
        (0, 1),
        (0, 85),
    ]


def test_an_expert_of_another_rank_has_no_local_place():
    assert safe_expert_dispatch(100, 256, 8, 3) == 4
    assert safe_expert_dispatch(100, 256, 8, 0) is None


@pytest.mark.parametrize("arguments", [(256, 256), (-1, 256), (0, 0), (0, 8, 0), (0, 8, 2, 2)])
def test_an_expert_or_rank_that_does_not_exist_is_refused(arguments):
    with pytest.raises(PreflightError):
        safe_expert_dispatch(*arguments)


def test_a_router_that_leaves_the_range_is_caught_with_everything_else():
    with pytest.raises(PreflightError) as failure:
        check_moe_worker_invariants(8, ep_size=2, rank=1, local_experts=5, expert_ids=[1, 15, -1], top_k=9)

    assert failure.value.problems == (
        "Rank 1 holds 5 experts and should hold 4 of 8.",
        "The router chose experts that do not exist (-1, 15); there are 8.",
        "9 experts per token can't be chosen out of 8.",
    )


def test_a_worker_in_order_passes():
    check_moe_worker_invariants(8, ep_size=2, rank=1, local_experts=4, expert_ids=[0, 7], top_k=2)
