"""Launch lines, shell scripts, docker run, Compose, Kubernetes, Helm values, env files, and what logs print."""

import json

import pytest
import yaml

from diagnoser.errors import InputError
from diagnoser.preflight.env_file import read_env_file
from diagnoser.preflight.launch import parse_arguments, split_option
from diagnoser.preflight.manifests import find_in_documents
from diagnoser.preflight.shell import find_in_script, find_launch, image_version, is_image
from diagnoser.preflight.stated import printed_options


def options(line, **more):
    return parse_arguments(line.split(), "the test", **more).options


@pytest.mark.parametrize(
    "line",
    [
        "m --tensor-parallel-size 8",
        "m --tensor_parallel_size 8",
        "m --tensor-parallel-size=8",
        "m -tp 8",
        "m -tp=8",
        "--tensor-parallel-size 8 m",
        "--model m -tp 8",
        "m --tensor-para 8",
    ],
)
def test_one_option_in_every_spelling(line):
    deployment = parse_arguments(line.split(), "the test")

    assert (deployment.model, deployment.options) == ("m", {"tensor_parallel_size": 8})


def test_switches_take_no_value_and_can_be_turned_off():
    deployment = parse_arguments(["--enforce-eager", "m", "--no-enable-prefix-caching"], "the test")

    assert deployment.model == "m"
    assert deployment.options == {"enforce_eager": True, "enable_prefix_caching": False}


@pytest.mark.parametrize(
    ("text", "tokens"), [("32k", 32_000), ("32K", 32_768), ("1.5k", 1_500), ("auto", -1), ("-1", -1), ("4096", 4096)]
)
def test_lengths_are_read_as_people_write_them(text, tokens):
    assert options(f"m --max-model-len {text}") == {"max_model_len": tokens}


def test_dotted_options_build_a_table():
    found = options(
        "m --eplb-config.num_redundant_experts=2 --eplb-config.window_size 1k --speculative-config.method mtp"
    )

    assert found["eplb_config"] == {"num_redundant_experts": 2, "window_size": 1000}
    assert found["speculative_config"] == {"method": "mtp"}


def test_dotted_options_add_to_json():
    found = parse_arguments(
        ["m", "--kv-transfer-config", '{"kv_role": "kv_both"}', "--kv-transfer-config.kv_connector", "NixlConnector"],
        "x",
    ).options

    assert found["kv_transfer_config"] == {"kv_role": "kv_both", "kv_connector": "NixlConnector"}


def test_a_list_takes_words_up_to_the_next_option():
    assert options("m --served-model-name a b --port 1234") == {"served_model_name": ["a", "b"], "port": 1234}


def test_the_optimization_level_may_stick_to_its_letter():
    assert options("m -O3") == {"optimization_level": "3"}


def test_a_misspelt_option_is_kept_with_the_one_that_was_meant():
    problem = parse_arguments(["m", "--tensor-paralel-size", "2"], "x").problems[0]

    assert (problem.kind, problem.option, problem.suggestion) == (
        "unknown",
        "--tensor-paralel-size",
        "--tensor-parallel-size",
    )


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (["m", "--tensor-parallel-size", "two"], "value"),
        (["m", "--gpu-memory-utilization", "90%"], "value"),
        (["m", "--tensor-parallel-size"], "missing-value"),
        (["m", "--kv-transfer-config", "{'kv_role': 'kv_both'}"], "json"),
        (["m", "--kv-transfer-config", '{"kv_role":'], "json"),
        (["m", "--kv-transfer-config", '["kv_both"]'], "json"),
        (["m", "extra"], "unknown"),
        (["m", "--config", "/nowhere/settings.yaml"], "file"),
    ],
)
def test_every_mistake_is_kept_instead_of_raised(words, kind):
    assert [problem.kind for problem in parse_arguments(words, "x").problems] == [kind]


def test_a_settings_file_gives_options_and_the_command_line_wins(tmp_path):
    path = tmp_path / "settings.yaml"
    path.write_text(
        "model: m\nport: 9000\ntensor-parallel-size: 4\nenforce-eager: true\nenable-prefix-caching: false\n"
    )

    deployment = parse_arguments(["--config", str(path), "-tp", "2"], "x")

    assert deployment.model == "m"
    assert deployment.options == {
        "port": 9000,
        "tensor_parallel_size": 2,
        "enforce_eager": True,
        "enable_prefix_caching": False,
    }


def test_an_option_is_split_into_name_value_and_keys():
    assert split_option("--kv_transfer_config.kv_role=kv_both") == (
        "kv_transfer_config",
        "--kv_transfer_config.kv_role",
        "kv_both",
        ("kv_role",),
    )


COMMANDS = [
    (["vllm", "serve", "m", "-tp", "2"], ("m", "-tp", "2")),
    (["/opt/venv/bin/vllm", "serve", "m"], ("m",)),
    (["A=1", "env", "B=2", "nohup", "vllm", "serve", "m"], ("m",)),
    (["python3", "-m", "vllm.entrypoints.openai.api_server", "--model", "m"], ("--model", "m")),
    (["numactl", "-N", "0", "python", "-m", "vllm.entrypoints.cli.main", "serve", "m"], ("m",)),
    (["bash", "-lc", "export A=1; vllm serve m -tp 2"], ("m", "-tp", "2")),
    (["bash", "-c", "export A=1; vllm serve m -tp 2"], ("m", "-tp", "2")),
    (["docker", "run", "--gpus", "all", "vllm/vllm-openai:v0.11.0", "--model", "m"], ("--model", "m")),
    (["docker", "run", "ubuntu", "sleep", "1"], None),
    (["ls", "-l"], None),
]


@pytest.mark.parametrize(("words", "arguments"), COMMANDS, ids=[" ".join(row[0])[:30] for row in COMMANDS])
def test_the_vllm_command_is_found_in_words(words, arguments):
    launch = find_launch(words)

    assert (launch.arguments if launch else None) == arguments


def test_a_shell_script_is_read_with_its_variables_and_continuations():
    script = """#!/bin/bash
# vllm serve not-this-one -tp 4
export MOONCAKE_CONFIG_PATH=/etc/mooncake.json TP=4
MODEL=/srv/models/m
VLLM_HOST_IP=192.0.2.10 exec vllm serve $MODEL \\
    --tensor-parallel-size ${TP:-8} \\
    --port ${PORT:-9000} \\
    --kv-transfer-config '{"kv_connector": "MooncakeStoreConnector",
                           "kv_role": "kv_both"}' > serve.log 2>&1 &
echo started; wait
"""

    (launch,) = find_in_script(script)
    deployment = parse_arguments(launch.arguments, "x", launch.environment)

    assert launch.line == 5
    assert deployment.model == "/srv/models/m"
    assert deployment.tp == 4
    assert deployment.options["port"] == 9000
    assert deployment.kv_transfer == {"kv_connector": "MooncakeStoreConnector", "kv_role": "kv_both"}
    assert deployment.environment["VLLM_HOST_IP"] == "192.0.2.10"
    assert deployment.environment["MOONCAKE_CONFIG_PATH"] == "/etc/mooncake.json"


def test_redirections_are_no_arguments():
    (launch,) = find_in_script("vllm serve m -tp 2 > serve.log 2>&1 &")

    assert parse_arguments(launch.arguments, "x").problems == ()


def test_docker_run_gives_environment_shared_memory_and_version():
    (launch,) = find_in_script(
        "docker run --gpus all --shm-size=2g --ipc=private --network host --cap-add IPC_LOCK "
        "--ulimit memlock=-1 -e VLLM_HOST_IP=192.0.2.3 -e HF_TOKEN vllm/vllm-openai:v0.11.2 --model m -tp 2"
    )

    assert launch.arguments == ("--model", "m", "-tp", "2")
    assert launch.environment == {"VLLM_HOST_IP": "192.0.2.3"}
    assert launch.image_version == "0.11.2"
    assert launch.container.shm_bytes == 2 << 30
    assert launch.container.host_network
    assert launch.container.capabilities == ("IPC_LOCK",)
    assert launch.container.memlock_unlimited


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("vllm/vllm-openai:v0.11.0", "0.11.0"),
        ("registry.example.com/team/vllm-openai:0.9.1-cu128", "0.9.1"),
        ("vllm/vllm-openai:latest", None),
        ("quay.io/ascend/vllm-ascend:v0.10.0rc1", "0.10.0rc1"),
    ],
)
def test_the_version_is_read_from_an_images_tag(image, version):
    assert is_image(image)
    assert image_version(image) == version


COMPOSE = """
services:
  prefill:
    image: vllm/vllm-openai:v0.11.0
    command: >
      --model /srv/models/m --tensor-parallel-size 2
      --kv-transfer-config '{"kv_connector": "MooncakeConnector", "kv_role": "kv_producer"}'
    environment:
      - VLLM_HOST_IP=192.0.2.1
      - NOT_A_PAIR
    shm_size: 8gb
    ulimits: {memlock: {soft: -1, hard: -1}}
    deploy:
      resources:
        reservations:
          devices: [{driver: nvidia, device_ids: ["0", "1"], capabilities: [gpu]}]
  decode:
    image: registry.example.com/ours:1
    command: ["vllm", "serve", "/srv/models/m", "-tp", "2", "--kv-transfer-config",
              '{"kv_connector": "MooncakeConnector", "kv_role": "kv_consumer"}']
    environment: {VLLM_HOST_IP: 192.0.2.2, DEBUG: true, EMPTY: null}
    ipc: host
  proxy:
    image: nginx
"""


def test_compose_services_are_found_with_what_surrounds_them():
    prefill, decode = find_in_documents([yaml.safe_load(COMPOSE)])

    assert (prefill.place, decode.place) == ("service prefill", "service decode")
    assert (prefill.gpus, decode.gpus) == (2, None)
    assert prefill.launch.environment == {"VLLM_HOST_IP": "192.0.2.1"}
    assert decode.launch.environment == {"VLLM_HOST_IP": "192.0.2.2", "DEBUG": "true", "EMPTY": ""}
    assert prefill.launch.container.shm_bytes == 8 << 30
    assert prefill.launch.container.memlock_unlimited
    assert decode.launch.container.host_ipc
    assert prefill.launch.image_version == "0.11.0"


KUBERNETES = """
apiVersion: v1
kind: Service
metadata: {name: vllm}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: decode}
spec:
  template:
    spec:
      hostNetwork: true
      volumes:
        - name: shm
          emptyDir: {medium: Memory, sizeLimit: 8Gi}
      containers:
        - name: sidecar
          image: busybox
        - name: server
          image: vllm/vllm-openai:v0.12.0
          command: ["/bin/sh", "-c"]
          args:
            - |
              ulimit -l unlimited
              vllm serve /srv/models/m --tensor-parallel-size 4
          env:
            - {name: VLLM_HOST_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
            - {name: NCCL_DEBUG, value: INFO}
          volumeMounts: [{name: shm, mountPath: /dev/shm}]
          securityContext: {capabilities: {add: [IPC_LOCK]}}
          resources: {limits: {nvidia.com/gpu: "4", memory: 64Gi, rdma/hca: 1}}
"""


def test_a_kubernetes_manifest_is_found_with_what_surrounds_it():
    (found,) = find_in_documents(list(yaml.safe_load_all(KUBERNETES)))

    assert found.place == "Deployment decode, container server"
    assert found.gpus == 4
    assert found.launch.arguments == ("/srv/models/m", "--tensor-parallel-size", "4")
    assert found.launch.environment == {"NCCL_DEBUG": "INFO"}
    container = found.launch.container
    assert container.shm_bytes == 8 << 30
    assert container.host_network
    assert container.devices == ("rdma/hca",)
    assert container.memory_limit == 64 << 30
    assert container.services == ("vllm",)
    assert found.launch.image_version == "0.12.0"


def test_the_containers_of_an_operators_own_kind_are_found():
    document = {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "big"},
        "spec": {
            "leaderWorkerTemplate": {
                "leaderTemplate": {"spec": {"containers": [{"name": "leader", "command": ["vllm", "serve", "m"]}]}}
            }
        },
    }

    assert [found.place for found in find_in_documents([document])] == ["LeaderWorkerSet big, container leader"]


VALUES = [
    (
        {"vllm": {"args": ["--model", "m", "--tensor-parallel-size", "2"]}},
        "vllm",
        ("--model", "m", "--tensor-parallel-size", "2"),
    ),
    (
        {
            "servingEngineSpec": {
                "modelSpec": [{"modelURL": "m", "vllmConfig": {}, "extraArgs": ["--max-model-len", "4096"]}]
            }
        },
        "servingEngineSpec.modelSpec[0]",
        ("--max-model-len", "4096", "--model", "m"),
    ),
    ({"image": {"command": ["vllm", "serve", "m"]}}, "image", ("m",)),
    ({"entry": "exec vllm serve m -tp 2"}, "entry", ("m", "-tp", "2")),
]


@pytest.mark.parametrize(("values", "place", "arguments"), VALUES)
def test_helm_values_are_searched_for_arguments(values, place, arguments):
    (found,) = find_in_documents([values])

    assert (found.place, found.launch.arguments) == (place, arguments)


@pytest.mark.parametrize(
    "document", [{}, None, [], {"services": {"a": None, "b": {"image": "nginx"}}}, {"args": 3}, "text"]
)
def test_documents_without_vllm_hold_nothing(document):
    assert list(find_in_documents([document])) == []


def test_an_env_file_is_read_line_by_line(tmp_path):
    path = tmp_path / "serve.env"
    path.write_text("# a comment\n\nexport A=1\nB = 'two words'\nC=3 # note\nEMPTY=\n")

    assert read_env_file(str(path)) == {"A": "1", "B": "two words", "C": "3", "EMPTY": ""}


def test_an_env_file_with_another_line_is_refused_with_its_number(tmp_path):
    path = tmp_path / "serve.env"
    path.write_text("A=1\nnot a pair\n")

    with pytest.raises(
        InputError, match=r"serve\.env:2: not an environment variable: 'not a pair' \(expected NAME=value\)"
    ):
        read_env_file(str(path))


def test_options_that_a_log_prints_are_read_without_running_them():
    text = (
        "{'model_tag': 'm', 'tensor_parallel_size': 2, 'enforce_eager': True, 'load_format': LoadFormat.DUMMY, "
        "'kv_transfer_config': KVTransferConfig(kv_connector='MultiConnector', kv_role='kv_both', engine_id=None, "
        "kv_connector_extra_config={'connectors': [{'kv_connector': 'NoSuchConnector'}]}), 'x': __import__('os')}"
    )

    assert printed_options(text) == {
        "tensor_parallel_size": 2,
        "enforce_eager": True,
        "kv_transfer_config": {
            "kv_connector": "MultiConnector",
            "kv_role": "kv_both",
            "kv_connector_extra_config": {"connectors": [{"kv_connector": "NoSuchConnector"}]},
        },
    }


@pytest.mark.parametrize("text", ["", "{", "no dictionary", "{'a': 1}['a']", "'" * 50, "{" * 5000])
def test_text_that_is_no_dictionary_states_nothing(text):
    assert printed_options(text) == {}


def test_a_line_that_was_cut_off_gives_what_stands_before_the_cut():
    assert printed_options("{'tensor_parallel_size': 2, 'max_model_len': 128, 'kv_transfer_config': KVTrans") == {
        "tensor_parallel_size": 2,
        "max_model_len": 128,
    }


def test_json_values_survive_the_way_through_a_settings_file(tmp_path):
    path = tmp_path / "settings.yaml"
    path.write_text(json.dumps({"speculative-config": {"method": "mtp", "num_speculative_tokens": 3}}))

    assert options(f"m --config {path}")["speculative_config"] == {"method": "mtp", "num_speculative_tokens": 3}
