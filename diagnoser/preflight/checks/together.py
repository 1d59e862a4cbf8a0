"""Several instances on one host: every port may be taken only once.

Instances share a host when they tell the same VLLM_HOST_IP, are started by one script, or are Compose services in the
host's network.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from diagnoser.model import Finding, Remedy
from diagnoser.preflight.case import Case
from diagnoser.preflight.checks.kv_transfer import extra_of, names_of
from diagnoser.preflight.deployment import Deployment
from diagnoser.preflight.findings import error, ok
from diagnoser.preflight.numbers import whole

_RULES = {
    "HTTP": "network-http-port-in-use",
    "Mooncake bootstrap": "mooncake-bootstrap-port-in-use",
    "NIXL side channel": "kv-transfer-nixl-side-channel-port",
    "Mooncake lookup": "mooncake-store-lookup-socket",
}
_SETTINGS = {
    "HTTP": "--port",
    "Mooncake bootstrap": "VLLM_MOONCAKE_BOOTSTRAP_PORT",
    "NIXL side channel": "VLLM_NIXL_SIDE_CHANNEL_PORT",
    "Mooncake lookup": "lookup_rpc_port",
}


def check_ports(cases: Sequence[tuple[str, Case]]) -> Iterator[Finding]:
    """HTTP, bootstrap, side-channel and lookup ports of instances on the same host."""
    compared = 0
    for (left_name, left), (right_name, right) in combinations(cases, 2):
        if not _same_host(left.deployment, right.deployment):
            continue
        compared += 1
        mine, theirs = ports_of(left.deployment), ports_of(right.deployment)
        for purpose in mine.keys() & theirs.keys():
            shared = sorted(set(mine[purpose]) & set(theirs[purpose]))
            if shared:
                yield error(
                    "together-ports",
                    _RULES[purpose],
                    f"{left_name} and {right_name} both want port {shared[0]} ({purpose}) of one host",
                    "The second one to start finds it taken.",
                    {left_name: mine[purpose][0], right_name: theirs[purpose][0]},
                    [Remedy(f"Give one of them another port: {_SETTINGS[purpose]}.")],
                )
    if compared:
        yield ok("together-ports", f"Ports of {compared} pairs of instances on one host were compared")


def _same_host(left: Deployment, right: Deployment) -> bool:
    one, two = left.environ("VLLM_HOST_IP"), right.environ("VLLM_HOST_IP")
    if one and two:
        return one == two
    if left.container is not None and right.container is not None:
        host = left.container.host_network and right.container.host_network
        return host and left.container.kind == right.container.kind != "kubernetes"
    script = left.origin.partition(", line ")
    return (
        left.container is right.container is None and bool(script[1]) and right.origin.startswith(script[0] + script[1])
    )


def ports_of(deployment: Deployment) -> dict[str, list[int]]:
    """The ports that an instance listens on, by what they are for."""
    names = names_of(deployment.kv_transfer)
    found = {"HTTP": [deployment.whole("port", 8000)]}
    extra = extra_of(deployment.kv_transfer, "MooncakeConnector")
    produces = deployment.kv_transfer.get("kv_role") in ("kv_producer", "kv_both")
    if "MooncakeConnector" in names and produces and not extra.get("bootstrap_server_address"):
        found["Mooncake bootstrap"] = [whole(deployment.environ("VLLM_MOONCAKE_BOOTSTRAP_PORT")) or 8998]
    if any(name.startswith("Nixl") for name in names):
        first = whole(deployment.environ("VLLM_NIXL_SIDE_CHANNEL_PORT")) or 5600
        found["NIXL side channel"] = [first + rank for rank in range(min(deployment.local_dp, 256))]
    lookup = whole(extra_of(deployment.kv_transfer, "MooncakeStoreConnector").get("lookup_rpc_port"))
    if lookup:
        found["Mooncake lookup"] = [lookup]
    return found


GROUP_CHECKS = (check_ports,)
