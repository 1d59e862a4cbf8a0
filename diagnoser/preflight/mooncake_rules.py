"""What each reader of a Mooncake configuration demands of it; used by the checks and by `MooncakeConfig`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from diagnoser.preflight.mooncake_addresses import hostname_problems, master_problems, metadata_problems
from diagnoser.preflight.mooncake_problem import Problem, Reader
from diagnoser.preflight.mooncake_sizes import size_problems
from diagnoser.preflight.numbers import in_words

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
