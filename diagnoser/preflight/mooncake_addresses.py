"""Which addresses each reader of a Mooncake configuration takes: metadata server, master, and the host's own name."""

from __future__ import annotations

from collections.abc import Iterator

from diagnoser.preflight.addresses import P2P, host_port, is_any, is_loopback, split_url
from diagnoser.preflight.mooncake_problem import Problem, Reader

_FORMS = "P2PHANDSHAKE, http://HOST:8080/metadata or etcd://HOST:2379"


def metadata_problems(value: object, reader: Reader) -> Iterator[Problem]:
    """Form of `metadata_server`."""
    key = "metadata_server"
    if value is None or value == "":
        why = {
            "vllm": "vLLM takes an empty text for it, and Mooncake then looks for an etcd without address (rc=-200).",
            "mooncake": "Mooncake's loader raises ValueError.",
            "engine": "The transfer engine has nowhere to publish its address.",
        }[reader]
        yield Problem(
            key,
            "mooncake-metadata-server-missing",
            "metadata_server is missing",
            why,
            (f"Set metadata_server to {_FORMS}.",),
        )
        return
    if not isinstance(value, str):
        yield Problem(key, "mooncake-config-value-invalid", f"metadata_server is {value!r}, no text")
        return
    if value == P2P:
        return
    rule, url = "mooncake-metadata-scheme-wrong", split_url(value)
    if url is None:
        wrong_case = value.upper() == P2P
        yield Problem(
            key,
            rule,
            f"metadata_server {value!r} has no scheme" if not wrong_case else f"metadata_server is {value!r}",
            f"It is then taken for an etcd address and fails after 5 seconds; {P2P} is written in capitals."
            if wrong_case
            else "It is then taken for an etcd address.",
            (f"Use {_FORMS}.",),
        )
        return
    scheme, rest = url
    if scheme not in ("http", "https", "etcd"):
        yield Problem(
            key,
            rule,
            f"metadata_server has the scheme {scheme}://",
            "The wheels on PyPI have http, https and etcd; with another scheme the process aborts.",
            (f"Use {_FORMS}, or a Mooncake that was built with {scheme}.",),
        )
    elif not rest.strip("/"):
        yield Problem(key, rule, f"metadata_server {value!r} names no host", "", (f"Use {_FORMS}.",))
    elif scheme in ("http", "https") and "/" not in rest:
        yield Problem(
            key,
            rule,
            f"metadata_server {value!r} has no path",
            "Mooncake's HTTP metadata server answers at /metadata only.",
            (f"Use {value.rstrip('/')}/metadata.",),
            severe=False,
        )


def master_problems(value: object, reader: Reader) -> Iterator[Problem]:
    """Form of `master_server_address`."""
    if reader == "engine":
        return
    key, rule = "master_server_address", "mooncake-master-address-missing"
    example = ("Set master_server_address to HOST:50051, the address of mooncake_master.",)
    if value is None or value == "":
        yield Problem(
            key,
            rule,
            "master_server_address is missing",
            "The store client crashes without it (SIGSEGV in setup)."
            if reader == "vllm"
            else "ValueError in the loader.",
            example,
        )
        return
    if not isinstance(value, str):
        yield Problem(key, "mooncake-config-value-invalid", f"master_server_address is {value!r}, no text")
        return
    url = split_url(value)
    if url is not None and url[0] in ("etcd", "k8s", "redis"):
        return  # masters that run in high availability are found there
    if url is not None:
        yield Problem(
            key,
            rule,
            f"master_server_address {value!r} has a scheme",
            "The master speaks an RPC protocol of its own; only etcd:// is known here, for several masters.",
            (f"Use {url[1].rstrip('/') or 'HOST:50051'}.",),
        )
    elif host_port(value) is None:
        yield Problem(
            key,
            "mooncake-master-unreachable",
            f"master_server_address {value!r} is not HOST:PORT",
            "The client keeps trying for about 90 seconds and then gives up.",
            example,
        )


def hostname_problems(value: object, reader: Reader) -> Iterator[Problem]:
    """`local_hostname`; vLLM has no such key and uses the host's own address."""
    if reader == "vllm":
        return
    key, rule = "local_hostname", "mooncake-local-hostname-missing"
    steps = ("Set it to this host's name or address as the other hosts reach it.",)
    if value is None or value == "":
        yield Problem(key, rule, "The host name (local_hostname) is missing", "", steps)
        return
    if not isinstance(value, str):
        yield Problem(key, "mooncake-config-value-invalid", f"local_hostname is {value!r}, no text")
        return
    host = value.rsplit(":", 1)[0] if host_port(value) else value
    if is_any(host):
        yield Problem(key, rule, f"local_hostname {value!r} is no address that others can connect to", "", steps)
    elif is_loopback(host):
        yield Problem(
            key,
            rule,
            f"local_hostname {value!r} is the loopback",
            "Peers on other hosts would connect to themselves.",
            steps,
            severe=False,
        )
