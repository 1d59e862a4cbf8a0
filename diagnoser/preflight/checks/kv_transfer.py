"""`--kv-transfer-config` of one instance: keys, role, connector, children, and what goes with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from shlex import quote
from typing import Any

from diagnoser.model import Finding, Remedy
from diagnoser.preflight.case import NO_HOST, Case
from diagnoser.preflight.findings import error, ok, skipped, warning
from diagnoser.preflight.known_names import ASCEND_CONNECTORS, CONNECTORS, NEWEST, REMOVED_CONNECTORS
from diagnoser.preflight.numbers import in_words
from diagnoser.preflight.packages import has_module
from diagnoser.preflight.versions import at_least, release

ROLES = ("kv_producer", "kv_consumer", "kv_both")
KEYS = frozenset(
    (
        "kv_connector",
        "engine_id",
        "kv_buffer_device",
        "kv_role",
        "kv_port",
        "kv_ip",
        "kv_connector_extra_config",
        "kv_connector_module_path",
        "enable_permute_local_kv",
        "kv_load_failure_policy",
    )
)
REMOVED_KEYS = frozenset(("kv_rank", "kv_parallel_size", "kv_buffer_size"))
"""Keys of recipes for releases up to 0.26."""
PACKAGES = {
    "LMCacheConnectorV1": ("lmcache", "lmcache"),
    "LMCacheMPConnector": ("lmcache", "lmcache"),
    "NixlConnector": ("nixl", "nixl"),
    "NixlPullConnector": ("nixl", "nixl"),
    "NixlPushConnector": ("nixl", "nixl"),
}
"""Connector: the module that it imports, and the package that brings it."""


def connectors_of(config: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The connector's own settings and those of the children of a MultiConnector."""
    if config.get("kv_connector") != "MultiConnector":
        return [dict(config)] if config else []
    children = _extra(config).get("connectors")
    return [child for child in children if isinstance(child, dict)] if isinstance(children, list) else []


def names_of(config: Mapping[str, Any]) -> tuple[str, ...]:
    """Names of all connectors, children included."""
    found = [config.get("kv_connector"), *(child.get("kv_connector") for child in connectors_of(config))]
    return tuple(dict.fromkeys(str(name) for name in found if name))


def extra_of(config: Mapping[str, Any], name: str) -> dict[str, Any]:
    """`kv_connector_extra_config` of the connector with this name."""
    for child in connectors_of(config):
        if child.get("kv_connector") == name:
            return _extra(child)
    return {}


def _extra(config: Mapping[str, Any]) -> dict[str, Any]:
    value = config.get("kv_connector_extra_config")
    return value if isinstance(value, dict) else {}


def check_keys(case: Case) -> Iterator[Finding]:
    """vLLM: config/kv_transfer.py takes no other key."""
    name, config = "kv-transfer-keys", case.deployment.kv_transfer
    if not config:
        return
    version = case.deployment.vllm_version
    odd = [key for key in config if key not in KEYS]
    removed = [key for key in odd if key in REMOVED_KEYS]
    unknown = [key for key in odd if key not in REMOVED_KEYS]
    gone = at_least(version, "0.27")
    if removed and gone is not False:
        finding = error if gone else warning
        yield finding(
            name,
            "kv-transfer-unknown-key",
            f"{in_words(removed, 'and')} gone from --kv-transfer-config",
            "Recipes for releases up to 0.26 have it; vLLM 0.32 refuses it (Unexpected keyword argument).",
            {"vllm": version, "keys": sorted(config)},
            ["Leave it out; the connector needs nothing in its place."],
        )
    if unknown:
        yield error(
            name,
            "kv-transfer-unknown-key",
            f"{in_words(unknown, 'and')} {'is' if len(unknown) == 1 else 'are'} no key of --kv-transfer-config",
            "vLLM refuses keys that it does not know. Settings of the connector itself stand inside "
            "kv_connector_extra_config.",
            {"keys": sorted(config)},
            [_meant(key) for key in unknown],
        )
    if not odd:
        yield ok(name, "The keys of --kv-transfer-config are known")


def _meant(key: str) -> str:
    from difflib import get_close_matches

    found = get_close_matches(key, KEYS, n=1, cutoff=0.75)
    return (
        f"{key}: was {found[0]} meant?" if found else f"{key}: move it into kv_connector_extra_config, or leave it out."
    )


def check_role(case: Case) -> Iterator[Finding]:
    """vLLM: config/kv_transfer.py."""
    name, config = "kv-transfer-role", case.deployment.kv_transfer
    if not config.get("kv_connector"):
        if config:
            yield warning(
                name,
                "kv-transfer-role-invalid",
                "--kv-transfer-config names no kv_connector",
                "Without one nothing is transferred, whatever else it says.",
                {"keys": sorted(config)},
            )
        return
    role = config.get("kv_role")
    inputs = {"kv_connector": config["kv_connector"], "kv_role": role}
    if role in ROLES:
        yield ok(name, f"kv_role is {role}", inputs)
        return
    title = "kv_role is missing" if role is None else f"kv_role {role!r} does not exist"
    yield error(
        name,
        "kv-transfer-role-invalid",
        title,
        f"A connector needs a role: {in_words(ROLES)}.",
        inputs,
        ["Set kv_producer for prefill, kv_consumer for decode, kv_both for a shared store."],
    )


def check_connector(case: Case) -> Iterator[Finding]:
    """vLLM: kv_connector/factory.py."""
    config = case.deployment.kv_transfer
    if not config.get("kv_connector"):
        return
    if config["kv_connector"] == "MultiConnector":
        children = connectors_of(config)
        if not children:
            yield error(
                "kv-transfer-connector",
                "kv-transfer-connector-not-loadable",
                "MultiConnector has no children",
                "It takes them from kv_connector_extra_config.connectors, a list of objects.",
                {"kv_connector": "MultiConnector"},
            )
        for number, child in enumerate(children, 1):
            yield from _connector(case, child, f"Child {number} of MultiConnector: ")
            if child.get("kv_role") not in ROLES:
                yield error(
                    "kv-transfer-role",
                    "kv-transfer-role-invalid",
                    f"Child {number} of MultiConnector ({child.get('kv_connector')}) has no valid kv_role",
                    f"Each child is a configuration of its own and needs one: {in_words(ROLES)}.",
                    {"kv_role": child.get("kv_role")},
                )
        return
    yield from _connector(case, config, "")


def _connector(case: Case, config: Mapping[str, Any], prefix: str) -> Iterator[Finding]:
    name, connector = "kv-transfer-connector", str(config.get("kv_connector"))
    version, rule = case.deployment.vllm_version, "kv-transfer-connector-not-loadable"
    inputs = {"kv_connector": connector, "vllm": version}
    if module := config.get("kv_connector_module_path"):
        yield from _custom(case, connector, str(module), prefix)
        return
    if connector in CONNECTORS:
        yield ok(name, f"{prefix}{connector} is a connector of vLLM {NEWEST}", inputs)
        return
    if connector in ASCEND_CONNECTORS:
        if case.deployment.platform in (None, "npu"):
            yield ok(name, f"{prefix}{connector} comes with vllm-ascend", inputs)
        else:
            yield error(
                name,
                rule,
                f"{prefix}{connector} is a connector of vllm-ascend, and this is {case.deployment.platform}",
                "vLLM itself does not have it.",
                inputs,
                [_nearest(connector)],
            )
        return
    if connector in REMOVED_CONNECTORS:
        gone, instead = REMOVED_CONNECTORS[connector]
        state = at_least(version, gone)
        if connector == "P2pNcclConnector" and case.deployment.platform == "cpu" and not state:
            yield error(
                name,
                "kv-transfer-connector-package-missing",
                f"{prefix}{connector} needs NCCL, which a CPU does not have",
                "It moves caches between NVIDIA GPUs.",
                inputs,
            )
            return
        if state is False:
            yield ok(name, f"{prefix}{connector} is a connector of vLLM {release(version)}", inputs)
            return
        yield (error if state or connector != "SharedStorageConnector" else warning)(
            name,
            rule,
            f"{prefix}{connector} is gone from vLLM {gone} and later",
            "Older recipes name it; vLLM now stops with Unsupported connector type.",
            inputs,
            [f"Use {instead}."],
        )
        return
    yield (warning if at_least(version, "0.33") else error)(
        name,
        rule,
        f"{prefix}{connector} is no connector of vLLM",
        f"No release up to {NEWEST} registers it. If a plug-in does, give kv_connector_module_path.",
        inputs,
        [_nearest(connector)],
    )


def _nearest(connector: str) -> str:
    from difflib import get_close_matches

    found = get_close_matches(connector, sorted(CONNECTORS), n=1, cutoff=0.6)
    return f"Was {found[0]} meant?" if found else f"Known are {in_words(sorted(CONNECTORS), 'and')}."


def _custom(case: Case, connector: str, module: str, prefix: str) -> Iterator[Finding]:
    name, inputs = "kv-transfer-connector", {"kv_connector": connector, "kv_connector_module_path": module}
    if case.host is None:
        yield skipped(name, f"{prefix}Whether {module} can be imported", NO_HOST)
        return
    if has_module(module):
        yield ok(name, f"{prefix}{module} can be found", inputs)
        return
    yield error(
        name,
        "kv-transfer-connector-not-loadable",
        f"{prefix}{module} can't be imported here",
        "vLLM imports the module of kv_connector_module_path for the connector.",
        inputs,
        [Remedy("Install the package that brings it, or correct the path.", f"python3 -c {quote(f'import {module}')}")],
    )


def check_packages(case: Case) -> Iterator[Finding]:
    """The library behind a connector, on the serving machine."""
    names = names_of(case.deployment.kv_transfer)
    for connector in names:
        if connector not in PACKAGES:
            continue
        module, package = PACKAGES[connector]
        if case.host is None:
            yield skipped("kv-transfer-package", f"{package} for {connector}", NO_HOST)
        elif package in case.host.versions:
            yield ok("kv-transfer-package", f"{package} {case.host.versions[package]} is installed for {connector}")
        else:
            yield error(
                "kv-transfer-package",
                "kv-transfer-connector-package-missing",
                f"{package} is not installed, and {connector} needs it",
                f"The connector imports {module}.",
                {"kv_connector": connector},
                [Remedy("Install it into the environment of vLLM.", f"pip install {package}")],
            )


CHECKS = (
    check_keys,
    check_role,
    check_connector,
    check_packages,
)
