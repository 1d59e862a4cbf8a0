"""`--kv-transfer-config` of one instance, Mooncake's settings, and the two sides against each other."""

import json

import pytest
from preflight_models import LLAMA_8B, QWEN3_NEXT, case_of, findings_of, rules_of

from diagnoser.preflight import run
from diagnoser.preflight.arguments import Request
from diagnoser.preflight.case import StoreFile
from diagnoser.preflight.host import Host
from diagnoser.preflight.nvidia import Gpu

ROLE = "kv-transfer-role-invalid"
CONNECTOR = "kv-transfer-connector-not-loadable"
KEY = "kv-transfer-unknown-key"
VALUE = "mooncake-config-value-invalid"
GOOD_STORE = {"metadata_server": "P2PHANDSHAKE", "master_server_address": "master:50051", "protocol": "tcp"}


def transfer(config, **changes):
    case = case_of(LLAMA_8B, "")
    options = {**changes.pop("options", {}), "kv_transfer_config": config}
    return case._replace(deployment=case.deployment._replace(options=options, **changes))


def errors(config, *subjects, status="error", **changes):
    return rules_of(findings_of(transfer(config, **changes), *subjects), status)


ONE_SIDE = [
    ({"kv_connector": "MooncakeConnector", "kv_role": "kv_producer"}, set()),
    ({"kv_connector": "NixlConnector", "kv_role": "kv_both", "kv_load_failure_policy": "recompute"}, set()),
    ({"kv_connector": "MooncakeConnector"}, {ROLE}),
    ({"kv_connector": "MooncakeConnector", "kv_role": "prefill"}, {ROLE}),
    ({"kv_connector": "MooncakeStoreConnectorV1", "kv_role": "kv_both"}, {CONNECTOR}),
    ({"kv_connector": "P2pNcclConnector", "kv_role": "kv_producer"}, {CONNECTOR}),
    ({"kv_connector": "NixlConnector", "kv_role": "kv_both", "kv_conector_extra_config": {}}, {KEY}),
    ({"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer"}, set()),
    ({"kv_connector": "MultiConnector", "kv_role": "kv_both"}, {CONNECTOR}),
    (
        {
            "kv_connector": "MultiConnector",
            "kv_role": "kv_both",
            "kv_connector_extra_config": {
                "connectors": [
                    {"kv_connector": "NixlConnector", "kv_role": "kv_both"},
                    {"kv_connector": "NoSuchConnector", "kv_role": "kv_both"},
                ]
            },
        },
        {CONNECTOR},
    ),
    (
        {
            "kv_connector": "MultiConnector",
            "kv_role": "kv_both",
            "kv_connector_extra_config": {"connectors": [{"kv_connector": "NixlConnector"}]},
        },
        {ROLE},
    ),
]


@pytest.mark.parametrize(("config", "expected"), ONE_SIDE)
def test_keys_role_and_connector(config, expected):
    assert errors(config, "kv-transfer") == expected


@pytest.mark.parametrize(
    ("version", "error", "warning"), [(None, set(), {KEY}), ("0.32.0", {KEY}, set()), ("0.26.0", set(), set())]
)
def test_keys_that_were_removed_matter_from_the_release_that_refuses_them(version, error, warning):
    config = {"kv_connector": "NixlConnector", "kv_role": "kv_both", "kv_rank": 0, "kv_parallel_size": 2}

    assert errors(config, "kv-transfer", vllm_version=version) == error
    assert errors(config, "kv-transfer", vllm_version=version, status="warning") == warning


def test_a_connector_that_was_removed_still_exists_in_older_releases():
    config = {"kv_connector": "P2pNcclConnector", "kv_role": "kv_producer"}

    assert errors(config, "kv-transfer", vllm_version="0.10.2", platform="cuda") == set()
    assert errors(config, "kv-transfer", vllm_version="0.10.2", platform="cpu") == {
        "kv-transfer-connector-package-missing"
    }


def test_a_connector_of_ascend_needs_an_npu():
    config = {"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer"}

    assert errors(config, "kv-transfer", platform="cuda") == {CONNECTOR}


def test_a_module_path_is_looked_up_on_the_serving_machine_without_importing_it():
    config = {"kv_connector": "Mine", "kv_role": "kv_both", "kv_connector_module_path": "my.missing.module"}
    case = transfer(config)

    assert rules_of(findings_of(case, "kv-transfer"), "skipped") == {None}
    assert rules_of(findings_of(case._replace(host=Host()), "kv-transfer")) == {CONNECTOR}
    found = transfer({**config, "kv_connector_module_path": "email.mime.text"})._replace(host=Host())
    assert rules_of(findings_of(found, "kv-transfer")) == set()


@pytest.mark.parametrize(
    ("versions", "expected"), [({}, {"kv-transfer-connector-package-missing"}), ({"lmcache": "0.3.9"}, set())]
)
def test_the_package_behind_a_connector(versions, expected):
    case = transfer({"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"})._replace(host=Host(versions=versions))

    assert rules_of(findings_of(case, "kv-transfer")) == expected


def test_mooncake_inside_multi_stops_the_metrics_unless_they_are_off():
    config = {
        "kv_connector": "MultiConnector",
        "kv_role": "kv_both",
        "kv_connector_extra_config": {
            "connectors": [
                {"kv_connector": "MooncakeConnector", "kv_role": "kv_both"},
                {"kv_connector": "MooncakeStoreConnector", "kv_role": "kv_both"},
            ]
        },
    }
    rule = "kv-transfer-multiconnector-prom-metrics"

    assert rule in errors(config, "kv-transfer-options", status="warning")
    assert rule not in errors(config, "kv-transfer-options", status="warning", options={"disable_log_stats": True})


def test_expandable_segments_do_not_go_with_a_connector():
    config = {"kv_connector": "NixlConnector", "kv_role": "kv_both"}
    environment = {"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:512, expandable_segments:True"}

    assert errors(config, "kv-transfer-options", environment=environment) == {"kv-transfer-expandable-segments"}


def test_a_hybrid_model_is_warned_of_connectors_that_do_not_know_it():
    case = case_of(QWEN3_NEXT)
    options = {"kv_transfer_config": {"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"}}
    case = case._replace(deployment=case.deployment._replace(options=options))

    assert "kv-transfer-hma-not-supported" in rules_of(findings_of(case, "kv-transfer-options"), "warning")


@pytest.mark.parametrize(
    ("extra", "platform", "expected"),
    [
        ({"cpu_bytes_to_use": 1 << 30}, "cuda", set()),
        ({"cpu_bytes_to_use": 1 << 30}, "cpu", {"kv-transfer-offloading-config"}),
        ({}, "cuda", {"kv-transfer-offloading-config"}),
    ],
)
def test_offloading_needs_memory_and_a_gpu(extra, platform, expected):
    config = {"kv_connector": "OffloadingConnector", "kv_role": "kv_both", "kv_connector_extra_config": extra}

    assert errors(config, "kv-transfer-options", platform=platform) == expected


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("192.0.2.1", "ok"),
        ("localhost", "warning"),
        ("tcp://192.0.2.1", "error"),
        ("0.0.0.0", "error"),
        (None, "warning"),
    ],
)
def test_the_address_that_nixl_tells_its_peer(host, status):
    config = {"kv_connector": "NixlConnector", "kv_role": "kv_both"}
    environment = {"VLLM_NIXL_SIDE_CHANNEL_HOST": host} if host else {}
    case = transfer(config, environment=environment, environment_known=True)

    found = [finding.status for finding in findings_of(case, "kv-transfer-options") if "side" in finding.check]
    assert found == [status]


STORE = [
    (GOOD_STORE, set(), set()),
    ({**GOOD_STORE, "metadata_server": ""}, {"mooncake-metadata-server-missing"}, set()),
    ({"master_server_address": "a:1"}, {"mooncake-metadata-server-missing"}, set()),
    ({**GOOD_STORE, "metadata_server": "p2phandshake"}, {"mooncake-metadata-scheme-wrong"}, set()),
    ({**GOOD_STORE, "metadata_server": "192.0.2.1:2379"}, {"mooncake-metadata-scheme-wrong"}, set()),
    ({**GOOD_STORE, "metadata_server": "redis://192.0.2.1:6379"}, {"mooncake-metadata-scheme-wrong"}, set()),
    ({**GOOD_STORE, "metadata_server": "http://192.0.2.1:8080/metadata"}, set(), set()),
    ({**GOOD_STORE, "metadata_server": "http://192.0.2.1:8080"}, set(), {"mooncake-metadata-scheme-wrong"}),
    ({**GOOD_STORE, "metadata_server": "etcd://192.0.2.1:2379;192.0.2.2:2379"}, set(), set()),
    ({**GOOD_STORE, "master_server_address": ""}, {"mooncake-master-address-missing"}, set()),
    ({**GOOD_STORE, "master_server_address": "http://m:50051"}, {"mooncake-master-address-missing"}, set()),
    ({**GOOD_STORE, "master_server_address": "m"}, {"mooncake-master-unreachable"}, set()),
    ({**GOOD_STORE, "master_server_address": "etcd://a:2379"}, set(), set()),
    ({**GOOD_STORE, "protocol": "RDMA"}, {"mooncake-protocol-unsupported"}, set()),
    ({**GOOD_STORE, "protocol": "shm"}, {"mooncake-protocol-unsupported"}, set()),
    ({**GOOD_STORE, "protocol": "nvlink"}, set(), {"mooncake-protocol-unsupported"}),
    ({**GOOD_STORE, "global_segment_size": "64GiB"}, {VALUE}, set()),
    ({**GOOD_STORE, "global_segment_size": "64GB"}, set(), set()),
    ({**GOOD_STORE, "global_segment_size": 0}, {VALUE}, set()),
    ({**GOOD_STORE, "mode": "standalone-store"}, {VALUE}, set()),
    ({**GOOD_STORE, "mode": "standalone-store", "global_segment_size": 0}, set(), set()),
    ({**GOOD_STORE, "mode": "remote"}, {VALUE}, set()),
    ({**GOOD_STORE, "local_buffer_size": 0}, {VALUE}, set()),
    ({**GOOD_STORE, "local_hostname": "a"}, set(), {VALUE}),
    ({**GOOD_STORE, "enable_offload": "false"}, set(), {VALUE}),
    ({**GOOD_STORE, "tenant_id": 7}, {VALUE}, set()),
]


@pytest.mark.parametrize(("values", "expected", "warned"), STORE)
def test_the_settings_of_vllms_store_connector(values, expected, warned):
    case = transfer({"kv_connector": "MooncakeStoreConnector", "kv_role": "kv_both"})
    found = findings_of(case._replace(store=StoreFile("mooncake.json", values)), "mooncake")

    assert (rules_of(found), rules_of(found, "warning")) == (expected, warned)


OWN = [
    ({**GOOD_STORE, "local_hostname": "node-a"}, set()),
    (GOOD_STORE, {"mooncake-local-hostname-missing"}),
    ({**GOOD_STORE, "local_hostname": "0.0.0.0"}, {"mooncake-local-hostname-missing"}),
    ({**GOOD_STORE, "local_hostname": "node-a", "protocol": "TCP"}, set()),
    ({**GOOD_STORE, "local_hostname": "node-a", "global_segment_size": "4g"}, set()),
    ({**GOOD_STORE, "local_hostname": "node-a", "enable_ssd_offload": True}, {VALUE}),
    ({**GOOD_STORE, "local_hostname": "a", "enable_ssd_offload": True, "ssd_offload_path": "/mnt/ssd"}, set()),
]


@pytest.mark.parametrize(("values", "expected"), OWN)
def test_the_settings_of_mooncakes_own_loader(values, expected):
    case = case_of(None)._replace(store=StoreFile("mooncake.json", values), loader="mooncake")

    assert rules_of(findings_of(case, "mooncake")) == expected


def test_the_store_connector_without_its_file():
    config = {"kv_connector": "MooncakeStoreConnector", "kv_role": "kv_both"}

    assert errors(config, "mooncake", environment_known=True) == {"mooncake-config-file-missing"}
    assert errors(config, "mooncake") == set()
    unread = transfer(config)._replace(store=StoreFile("/etc/mooncake.json", None, "there is no such file"))
    assert rules_of(findings_of(unread, "mooncake")) == {"mooncake-config-file-missing"}


BOOTSTRAP = [
    ({}, {}, {}, set()),
    ({"bootstrap_server_address": "http://prefill:8998"}, {}, {}, {"mooncake-bootstrap-address-invalid"}),
    ({"bootstrap_server_address": "prefill"}, {}, {}, {"mooncake-bootstrap-address-invalid"}),
    ({"bootstrap_server_address": "prefill:8998"}, {}, {}, set()),
    ({}, {"VLLM_MOONCAKE_BOOTSTRAP_PORT": "abc"}, {}, {"config-environment-variable-invalid"}),
    ({}, {"VLLM_MOONCAKE_BOOTSTRAP_PORT": "9000"}, {"port": 9000}, {"mooncake-bootstrap-port-in-use"}),
    ({}, {"VLLM_HOST_IP": "http://192.0.2.1"}, {}, {"network-host-ip-undetected"}),
    ({}, {"VLLM_HOST_IP": "192.0.2.1"}, {}, set()),
]


@pytest.mark.parametrize(("extra", "environment", "options", "expected"), BOOTSTRAP)
def test_the_bootstrap_server_and_the_host_address(extra, environment, options, expected):
    config = {"kv_connector": "MooncakeConnector", "kv_role": "kv_consumer", "kv_connector_extra_config": extra}

    assert errors(config, "mooncake", environment=environment, options=options) == expected


TRANSPORT = [
    ({"mooncake_protocol": "tcp"}, Host(rdma_devices=()), set()),
    ({"mooncake_protocol": "rdma"}, Host(rdma_devices=("mlx5_0",)), set()),
    ({}, Host(rdma_devices=()), {"mooncake-rdma-device-unusable"}),
    ({"mooncake_protocol": "tcp"}, Host(rdma_devices=("mlx5_0",)), {None}),
    ({"mooncake_protocol": "quic"}, None, {"mooncake-protocol-unsupported"}),
]


@pytest.mark.parametrize(("extra", "host", "expected"), TRANSPORT)
def test_what_the_transport_setting_really_does(extra, host, expected):
    config = {"kv_connector": "MooncakeConnector", "kv_role": "kv_producer", "kv_connector_extra_config": extra}
    case = transfer(config)._replace(
        host=host._replace(versions={"mooncake-transfer-engine": "0.3.13"}) if host else None
    )

    assert rules_of(findings_of(case, "mooncake-transport"), "warning") == expected


@pytest.mark.parametrize(
    ("versions", "importable", "expected"),
    [
        ({"mooncake-transfer-engine": "0.3.13"}, True, set()),
        ({}, True, set()),
        ({}, False, {"mooncake-package-not-importable"}),
        (
            {"mooncake-transfer-engine": "0.3.13", "mooncake-transfer-engine-non-cuda": "0.3.13"},
            True,
            {"mooncake-package-not-importable"},
        ),
    ],
)
def test_exactly_one_mooncake_wheel(versions, importable, expected):
    case = transfer({"kv_connector": "MooncakeConnector", "kv_role": "kv_producer"})
    case = case._replace(host=Host(versions=versions, mooncake_importable=importable))

    assert rules_of(findings_of(case, "mooncake-transport")) == expected


def test_gpu_memory_needs_a_way_to_the_card():
    config = {"kv_connector": "MooncakeConnector", "kv_role": "kv_producer"}
    config["kv_connector_extra_config"] = {"mooncake_protocol": "rdma"}
    host = Host(rdma_devices=("mlx5_0",), gpus=(Gpu("Example GPU", 1, 1),), peer_memory=False)
    rule = "mooncake-rdma-register-gpu-memory"

    assert rule in rules_of(findings_of(transfer(config)._replace(host=host), "mooncake-transport"), "warning")
    loaded = transfer(config)._replace(host=host._replace(peer_memory=True))
    assert rule not in rules_of(findings_of(loaded, "mooncake-transport"), "warning")


def test_a_port_in_the_host_name_that_several_ranks_share():
    store = StoreFile("mooncake.json", {**GOOD_STORE, "local_hostname": "node-a:17000"})
    alone, several = (case_of(LLAMA_8B, f"-tp {tp}")._replace(store=store, loader="mooncake") for tp in (1, 2))

    assert rules_of(findings_of(alone, "mooncake")) == set()
    assert rules_of(findings_of(several, "mooncake")) == {"mooncake-store-name-collision"}


def test_an_rdma_device_that_the_host_does_not_have():
    config = {
        "kv_connector": "MooncakeConnector",
        "kv_role": "kv_producer",
        "kv_connector_extra_config": {"device_name": "mlx5_0,mlx5_9"},
    }
    host = Host(rdma_devices=("mlx5_0",), versions={"mooncake-transfer-engine": "0.3.13"})

    assert rules_of(findings_of(transfer(config)._replace(host=host), "mooncake-transport")) == {
        "mooncake-rdma-device-unusable"
    }


def test_a_proxy_that_swallows_the_metadata_server():
    values = {**GOOD_STORE, "metadata_server": "http://meta.example.com:8080/metadata"}
    case = transfer({"kv_connector": "MooncakeStoreConnector", "kv_role": "kv_both"})
    case = case._replace(store=StoreFile("mooncake.json", values))
    proxied = case.deployment._replace(environment={"http_proxy": "http://192.0.2.9:3128"})
    spared = case.deployment._replace(environment={**proxied.environment, "no_proxy": "localhost,.example.com"})
    rule = "mooncake-metadata-server-unreachable"

    assert rule in rules_of(findings_of(case._replace(deployment=proxied), "mooncake-transport"), "warning")
    assert rule not in rules_of(findings_of(case._replace(deployment=spared), "mooncake-transport"), "warning")


def test_ascend_sizes_have_to_repeat_the_flags():
    extra = {"prefill": {"tp_size": 8, "dp_size": 1}, "decode": {"tp_size": 4, "dp_size": 2}}
    config = {"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer", "kv_connector_extra_config": extra}

    assert errors(config, "mooncake", options={"tensor_parallel_size": 8}) == set()
    assert errors(config, "mooncake", options={"tensor_parallel_size": 4}) == {"mooncake-tp-sizes-incompatible"}
    assert errors({**config, "kv_connector_extra_config": {}}, "mooncake") == {"mooncake-tp-sizes-incompatible"}


SIDE = {
    "model": "/srv/models/m",
    "tensor_parallel_size": 2,
    "block_size": 16,
    "vllm_version": "0.32.0",
    "mooncake_version": "0.3.13",
    "kv_transfer_config": {"kv_connector": "MooncakeConnector", "kv_role": "kv_producer"},
    "env": {"VLLM_HOST_IP": "192.0.2.1"},
}
OTHER = {
    **SIDE,
    "kv_transfer_config": {"kv_connector": "MooncakeConnector", "kv_role": "kv_consumer"},
    "env": {"VLLM_HOST_IP": "192.0.2.2"},
}


def pair(prefill, decode):
    values = {"prefill": json.dumps(prefill), "decode": json.dumps(decode), "only": ("pair",), "not_here": True}
    return run(Request(values=values)).findings


def test_two_sides_that_fit_have_nothing_but_passes():
    assert {finding.status for finding in pair(SIDE, OTHER)} == {"ok"}


DIFFERENCES = [
    ({"block_size": 32}, "mooncake-kv-region-mismatch"),
    ({"dtype": "float16"}, None),
    ({"model": "/srv/models/other"}, "mooncake-kv-region-mismatch"),
    ({"tensor_parallel_size": 3}, "mooncake-tp-sizes-incompatible"),
    ({"vllm_version": "0.31.0"}, "mooncake-version-mismatch"),
    ({"mooncake_version": "0.3.10"}, "mooncake-version-mismatch"),
    ({"disable_hybrid_kv_cache_manager": True}, "mooncake-kv-region-mismatch"),
    ({"env": {"VLLM_HOST_IP": "192.0.2.2", "MC_FORCE_TCP": "1"}}, "mooncake-transport-backend-mismatch"),
    (
        {"kv_transfer_config": {"kv_connector": "NixlConnector", "kv_role": "kv_consumer"}},
        "kv-transfer-peers-incompatible",
    ),
    (
        {"kv_transfer_config": {"kv_connector": "MooncakeConnector", "kv_role": "kv_producer"}},
        "mooncake-request-role-misrouted",
    ),
    ({"kv_transfer_config": {}}, "kv-transfer-role-invalid"),
]


@pytest.mark.parametrize(("change", "rule"), DIFFERENCES, ids=[str(next(iter(row[0]))) for row in DIFFERENCES])
def test_what_differs_between_the_sides(change, rule):
    found = pair(SIDE, {**OTHER, **change})

    assert rules_of(list(found)) == ({rule} if rule else set())
    assert rule or rules_of(list(found), "warning") == {"mooncake-kv-region-mismatch"}


def test_the_same_engine_id_on_both_sides():
    prefill = {**SIDE, "kv_transfer_config": {**SIDE["kv_transfer_config"], "engine_id": "a"}}
    decode = {**OTHER, "kv_transfer_config": {**OTHER["kv_transfer_config"], "engine_id": "a"}}

    assert rules_of(list(pair(prefill, decode))) == {"kv-transfer-same-engine-id"}


def test_multiples_of_tp_and_pipeline_stages_are_fine_in_new_releases_only():
    decode = {**OTHER, "tensor_parallel_size": 4, "pipeline_parallel_size": 2}
    old = {"vllm_version": "0.16.0"}

    assert rules_of(list(pair(SIDE, decode))) == set()
    assert rules_of(list(pair({**SIDE, **old}, {**decode, **old}))) == {"mooncake-tp-sizes-incompatible"}


def test_a_metadata_size_is_compared_where_both_sides_state_one(tmp_path):
    from diagnoser.preflight.case import Pair
    from diagnoser.preflight.checks.pair import check_store

    stores = [StoreFile("a", {**GOOD_STORE, "metadata_size": size}) for size in (1, 2)]
    sides = Pair(*(case_of(None)._replace(store=store) for store in stores))

    assert rules_of(list(check_store(sides))) == {"mooncake-metadata-size-mismatch"}


def together(prefill, decode):
    values = {"prefill": json.dumps(prefill), "decode": json.dumps(decode), "only": ("together",), "not_here": True}
    return rules_of(list(run(Request(values=values)).findings))


PORTS = [
    ({}, {}, set()),
    ({}, {"env": {"VLLM_HOST_IP": "192.0.2.1"}}, {"network-http-port-in-use"}),
    ({}, {"env": {"VLLM_HOST_IP": "192.0.2.1"}, "port": 8001}, set()),
    (
        {"kv_transfer_config": {"kv_connector": "MooncakeConnector", "kv_role": "kv_both"}},
        {
            "env": {"VLLM_HOST_IP": "192.0.2.1"},
            "port": 8001,
            "kv_transfer_config": {"kv_connector": "MooncakeConnector", "kv_role": "kv_both"},
        },
        {"mooncake-bootstrap-port-in-use"},
    ),
    (
        {"kv_transfer_config": {"kv_connector": "NixlConnector", "kv_role": "kv_both"}, "data_parallel_size": 4},
        {
            "env": {"VLLM_HOST_IP": "192.0.2.1", "VLLM_NIXL_SIDE_CHANNEL_PORT": "5603"},
            "port": 8001,
            "kv_transfer_config": {"kv_connector": "NixlConnector", "kv_role": "kv_both"},
        },
        {"kv-transfer-nixl-side-channel-port"},
    ),
]


@pytest.mark.parametrize(("left", "right", "expected"), PORTS)
def test_ports_of_instances_on_one_host(left, right, expected):
    assert together({**SIDE, **left}, {**OTHER, **right}) == expected


def test_two_launches_of_one_script_share_a_host(tmp_path):
    script = tmp_path / "both.sh"
    script.write_text("vllm serve m --port 9000 &\nvllm serve m --port 9000 &\nwait\n")

    report = run(Request((str(script),), values={"only": ("together",), "not_here": True}))

    assert rules_of(report) == {"network-http-port-in-use"}


def test_services_with_networks_of_their_own_share_no_ports(tmp_path):
    path = tmp_path / "compose.yaml"
    service = "  {}: {{image: 'vllm/vllm-openai:v0.11.0', command: [--model, m]{}}}\n"
    for network, expected in (("", set()), (", network_mode: host", {"network-http-port-in-use"})):
        path.write_text("services:\n" + "".join(service.format(name, network) for name in "ab"))

        assert rules_of(run(Request((str(path),), values={"only": ("together",), "not_here": True}))) == expected
