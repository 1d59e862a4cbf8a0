"""The network of the serving machine: the interfaces that Gloo and NCCL are told to use, and the HTTP port."""

from __future__ import annotations

from collections.abc import Iterator

from diagnoser.model import Finding, Remedy
from diagnoser.preflight.case import NO_HOST, Case
from diagnoser.preflight.findings import error, ok, skipped, warning


def check_interfaces(case: Case) -> Iterator[Finding]:
    """Gloo takes plain names; NCCL takes prefixes, with `^` to exclude and `=` for exact names."""
    gloo = case.deployment.environ("GLOO_SOCKET_IFNAME")
    if gloo is not None:
        yield _gloo(case, gloo)
    nccl = case.deployment.environ("NCCL_SOCKET_IFNAME")
    if nccl is not None:
        found = _nccl(case, nccl)
        if found is not None:
            yield found


def _gloo(case: Case, value: str) -> Finding:
    name, rule, inputs = "environment-gloo", "network-gloo-interface-name", {"GLOO_SOCKET_IFNAME": value}
    parts = [part.strip() for part in value.split(",")]
    odd = [part for part in parts if not part or part[0] in "^=" or any(sign in part for sign in " *?[]")]
    if odd:
        return error(
            name,
            rule,
            f"GLOO_SOCKET_IFNAME {value!r} is written the way NCCL takes it",
            "Gloo wants exact names of interfaces; exclusions and prefixes do not work.",
            inputs,
            [Remedy("Name the interface.", "ip -brief address")],
        )
    if case.host is None:
        return skipped(name, f"Whether the interface {value} exists", NO_HOST)
    inputs["interfaces"] = ", ".join(case.host.interfaces)
    absent = [part for part in parts if part not in case.host.interfaces]
    if absent and case.host.interfaces:
        return error(
            name,
            rule,
            f"This host has no interface {absent[0]}",
            "GLOO_SOCKET_IFNAME has to name an interface of every node.",
            inputs,
            [Remedy("See which there are.", "ip -brief address")],
        )
    if parts == ["lo"]:
        return warning(
            name,
            "network-gloo-loopback",
            "GLOO_SOCKET_IFNAME is the loopback",
            "Ranks on other hosts then connect to themselves.",
            inputs,
        )
    return ok(name, f"Gloo uses {value}", inputs)


def _nccl(case: Case, value: str) -> Finding | None:
    name, inputs = "environment-nccl", {"NCCL_SOCKET_IFNAME": value}
    if case.host is None:
        return skipped(name, f"Whether NCCL_SOCKET_IFNAME {value} leaves an interface", NO_HOST)
    interfaces = case.host.interfaces
    exclude, exact = value.startswith("^"), value.startswith(("=", "^="))
    parts = [part.strip() for part in value.lstrip("^=").split(",") if part.strip()]

    def named(interface: str) -> bool:
        return any(interface == part if exact else interface.startswith(part) for part in parts)

    left = [interface for interface in interfaces if named(interface) != exclude]
    inputs["interfaces"] = ", ".join(interfaces)
    if interfaces and not left:
        return error(
            name,
            "network-nccl-no-interface",
            f"NCCL_SOCKET_IFNAME {value!r} leaves no interface of this host",
            "Names are prefixes unless they begin with =, and ^ excludes.",
            inputs,
            [Remedy("See which there are.", "ip -brief address")],
        )
    return ok(name, f"NCCL may use {', '.join(left)}", inputs)


def check_port(case: Case) -> Iterator[Finding]:
    """Whether the HTTP port is free on the serving machine; a listening socket is opened and closed at once."""
    if case.host is None or case.log is not None:
        return
    import errno
    import socket

    port = case.deployment.whole("port", 8000)
    address = case.deployment.text("host") or "0.0.0.0"
    name, inputs = "environment-port", {"host": address, "port": port}
    if not 0 < port < 65536:
        yield error(
            name, "config-cli-argument-invalid", f"--port {port} is no port", "It is a number from 1 to 65535.", inputs
        )
        return
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((address, port))
    except OSError as failure:
        rules = {
            errno.EADDRINUSE: ("network-http-port-in-use", f"Port {port} of {address} is taken"),
            errno.EADDRNOTAVAIL: ("network-address-not-local", f"This host has no address {address}"),
            errno.EACCES: ("network-port-not-permitted", f"This user may not open port {port}"),
        }
        rule, title = rules.get(failure.errno or 0, ("", ""))
        if rule:
            yield error(
                name,
                rule,
                title,
                "The server binds it before it loads the model.",
                inputs,
                [
                    Remedy("See who has it.", f"ss -ltnp 'sport = :{port}'")
                    if "taken" in title
                    else "Choose another one."
                ],
            )
        return
    yield ok(name, f"Port {port} of {address} is free", inputs)


CHECKS = (check_interfaces, check_port)
