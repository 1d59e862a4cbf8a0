"""Which addresses of a configuration are probed (`--probe`), and what the outcome means.

Contacted are the metadata server and the master of a Mooncake settings file, and the bootstrap server that a
decode side or a `bootstrap_server_address` names. Nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from shlex import quote

from diagnoser.model import Finding, Remedy
from diagnoser.preflight import probing
from diagnoser.preflight.addresses import P2P, HostPort, host_port, is_any, split_url, targets
from diagnoser.preflight.case import Case
from diagnoser.preflight.checks.kv_transfer import extra_of
from diagnoser.preflight.findings import error, ok, warning
from diagnoser.preflight.probing import Probe

_WORDS = {
    "refused": "refuses connections",
    "timeout": "does not answer in time",
    "unresolved": "has a name that does not resolve",
    "unreachable": "can't be reached",
    "nonsense": "is not what it should be",
}


def probe_case(case: Case, timeout: float) -> Iterator[Finding]:
    """A finding for every address that was contacted."""
    values = case.store.values if case.store is not None and case.store.values is not None else {}
    server = values.get("metadata_server")
    if isinstance(server, str) and server and server != P2P:
        yield from _metadata(server, timeout)
    master = values.get("master_server_address")
    if isinstance(master, str) and master:
        yield from _master(master, timeout)
    bootstrap = extra_of(case.deployment.kv_transfer, "MooncakeConnector").get("bootstrap_server_address")
    if isinstance(bootstrap, str) and (target := host_port(bootstrap)) is not None:
        yield _bootstrap(target, timeout)
    peer_name = values.get("local_hostname")
    if isinstance(peer_name, str) and peer_name:
        yield from _name(peer_name)


def _metadata(server: str, timeout: float) -> Iterator[Finding]:
    url = split_url(server)
    scheme = url[0] if url else "etcd"
    ports = {"http": 80, "https": 443, "etcd": 2379, "redis": 6379}
    path = "/" + url[1].partition("/")[2] if url and "/" in url[1] else "/metadata"
    for target in targets(server, ports.get(scheme, 80)):
        if scheme == "http":
            result = probing.http(target, f"{path}?key=diagnoser-check", timeout, expect=(200, 400, 404))
        elif scheme == "etcd":
            result = probing.etcd(target, timeout)
        elif scheme == "redis":
            result = probing.redis(target, timeout)
        else:
            result = probing.tcp(target, timeout)
        yield _finding(
            "probe-metadata-server",
            "mooncake-metadata-server-unreachable",
            f"The metadata server {target.host}:{target.port}",
            result,
            {"metadata_server": server},
            [_try(scheme, target, path)],
        )


def _try(scheme: str, target: HostPort, path: str) -> Remedy:
    url = quote(f"http://{target.host}:{target.port}{path}?key=x")
    commands = {
        "http": f"curl --noproxy '*' -s -o /dev/null -w '%{{http_code}}\\n' {url}",
        "etcd": f"curl --noproxy '*' -s {quote(f'http://{target.host}:{target.port}/version')}",
        "redis": f"redis-cli -h {quote(target.host)} -p {target.port} ping",
    }
    return Remedy(
        "Start it, or correct the address; then try from this host.",
        commands.get(scheme, f"nc -vz {quote(target.host)} {target.port}"),
    )


def _master(master: str, timeout: float) -> Iterator[Finding]:
    url = split_url(master)
    if url is not None and url[0] == "etcd":
        for target in targets(master, 2379):
            yield _finding(
                "probe-master",
                "mooncake-ha-backend-unreachable",
                f"The etcd of the masters {target.host}:{target.port}",
                probing.etcd(target, timeout),
                {"master_server_address": master},
            )
        return
    found = host_port(url[1] if url else master)
    if found is None:
        return
    target = found
    yield _finding(
        "probe-master",
        "mooncake-master-unreachable",
        f"mooncake_master {target.host}:{target.port}",
        probing.tcp(target, timeout),
        {"master_server_address": master},
        [
            Remedy(
                "Start mooncake_master, or correct the address; then try from this host.",
                f"nc -vz {quote(target.host)} {target.port}",
            )
        ],
    )


def _bootstrap(target: HostPort, timeout: float) -> Finding:
    return _finding(
        "probe-bootstrap",
        "mooncake-bootstrap-query-failed",
        f"The bootstrap server {target.host}:{target.port}",
        probing.http(target, "/query", timeout),
        {"bootstrap_server_address": f"{target.host}:{target.port}"},
        [
            Remedy(
                "Start the prefill side first; then try from this host.",
                f"curl {quote(f'http://{target.host}:{target.port}/query')}",
            )
        ],
    )


def _name(value: str) -> Iterator[Finding]:
    pair = host_port(value)
    host = pair.host if pair else value
    if is_any(host):
        return
    addresses, problem = probing.resolve(host)
    if problem is not None:
        yield error(
            "probe-host-name",
            "mooncake-peer-name-unresolvable",
            f"The host name {host} does not resolve",
            "Set-up passes all the same, and the first transfer fails.",
            {"local_hostname": value, "contacted": problem.contacted, "answer": problem.detail},
            [Remedy("Try it on the other host too.", f"getent hosts {quote(host)}")],
        )
    else:
        yield ok("probe-host-name", f"{host} resolves to {', '.join(addresses[:4])}", {"contacted": f"DNS {host}"})


def _finding(
    name: str, rule: str, what: str, result: Probe, inputs: dict[str, object], steps: list[Remedy] | None = None
) -> Finding:
    inputs = {**inputs, "contacted": result.contacted, "answer": result.detail or None}
    if result.outcome == "up":
        return ok(name, f"{what} answers", inputs)
    make = warning if result.outcome == "timeout" and "master" in name and "etcd" in what else error
    why = f"Contacted: {result.contacted}; {result.detail}." if result.detail else f"Contacted: {result.contacted}."
    return make(name, rule, f"{what} {_WORDS[result.outcome]}", why, inputs, steps or [])
