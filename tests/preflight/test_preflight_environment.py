"""Checks of the serving machine and its container, on machines made up for it."""

import socket

import pytest
from preflight_models import LLAMA_8B, case_of, findings_of, rules_of

from diagnoser.preflight.deployment import Container
from diagnoser.preflight.host import Host, read_host
from diagnoser.preflight.numbers import GIB, MIB
from diagnoser.preflight.nvidia import Gpu
from diagnoser.preflight.packages import has_module

HEALTHY = Host(
    shm_bytes=16 * GIB,
    open_files=65_535,
    locked_memory=-1,
    interfaces=("lo", "eth0", "ib0"),
    home="/home/vllm",
    home_writable=True,
    cache="/home/vllm/.cache",
    cache_writable=True,
    cache_free=500 * GIB,
    versions={"vllm": "0.32.0", "torch": "2.9.0+cu128", "numpy": "2.2.0"},
    python="3.12.3",
    compiler="/usr/bin/gcc",
    python_headers=True,
    gpus=(Gpu("Example GPU", 80 * GIB, 79 * GIB, "9.0"),) * 4,
    driver="570.10",
    driver_cuda="12.8",
    rdma_devices=("mlx5_0",),
    user="vllm",
    modules=("triton",),
    peer_memory=True,
)


def verdict(launch="", host=HEALTHY, **changes):
    options = {"host": "127.0.0.1", "port": 0}
    case = case_of(LLAMA_8B, launch, **changes)._replace(host=host)
    case = case._replace(deployment=case.deployment._replace(options={**case.deployment.options, **options}))
    found = [item for item in findings_of(case, "environment", "versions") if item.check != "environment-port"]
    return rules_of(found), rules_of(found, "warning")


def test_a_healthy_machine_has_neither_errors_nor_warnings():
    assert verdict("-tp 4") == (set(), set())


MACHINES = [
    ({"shm_bytes": 64 * MIB}, {"process-shm-too-small"}, set()),
    ({"shm_bytes": 600 * MIB}, set(), {"process-shm-too-small"}),
    ({"open_files": 1024}, set(), {"process-os-limit"}),
    ({"locked_memory": 64 << 10}, set(), {"network-nccl-locked-memory"}),
    ({"locked_memory": 64 << 10, "rdma_devices": ()}, set(), set()),
    ({"home_writable": False}, set(), {"process-container-user"}),
    ({"cache_writable": False}, {"hub-cache-not-writable"}, set()),
    ({"cache_free": GIB}, set(), {"hub-disk-full"}),
    ({"user": None}, set(), {"process-container-user"}),
    ({"compiler": None}, {"compile-c-compiler-missing"}, set()),
    ({"python_headers": False}, {"compile-python-headers-missing"}, set()),
    ({"modules": ()}, {"compile-triton-missing"}, set()),
    ({"gpus": ()}, {"cuda-no-gpu-visible"}, set()),
    ({"driver_cuda": "11.8"}, {"cuda-driver-too-old"}, set()),
    ({"versions": {"torch": "2.1.0", "numpy": "2.0.1"}}, {"versions-numpy-abi"}, set()),
    (
        {"versions": {"vllm": "0.11.0", "transformers": "4.40.0"}, "requirements": {"transformers": ">=4.55.2,<5"}},
        {"versions-transformers-too-old"},
        set(),
    ),
    (
        {"versions": {"vllm": "0.11.0", "transformers": "5.1.0"}, "requirements": {"transformers": ">=4.55.2,<5"}},
        {"versions-transformers-api-removed"},
        set(),
    ),
    (
        {"versions": {"vllm": "0.11.0", "torch": "2.9.0+cu128"}, "requirements": {"torch": "==2.8.0"}},
        {"versions-torch-companions-mismatch"},
        set(),
    ),
    (
        {"versions": {"vllm": "0.11.0", "torch": "2.8.0+cu128"}, "requirements": {"torch": "==2.8.0", "numpy": "~=2"}},
        set(),
        set(),
    ),
    ({"versions": {"vllm": "0.11.0"}, "python": "3.9.2"}, set(), {None}),
    ({"versions": {"vllm": "0.11.0", "vllm-ascend": "0.10.0"}}, {"versions-python-package-missing"}, set()),
]


@pytest.mark.parametrize(("change", "errors", "warnings"), MACHINES, ids=[str(row[0])[:40] for row in MACHINES])
def test_what_is_wrong_with_a_machine(change, errors, warnings):
    assert verdict("-tp 4", HEALTHY._replace(**change)) == (errors, warnings)


def test_one_rank_needs_no_shared_memory():
    assert verdict("", HEALTHY._replace(shm_bytes=64 * MIB)) == (set(), set())


CONTAINERS = [
    (Container(), {"process-shm-too-small"}),
    (Container(shm_bytes=8 * GIB), set()),
    (Container(host_ipc=True), set()),
    (Container(shm_bytes=64 * MIB, kind="kubernetes"), {"process-shm-too-small"}),
]


@pytest.mark.parametrize(("container", "expected"), CONTAINERS)
def test_a_container_has_64_mib_of_shared_memory_unless_told_otherwise(container, expected):
    assert verdict("-tp 2", None, container=container)[0] == expected


INTERFACES = [
    ({"GLOO_SOCKET_IFNAME": "eth0"}, set(), set()),
    ({"GLOO_SOCKET_IFNAME": "eth7"}, {"network-gloo-interface-name"}, set()),
    ({"GLOO_SOCKET_IFNAME": "^lo,docker0"}, {"network-gloo-interface-name"}, set()),
    ({"GLOO_SOCKET_IFNAME": "=eth0"}, {"network-gloo-interface-name"}, set()),
    ({"GLOO_SOCKET_IFNAME": "lo"}, set(), {"network-gloo-loopback"}),
    ({"NCCL_SOCKET_IFNAME": "eth"}, set(), set()),
    ({"NCCL_SOCKET_IFNAME": "=eth"}, {"network-nccl-no-interface"}, set()),
    ({"NCCL_SOCKET_IFNAME": "^lo,docker"}, set(), set()),
    ({"NCCL_SOCKET_IFNAME": "^lo,eth,ib"}, {"network-nccl-no-interface"}, set()),
    ({"NCCL_SOCKET_IFNAME": "ens"}, {"network-nccl-no-interface"}, set()),
]


@pytest.mark.parametrize(("environment", "errors", "warnings"), INTERFACES)
def test_interface_names_mean_different_things_to_gloo_and_nccl(environment, errors, warnings):
    assert verdict("", environment=environment) == (errors, warnings)


def test_bfloat16_needs_a_newer_gpu():
    host = HEALTHY._replace(gpus=(Gpu("Old GPU", 16 * GIB, 15 * GIB, "7.5"),))

    assert verdict("--dtype bfloat16", host)[0] == {"cuda-bf16-unsupported"}


def test_a_port_that_is_taken_is_seen_and_a_free_one_passes():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        port = server.getsockname()[1]
        case = case_of(LLAMA_8B, f"--host 127.0.0.1 --port {port}")._replace(host=HEALTHY)
        taken = findings_of(case, "environment")
    free = findings_of(case, "environment")

    assert rules_of(taken) == {"network-http-port-in-use"}
    assert rules_of(free) == set()


def test_an_address_that_the_host_does_not_have_is_seen():
    case = case_of(LLAMA_8B, "--host 192.0.2.200 --port 18123")._replace(host=HEALTHY)

    assert rules_of(findings_of(case, "environment")) == {"network-address-not-local"}


@pytest.mark.parametrize(
    ("environment", "container", "expected"),
    [
        ({"VLLM_PORT": "tcp://10.20.0.1:8000"}, None, {"network-vllm-port-is-uri"}),
        ({"VLLM_PORT": "8100"}, None, set()),
        ({}, Container(services=("vllm",), service_links=True, kind="kubernetes"), {"network-vllm-port-is-uri"}),
        ({}, Container(services=("vllm",), service_links=False, kind="kubernetes"), set()),
        ({}, Container(services=("serving",), service_links=True, kind="kubernetes"), set()),
        ({"VLLM_ENGINE_READY_TIMEOUT_S": "ten"}, None, {"config-environment-variable-invalid"}),
    ],
)
def test_variables_that_kubernetes_or_people_set(environment, container, expected):
    case = case_of(LLAMA_8B, "", environment=environment, container=container)

    assert rules_of(findings_of(case, "config")) == expected


def test_this_machine_can_be_read():
    host = read_host({"HOME": "/tmp"})

    assert "lo" in host.interfaces
    assert host.open_files
    assert host.memory
    assert host.python.startswith("3.")


@pytest.mark.parametrize(
    ("name", "exists"),
    [
        ("email", True),
        ("email.mime", True),
        ("email.mime.text", True),
        ("email.nothing", False),
        ("no_such_one.at_all", False),
    ],
)
def test_modules_are_looked_up_by_their_files(name, exists):
    assert has_module(name) is exists


def test_looking_a_module_up_runs_none_of_its_code(tmp_path, monkeypatch):
    package = tmp_path / "loud_package"
    package.mkdir()
    (package / "__init__.py").write_text("raise SystemExit('it ran')")
    (package / "inner.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))

    assert has_module("loud_package.inner")
