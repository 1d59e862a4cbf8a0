"""Inputs that nobody meant well: the checks answer with findings or an InputError, never with another exception."""

from __future__ import annotations

import contextlib
import json

import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from preflight_models import DEEPSEEK_V3, LLAMA4_SCOUT, QWEN3_30B, findings_of

from diagnoser.errors import InputError, UsageError
from diagnoser.model import Report
from diagnoser.preflight import MoEWorkerValidator, MooncakeConfig, PreflightError, check
from diagnoser.preflight.case import Case, StoreFile
from diagnoser.preflight.checks import subject_names
from diagnoser.preflight.launch import parse_arguments
from diagnoser.preflight.manifests import find_in_documents
from diagnoser.preflight.model_config import ModelConfig
from diagnoser.preflight.moe_config import moe_of
from diagnoser.preflight.shell import find_in_script
from diagnoser.preflight.stated import printed_options

odd = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=True)
    | st.text(max_size=8)
    | st.sampled_from(["8", "0", "-1", "gpt_oss", "fp8", "awq", "deepseek_v3", "llama", 0, 1, 2, 3, 64, 1 << 40]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=5,
)
FIELDS = sorted(
    {
        *DEEPSEEK_V3,
        *QWEN3_30B,
        *LLAMA4_SCOUT["text_config"],
        "quantization_config",
        "layer_types",
        "rope_scaling",
        "sliding_window",
        "text_config",
        "ffn_config",
        "block_configs",
        "full_attention_interval",
        "auto_map",
        "torch_dtype",
    }
)
configs = st.builds(
    lambda base, changes: {**base, **changes},
    st.sampled_from([{}, DEEPSEEK_V3, QWEN3_30B, LLAMA4_SCOUT]),
    st.dictionaries(st.sampled_from(FIELDS), odd, max_size=6),
)
quantizations = st.dictionaries(
    st.sampled_from(
        ["quant_method", "weight_block_size", "group_size", "bits", "config_groups", "ignore", "modules_to_not_convert"]
    ),
    odd | st.just([128, 128]) | st.just(["re:(", "model.layers.*.mlp", "self_attn"]),
    max_size=5,
)
PLATFORMS = st.sampled_from([None, "cpu", "cuda", "rocm"])
SLOW = settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)


def everything(case: Case) -> None:
    for subject in subject_names():
        if subject not in ("pair", "together"):
            findings_of(case, subject)


@SLOW
@given(configs, quantizations, st.integers(-2, 40), PLATFORMS)
def test_any_config_json(config, quantization, tp, platform):
    model = ModelConfig.of({**config, "quantization_config": quantization} if quantization else config)
    launch = f"m -tp {tp} -dp 2 --enable-expert-parallel --enable-eplb --kv-cache-dtype fp8"
    deployment = parse_arguments(launch.split(), "x")._replace(platform=platform, device_memory=80 << 30)

    everything(Case(deployment, model, moe_of(model)))


@SLOW
@given(odd, odd)
def test_any_transfer_configuration_and_any_store(transfer, values):
    options = {"kv_transfer_config": transfer if isinstance(transfer, dict) else {"kv_connector": transfer}}
    deployment = parse_arguments(["m"], "x")._replace(options=options, environment_known=True)
    store = StoreFile("x", values if isinstance(values, dict) else {"metadata_server": values, "protocol": values})

    everything(Case(deployment, store=store))


KEYS = st.sampled_from(["kv_connector", "kv_role", "kv_connector_extra_config", "connectors", "engine_id", "kv_rank"])
NAMES = st.sampled_from(
    ["MultiConnector", "MooncakeConnector", "MooncakeConnectorV1", "NixlConnector", "OffloadingConnector"]
)


@SLOW
@given(st.dictionaries(KEYS, odd | NAMES, max_size=5), NAMES, odd)
def test_any_children_and_extra_settings(config, name, extra):
    table = {**config, "kv_connector": name, "kv_connector_extra_config": extra}
    deployment = parse_arguments(["m"], "x")._replace(options={"kv_transfer_config": table})

    everything(Case(deployment))


@given(
    st.lists(
        st.text(max_size=12)
        | st.sampled_from(
            ["--tensor-parallel-size", "-tp", "--kv-transfer-config", "-O", "-", "--", "{", "--a.b", "--a.b+", "-tp="]
        ),
        max_size=8,
    )
)
def test_any_words(words):
    parse_arguments(words, "x")


@given(
    st.text(max_size=300)
    | st.lists(
        st.sampled_from(
            [
                "vllm serve ",
                "docker run ",
                "vllm/vllm-openai:v1 ",
                "\\\n",
                "'",
                '"',
                "$A",
                "${B:-",
                "}",
                ";",
                "(",
                "#",
                "\n",
                "bash -c ",
            ]
        ),
        max_size=20,
    ).map("".join)
)
def test_any_script(text):
    list(find_in_script(text))


@given(odd)
def test_any_document(document):
    list(find_in_documents([document]))
    list(find_in_documents([{"services": document}]))
    list(find_in_documents([{"kind": "Pod", "apiVersion": "v1", "spec": document}]))
    list(
        find_in_documents(
            [
                {
                    "kind": "Pod",
                    "apiVersion": "v1",
                    "spec": {
                        "containers": [
                            document,
                            {
                                "command": ["vllm", "serve"],
                                "args": document,
                                "env": document,
                                "resources": document,
                                "securityContext": document,
                            },
                        ]
                    },
                }
            ]
        )
    )
    list(
        find_in_documents(
            [
                {
                    "services": {
                        "a": {
                            "command": "vllm serve m",
                            "environment": document,
                            "ulimits": document,
                            "deploy": document,
                            "cap_add": document,
                            "shm_size": document,
                        }
                    }
                }
            ]
        )
    )


@given(st.text(max_size=200))
def test_any_printed_options(text):
    printed_options(text)
    printed_options("{" + text)


@SLOW
@given(configs, odd)
def test_the_library_raises_nothing_but_its_own_errors(config, tp):
    with contextlib.suppress(PreflightError):
        MoEWorkerValidator(config, tp=tp).validate()


@given(
    st.dictionaries(
        st.sampled_from(
            ["local_hostname", "metadata_server", "protocol", "mode", "metadata_size", "global_segment_size", "other"]
        ),
        odd,
        max_size=5,
    )
)
def test_any_mooncake_settings(values):
    config = MooncakeConfig.from_mapping(values)
    assert isinstance(config.problems(), tuple)
    config.differences(MooncakeConfig())


@SLOW
@given(
    st.binary(max_size=200)
    | configs.map(lambda value: json.dumps(value).encode())
    | odd.map(lambda value: yaml.safe_dump(value).encode()),
    st.sampled_from(["x.json", "x.yaml", "x.sh", "x.env"]),
    st.sampled_from(["--model-config", "--mooncake-config", "--env-file", "--kv-transfer-config", "--prefill", ""]),
)
def test_any_file_given_to_any_option(tmp_path_factory, content, name, option):
    path = tmp_path_factory.mktemp("input") / name
    path.write_bytes(content)
    arguments = [option, str(path)] if option else [str(path)]
    if option == "--prefill":
        arguments += ["--decode", str(path)]
    with contextlib.suppress(InputError, UsageError):
        assert isinstance(check(["--not-here", *arguments]), Report)
