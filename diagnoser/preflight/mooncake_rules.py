"""What each reader of a Mooncake configuration demands; used by the checks and by `MooncakeConfig`.

Readers:
  vllm       MooncakeStoreConnector, distributed/mooncake_store.py of vLLM 0.32
  mooncake   Mooncake's own loader, mooncake_config.py of 0.3.13 (store service, LMCache, SGLang)
  engine     a transfer engine alone: initialize(local host name, metadata server, protocol, device)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

from diagnoser.model import Remedy
from diagnoser.preflight.addresses import P2P, host_port, is_any, is_loopback, split_url
from diagnoser.preflight.mooncake_sizes import own_size, vllm_size
from diagnoser.preflight.numbers import GIB, in_words

Reader = Literal["vllm", "mooncake", "engine"]
PROTOCOLS = ("tcp", "rdma")
"""Transports of the wheels on PyPI."""
BUILD_PROTOCOLS = frozenset(
    (
        "nvlink",
        "nvlink_intra",
        "nvmeof",
        "ascend",
        "hccl",
        "hip",
        "efa",
        "cxl",
        "barex",
        "ub",
        "mnnvl",
        "xgmi",
        "cxi",
        "musa",
        "maca",
    )
)
"""Transports of builds that were made for them."""
VLLM_KEYS = (
    "metadata_server",
    "master_server_address",
    "protocol",
    "device_name",
    "mode",
    "global_segment_size",
    "local_buffer_size",
    "enable_offload",
    "tenant_id",
)
OWN_KEYS = (
    "local_hostname",
    "metadata_server",
    "master_server_address",
    "protocol",
    "device_name",
    "global_segment_size",
    "local_buffer_size",
    "storage_root_dir",
    "enable_ssd_offload",
    "ssd_offload_path",
    "tenant_id",
    "client_http_port",
    "transfer_timeout",
    "use_ascend_direct",
    "cluster_id",
)
_FORMS = "P2PHANDSHAKE, http://HOST:8080/metadata or etcd://HOST:2379"


class Problem(NamedTuple):
    """One thing that is wrong with a setting."""

    key: str
    rule: str
    text: str
    why: str = ""
    steps: tuple[Remedy | str, ...] = ()
    severe: bool = True
    """False for what may work all the same."""


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


def protocol_problems(value: object, reader: Reader) -> Iterator[Problem]:
    """`protocol`; the store takes it literally, a transfer engine of the PyPI wheels hardly looks at it."""
    if value is None:
        return
    key, rule = "protocol", "mooncake-protocol-unsupported"
    if not isinstance(value, str) or not value:
        yield Problem(key, "mooncake-config-value-invalid", f"protocol is {value!r}", "", ("Use tcp or rdma.",))
        return
    known = value.lower() if reader != "vllm" else value
    if known in PROTOCOLS:
        return
    if known in BUILD_PROTOCOLS:
        yield Problem(
            key,
            rule,
            f"protocol {value!r} needs a Mooncake that was built for it",
            "",
            ("Use tcp or rdma.",),
            severe=False,
        )
        return
    lower = value.lower() in PROTOCOLS
    yield Problem(
        key,
        rule,
        f"protocol {value!r} does not exist",
        "It has to be written in lower case."
        if lower
        else "There is no such transport; shared memory is not one either.",
        (f"Use {value.lower()}." if lower else f"Use {in_words(PROTOCOLS)}.",),
    )


def size_problems(values: Mapping[str, Any], reader: Reader) -> Iterator[Problem]:
    """`global_segment_size`, `local_buffer_size` and `mode`, which go together."""
    if reader == "engine":
        return
    rule, parse = "mooncake-config-value-invalid", vllm_size if reader == "vllm" else own_size
    sizes: dict[str, int | None] = {}
    for key in ("global_segment_size", "local_buffer_size"):
        value = values.get(key, 4 * GIB)
        sizes[key] = parse(value)
        if sizes[key] is None:
            allowed = "a number of bytes, or with GB, MB, KB or B" if reader == "vllm" else "a number with k, m, g or t"
            yield Problem(key, rule, f"{key} {value!r} is no size", f"Accepted are {allowed}.", (_spelt(key, value),))
        elif sizes[key] is not None and (sizes[key] or 0) < 0:
            yield Problem(key, rule, f"{key} is negative")
    if reader != "vllm":
        return
    mode = values.get("mode", "embedded")
    if mode not in ("embedded", "standalone-store"):
        yield Problem("mode", rule, f"mode {mode!r} does not exist", "", ("Use embedded or standalone-store.",))
    segment, buffer = sizes["global_segment_size"], sizes["local_buffer_size"]
    if buffer == 0:
        yield Problem("local_buffer_size", rule, "local_buffer_size is 0", "It has to be above 0.")
    if mode == "embedded" and segment == 0:
        yield Problem(
            "global_segment_size",
            rule,
            "global_segment_size is 0 in embedded mode",
            "Each rank has to give some memory.",
        )
    if mode == "standalone-store" and segment not in (0, None):
        yield Problem(
            "global_segment_size",
            rule,
            "global_segment_size has to be 0 in standalone-store mode",
            "It is 4 GiB when it is not given, and that is refused too.",
            ('Write "global_segment_size": 0.',),
        )


def _spelt(key: str, value: object) -> str:
    text = str(value).strip()
    digits = "".join(character for character in text if character.isdigit() or character == ".")
    unit = text[len(digits) :].strip().upper().replace("IB", "B")
    if digits and unit in ("G", "GB", "M", "MB", "K", "KB"):
        return f'Write "{key}": "{digits}{unit[0]}B".'
    return f'Write "{key}": "4GB".'


def other_problems(values: Mapping[str, Any], reader: Reader) -> Iterator[Problem]:
    """Keys that nobody reads, and values of the wrong kind."""
    known = VLLM_KEYS if reader == "vllm" else OWN_KEYS
    for key in values:
        if key not in known and reader != "engine":
            yield Problem(
                key,
                "mooncake-config-value-invalid",
                f"{key} is not read",
                f"{'vLLM' if reader == 'vllm' else 'This loader'} ignores keys that it does not know, without a word"
                + (_close(key, known)),
                severe=False,
            )
    offload = values.get("enable_offload")
    if isinstance(offload, str):
        yield Problem(
            "enable_offload",
            "mooncake-config-value-invalid",
            f"enable_offload is the text {offload!r}",
            "Every text that is not empty counts as true.",
            ("Write true or false without quotes.",),
            severe=False,
        )
    ssd = values.get("ssd_offload_path")
    if reader == "mooncake" and values.get("enable_ssd_offload") is True and not str(ssd or "").startswith("/"):
        yield Problem(
            "ssd_offload_path",
            "mooncake-config-value-invalid",
            "enable_ssd_offload is on, and ssd_offload_path is no absolute path",
            "",
            ("Set ssd_offload_path to a folder on the disk.",),
        )
    tenant = values.get("tenant_id")
    if tenant is not None and not isinstance(tenant, str):
        yield Problem("tenant_id", "mooncake-config-value-invalid", f"tenant_id is {tenant!r}, no text")


def _close(key: str, known: tuple[str, ...]) -> str:
    from difflib import get_close_matches

    found = get_close_matches(key, known, n=1, cutoff=0.8)
    return f"; was {found[0]} meant?" if found else "."


def all_problems(values: Mapping[str, Any], reader: Reader) -> Iterator[Problem]:
    """Everything that is wrong with the settings, for this reader."""
    yield from hostname_problems(values.get("local_hostname"), reader)
    yield from metadata_problems(values.get("metadata_server"), reader)
    yield from master_problems(values.get("master_server_address"), reader)
    yield from protocol_problems(values.get("protocol"), reader)
    yield from size_problems(values, reader)
    yield from other_problems(values, reader)
