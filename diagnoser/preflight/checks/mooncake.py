"""Mooncake on one instance: the settings file of its reader, host names, bootstrap server, transport, package."""

from __future__ import annotations

from collections.abc import Iterator

from diagnoser.model import Finding, Remedy
from diagnoser.preflight.addresses import P2P, host_port, is_any, is_loopback, split_url
from diagnoser.preflight.case import Case
from diagnoser.preflight.checks.kv_transfer import extra_of, names_of
from diagnoser.preflight.findings import error, ok, skipped, warning
from diagnoser.preflight.mooncake_problem import Problem, Reader
from diagnoser.preflight.mooncake_rules import all_problems
from diagnoser.preflight.numbers import whole

_ASCEND = ("MooncakeConnectorV1", "MooncakeLayerwiseConnector", "MooncakeHybridConnector")


def _names(case: Case) -> tuple[str, ...]:
    return names_of(case.deployment.kv_transfer)


def uses_mooncake(case: Case) -> bool:
    """Whether anything of Mooncake is configured."""
    return any("Mooncake" in name for name in _names(case)) or case.store is not None


def reader_of(case: Case) -> Reader:
    """Who reads the settings file of this case."""
    if case.loader is not None:
        return case.loader
    if "MooncakeStoreConnector" in _names(case) or (not _names(case) and _looks_like_vllm(case)):
        return "vllm"
    return "mooncake"


def _looks_like_vllm(case: Case) -> bool:
    values = case.store.values if case.store is not None else None
    return values is not None and "local_hostname" not in values


def check_settings_file(case: Case) -> Iterator[Finding]:
    """The JSON that MOONCAKE_CONFIG_PATH names, against the rules of whoever reads it."""
    name, store = "mooncake-settings", case.store
    if store is None:
        yield from _no_file(case, name)
        return
    inputs = {"file": store.path, "read by": _reader_words(reader_of(case))}
    if store.values is None:
        yield error(
            name,
            "mooncake-config-file-missing",
            f"The Mooncake settings can't be read: {store.problem}",
            "MOONCAKE_CONFIG_PATH has to name a JSON file that holds an object, in every worker.",
            inputs,
        )
        return
    reader = reader_of(case)
    problems = list(all_problems(store.values, reader))
    for problem in problems:
        yield _finding(name, problem, {**inputs, problem.key: store.values.get(problem.key)})
    if not any(problem.severe for problem in problems):
        yield ok(name, f"The Mooncake settings suit {_reader_words(reader)}", inputs)


def _reader_words(reader: Reader) -> str:
    return {"vllm": "vLLM's store connector", "mooncake": "Mooncake's own loader", "engine": "the transfer engine"}[
        reader
    ]


def _finding(name: str, problem: Problem, inputs: dict[str, object]) -> Finding:
    make = error if problem.severe else warning
    return make(name, problem.rule, problem.text, problem.why, inputs, problem.steps)


def _no_file(case: Case, name: str) -> Iterator[Finding]:
    names = _names(case)
    if "MooncakeStoreConnector" in names:
        if case.deployment.environment_known:
            yield error(
                name,
                "mooncake-config-file-missing",
                "MooncakeStoreConnector needs MOONCAKE_CONFIG_PATH, and it is not set",
                "The connector reads its servers, transport and sizes from the JSON file that this variable names.",
                {"kv_connector": "MooncakeStoreConnector"},
                [
                    Remedy(
                        "Write the file and name it, on every node.", "export MOONCAKE_CONFIG_PATH=/etc/mooncake.json"
                    )
                ],
            )
        else:
            yield skipped(
                name, "The settings of MooncakeStoreConnector", "--mooncake-config FILE or MOONCAKE_CONFIG_PATH"
            )
    elif "MooncakeConnector" in names:
        yield ok(
            name,
            "MooncakeConnector needs no metadata server and no settings file",
            None,
            f"vLLM starts its engine with {P2P}; the two sides find each other through the bootstrap server.",
        )


def check_host_address(case: Case) -> Iterator[Finding]:
    """vLLM tells peers VLLM_HOST_IP, or else the address of the default route."""
    if not any(name in ("MooncakeConnector", "MooncakeStoreConnector") for name in _names(case)):
        return
    name = "mooncake-host-address"
    variable = "VLLM_HOST_IP"
    address = case.deployment.environ(variable)
    if override := case.deployment.environ("MOONCAKE_REQUESTER_LOCAL_HOSTNAME"):
        variable, address = "MOONCAKE_REQUESTER_LOCAL_HOSTNAME", override
    inputs = {variable: address, "HOST_IP": case.deployment.environ("HOST_IP")}
    if address and (is_any(address) or split_url(address) or host_port(address)):
        yield error(
            name,
            "network-host-ip-undetected",
            f"{variable} {address!r} is no address that peers can connect to",
            "It is the bare address of this host, without scheme and port.",
            inputs,
            [Remedy("Give this host's address.", f"export {variable}=$(hostname -I | cut -d' ' -f1)")],
        )
    elif address and is_loopback(address):
        yield warning(
            name,
            "network-host-ip-undetected",
            f"{variable} is the loopback address {address}",
            "Peers on other hosts then connect to themselves and are refused. It works on one host only.",
            inputs,
            [Remedy("Give this host's address.", f"export {variable}=$(hostname -I | cut -d' ' -f1)")],
        )
    elif address:
        yield ok(name, f"Peers are told {address}", inputs)
    elif not case.deployment.environment_known:
        yield skipped(name, "The address that peers are told", "VLLM_HOST_IP (--env or --env-file)")
    elif case.deployment.environ("HOST_IP"):
        yield warning(
            name,
            "network-host-ip-undetected",
            "HOST_IP is set, but vLLM reads VLLM_HOST_IP",
            "Releases from 0.9 on ignore HOST_IP.",
            inputs,
            ["Rename the variable to VLLM_HOST_IP."],
        )
    else:
        yield ok(
            name,
            "VLLM_HOST_IP is not set: vLLM takes the address of the default route",
            None,
            "On a host with several networks, set it to the address that the other side can reach.",
        )


def check_bootstrap(case: Case) -> Iterator[Finding]:
    """MooncakeConnector: the bootstrap server of the prefill side."""
    if "MooncakeConnector" not in _names(case):
        return
    name = "mooncake-bootstrap"
    address = extra_of(case.deployment.kv_transfer, "MooncakeConnector").get("bootstrap_server_address")
    port = case.deployment.environ("VLLM_MOONCAKE_BOOTSTRAP_PORT")
    inputs = {"bootstrap_server_address": address, "VLLM_MOONCAKE_BOOTSTRAP_PORT": port}
    if address is not None and (not isinstance(address, str) or host_port(address) is None):
        yield error(
            name,
            "mooncake-bootstrap-address-invalid",
            f"bootstrap_server_address {address!r} is not HOST:PORT",
            "It takes no scheme and needs a port.",
            inputs,
            [_bare(str(address))],
        )
    elif address and case.deployment.kv_transfer.get("kv_role") == "kv_producer":
        yield warning(
            name,
            "mooncake-bootstrap-register-failed",
            "bootstrap_server_address is set on a producer, so vLLM starts no bootstrap server of its own",
            "The workers register at that address, and somebody else has to serve it.",
            inputs,
            ["Leave it out unless such a server runs."],
        )
    if port is not None and (whole(port) is None or not 0 < (whole(port) or 0) < 65536):
        yield error(
            name,
            "config-environment-variable-invalid",
            f"VLLM_MOONCAKE_BOOTSTRAP_PORT {port!r} is no port",
            "It is a number from 1 to 65535, 8998 unless set.",
            inputs,
        )
    http = case.deployment.whole("port", 8000)
    if whole(port) == http or (port is None and http == 8998):
        yield error(
            name,
            "mooncake-bootstrap-port-in-use",
            f"The bootstrap server and the HTTP server both want port {http}",
            "They listen in the same process tree on the same host.",
            {**inputs, "port": http},
            [Remedy("Give the bootstrap server another port.", "export VLLM_MOONCAKE_BOOTSTRAP_PORT=8998")],
        )


def _bare(address: str) -> str:
    url = split_url(address)
    return f"Write {url[1].split('/')[0]}." if url and url[1] else "Write it as prefill-0:8998."


def check_ascend(case: Case) -> Iterator[Finding]:
    """vllm-ascend: the sizes of both sides are repeated in kv_connector_extra_config and have to be the real ones."""
    config, deployment = case.deployment.kv_transfer, case.deployment
    connector = next((name for name in _names(case) if name in _ASCEND), None)
    if connector is None:
        return
    name, extra = "mooncake-ascend-sizes", extra_of(config, connector)
    half = {"kv_producer": "prefill", "kv_consumer": "decode"}.get(str(config.get("kv_role")))
    stated = {side: extra.get(side) for side in ("prefill", "decode")}
    lacking = [side for side, value in stated.items() if not isinstance(value, dict)]
    inputs: dict[str, object] = {
        "kv_connector": connector,
        "kv_role": config.get("kv_role"),
        **deployment.parallel_inputs,
    }
    if lacking:
        yield error(
            name,
            "mooncake-tp-sizes-incompatible",
            f"{connector} needs the sizes of both sides; {' and '.join(lacking)} missing in kv_connector_extra_config",
            "vllm-ascend maps ranks with prefill.tp_size, prefill.dp_size, decode.tp_size and decode.dp_size.",
            inputs,
        )
        return
    own = stated.get(half or "") or {}
    wrong = [
        f"{half}.{key} is {own[key]} and the flag says {real}"
        for key, real in (("tp_size", deployment.tp), ("dp_size", deployment.dp), ("pp_size", deployment.pp))
        if isinstance(own, dict) and key in own and own[key] != real
    ]
    prefill, decode = stated["prefill"] or {}, stated["decode"] or {}
    sizes = (whole(prefill.get("tp_size")) or 1, whole(decode.get("tp_size")) or 1)
    if sizes[0] < sizes[1] or sizes[0] % sizes[1]:
        wrong.append(f"the prefill TP {sizes[0]} has to be a multiple of the decode TP {sizes[1]}")
    if wrong:
        yield error(
            name, "mooncake-tp-sizes-incompatible", "; ".join(wrong), "Ranks would look for the wrong peers.", inputs
        )
    else:
        yield ok(name, "The sizes in kv_connector_extra_config are those of this instance", inputs)


def check_store_options(case: Case) -> Iterator[Finding]:
    """MooncakeStoreConnector: settings that it refuses."""
    if "MooncakeStoreConnector" not in _names(case):
        return
    extra = extra_of(case.deployment.kv_transfer, "MooncakeStoreConnector")
    if extra.get("load_async") is False:
        yield error(
            "mooncake-store-options",
            "mooncake-store-setting-unsupported",
            "load_async false is not supported by MooncakeStoreConnector",
            "It loads caches in the background only.",
            {"load_async": False},
            ["Leave load_async out."],
        )
    if extra.get("custom_mem_pool") and case.deployment.flag("enable_sleep_mode"):
        yield error(
            "mooncake-store-options",
            "mooncake-store-setting-unsupported",
            "custom_mem_pool does not go with --enable-sleep-mode",
            "Both want to place the KV cache.",
            {"custom_mem_pool": extra["custom_mem_pool"]},
        )
    speculative = case.deployment.table("speculative_config")
    if speculative:
        yield warning(
            "mooncake-store-options",
            "mooncake-store-spec-decode-tokens",
            "Speculative decoding with MooncakeStoreConnector has failed on token counts",
            "Reports name tensors that are num_speculative_tokens too long. Test it before production.",
            {"method": speculative.get("method"), "num_speculative_tokens": speculative.get("num_speculative_tokens")},
        )


def check_shared_name(case: Case) -> Iterator[Finding]:
    """A fixed port in local_hostname, which every rank of an instance would register."""
    values = case.store.values if case.store is not None else None
    hostname = (values or {}).get("local_hostname")
    ranks = case.deployment.local_world_size
    if reader_of(case) == "vllm" or not isinstance(hostname, str) or host_port(hostname) is None or ranks < 2:
        return
    yield error(
        "mooncake-shared-name",
        "mooncake-store-name-collision",
        f"local_hostname {hostname!r} has a port, and {ranks} ranks would register under it",
        "A name can be registered once only.",
        {"local_hostname": hostname, "ranks": ranks},
        [f"Leave the port out: {hostname.rpartition(':')[0]}. Mooncake then takes a free one for each rank."],
    )


CHECKS = (
    check_settings_file,
    check_host_address,
    check_bootstrap,
    check_ascend,
    check_store_options,
    check_shared_name,
)
