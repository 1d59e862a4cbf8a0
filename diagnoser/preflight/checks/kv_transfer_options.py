"""What goes with a KV connector and what does not: children, allocator, hybrid models, offloading, side channel."""

from __future__ import annotations

from collections.abc import Iterator

from diagnoser.model import Finding, Remedy
from diagnoser.preflight.addresses import host_port, is_any, is_loopback, split_url
from diagnoser.preflight.case import Case, step
from diagnoser.preflight.checks.kv_transfer import connectors_of, extra_of, names_of
from diagnoser.preflight.findings import error, ok, skipped, warning
from diagnoser.preflight.numbers import in_words

_WITHOUT_METRICS = frozenset(("MooncakeConnector", "FlexKVConnectorV1"))


_WITHOUT_HYBRID = frozenset(("LMCacheConnectorV1", "FlexKVConnectorV1", "HF3FSKVConnector", "P2pNcclConnector"))


def check_multi(case: Case) -> Iterator[Finding]:
    """Children that do not go together, and the metrics assertion."""
    config = case.deployment.kv_transfer
    if config.get("kv_connector") != "MultiConnector":
        return
    children = [str(child.get("kv_connector")) for child in connectors_of(config)]
    bare = [child for child in children if child in _WITHOUT_METRICS]
    if bare and not case.deployment.flag("disable_log_stats"):
        yield warning(
            "kv-transfer-metrics",
            "kv-transfer-multiconnector-prom-metrics",
            f"{in_words(bare, 'and')} inside MultiConnector stops the metrics after the first transfer",
            "The child reports statistics and has no Prometheus class; an assertion in the API server follows. Seen up "
            "to vLLM 0.32.0.",
            {"children": children},
            [step(case, "Start without statistics.", disable_log_stats=True)],
        )
    twice = sorted({child for child in children if children.count(child) > 1})
    if twice:
        yield warning(
            "kv-transfer-children",
            "kv-transfer-multiconnector-clash",
            f"MultiConnector has {in_words(twice, 'and')} more than once",
            "Only one child may return transfer parameters.",
            {"children": children},
        )


def check_allocator(case: Case) -> Iterator[Finding]:
    """vLLM 0.21 and later refuse expandable segments beside a connector."""
    if not case.deployment.kv_transfer.get("kv_connector"):
        return
    for variable in ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"):
        value = case.deployment.environ(variable) or ""
        if "expandable_segments:true" not in value.lower().replace(" ", ""):
            continue
        yield error(
            "kv-transfer-allocator",
            "kv-transfer-expandable-segments",
            f"{variable} turns on expandable segments, which do not go with a KV connector",
            "Their addresses can't be registered for transfers; vLLM 0.21 and later refuse to start.",
            {variable: value},
            [Remedy("Take it out of the environment.", f"unset {variable}")],
        )


def check_hybrid(case: Case) -> Iterator[Finding]:
    """Models with several kinds of attention need the hybrid KV cache manager."""
    names = names_of(case.deployment.kv_transfer)
    if not names or case.model is None:
        return
    kinds = case.model.text.get("layer_types")
    mixed = isinstance(kinds, list) and len(set(map(str, kinds))) > 1
    mixed = mixed or case.model.whole("full_attention_interval") is not None
    if not mixed:
        return
    inputs = {"kv_connector": names, "layer kinds": sorted(set(map(str, kinds))) if isinstance(kinds, list) else None}
    if case.deployment.flag("disable_hybrid_kv_cache_manager"):
        yield warning(
            "kv-transfer-hybrid",
            "kv-transfer-hma-not-supported",
            "The hybrid KV cache manager is off for a model that mixes kinds of attention",
            "Such a model then needs far more cache, or can't be laid out at all.",
            inputs,
        )
    blocking = [name for name in names if name in _WITHOUT_HYBRID]
    if blocking:
        yield warning(
            "kv-transfer-hybrid",
            "kv-transfer-hma-not-supported",
            f"{in_words(blocking, 'and')} may not work with this model's mix of attention kinds",
            "The connector does not support the hybrid KV cache manager in the releases read (up to 0.32).",
            inputs,
            ["Use a connector that supports it (NixlConnector, MooncakeConnector), or another model."],
        )


def check_offloading(case: Case) -> Iterator[Finding]:
    """vLLM: OffloadingConnector."""
    config = case.deployment.kv_transfer
    if "OffloadingConnector" not in names_of(config):
        return
    extra, name = extra_of(config, "OffloadingConnector"), "kv-transfer-offloading"
    inputs = {"platform": case.deployment.platform, **{key: str(value) for key, value in extra.items()}}
    if case.deployment.platform == "cpu":
        yield error(
            name,
            "kv-transfer-offloading-config",
            "OffloadingConnector does not work on CPU",
            "It moves caches from a GPU or XPU to main memory.",
            inputs,
            [step(case, "Leave --kv-transfer-config out.")],
        )
    elif "spec_name" not in extra and not any(key in extra for key in ("cpu_bytes_to_use", "num_cpu_blocks")):
        yield error(
            name,
            "kv-transfer-offloading-config",
            "OffloadingConnector is not told how much main memory it may use",
            "It needs cpu_bytes_to_use (num_cpu_blocks in older releases) in kv_connector_extra_config.",
            inputs,
            ['Add "kv_connector_extra_config": {"cpu_bytes_to_use": 10737418240}.'],
        )


def check_hisparse(case: Case) -> Iterator[Finding]:
    """vLLM: HiSparseConnector wants host_pool_gib."""
    if "HiSparseConnector" not in names_of(case.deployment.kv_transfer):
        return
    pool = extra_of(case.deployment.kv_transfer, "HiSparseConnector").get("host_pool_gib")
    if not isinstance(pool, int | float) or isinstance(pool, bool) or pool <= 0:
        yield error(
            "kv-transfer-hisparse",
            "kv-transfer-hisparse-config",
            "HiSparseConnector needs host_pool_gib, a positive number",
            "It is the main memory that the connector may use.",
            {"host_pool_gib": pool},
        )


def check_side_channel(case: Case) -> Iterator[Finding]:
    """NIXL tells its peer the address in VLLM_NIXL_SIDE_CHANNEL_HOST, localhost unless set."""
    if not any(name.startswith("Nixl") for name in names_of(case.deployment.kv_transfer)):
        return
    name, host = "kv-transfer-side-channel", case.deployment.environ("VLLM_NIXL_SIDE_CHANNEL_HOST")
    inputs = {"VLLM_NIXL_SIDE_CHANNEL_HOST": host}
    if host and (is_any(host) or split_url(host) or host_port(host)):
        yield error(
            name,
            "kv-transfer-nixl-side-channel-host",
            f"VLLM_NIXL_SIDE_CHANNEL_HOST {host!r} is no address to connect to",
            "It is the bare address of this instance, which the other side connects to.",
            inputs,
            ["Give this host's address, without scheme and port."],
        )
    elif not host or is_loopback(host):
        if not case.deployment.environment_known and not host:
            yield skipped(
                name, "The address that NIXL tells its peer", "VLLM_NIXL_SIDE_CHANNEL_HOST (--env or --env-file)"
            )
            return
        yield warning(
            name,
            "kv-transfer-nixl-side-channel-host",
            f"VLLM_NIXL_SIDE_CHANNEL_HOST is {host or 'not set'}: only instances on this host can connect",
            "Without it NIXL tells the peer localhost, and a peer on another host then connects to itself.",
            inputs,
            ["Set it to this host's address when prefill and decode are on different hosts."],
        )
    else:
        yield ok(name, f"NIXL tells its peer {host}", inputs)


CHECKS = (
    check_multi,
    check_allocator,
    check_hybrid,
    check_offloading,
    check_hisparse,
    check_side_channel,
)
