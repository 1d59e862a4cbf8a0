"""Prefill against decode: what has to be equal, and what may differ in which way."""

from __future__ import annotations

from collections.abc import Iterator

from diagnoser.model import Finding
from diagnoser.preflight.case import Pair
from diagnoser.preflight.checks.kv_transfer import extra_of, names_of
from diagnoser.preflight.findings import error, ok, skipped, warning
from diagnoser.preflight.numbers import whole
from diagnoser.preflight.versions import at_least, compare

_TRANSPORT_VARIABLES = ("MC_FORCE_TCP", "MC_USE_TENT", "MC_USE_NVLINK_IPC", "MC_INTRANODE_NVLINK")
_CACHE = "The KV cache of one side is read as it lies in memory by the other, so its layout has to be the same."


def _mooncake(pair: Pair) -> bool:
    return any("Mooncake" in name for name in names_of(pair.prefill.deployment.kv_transfer))


def _rule(pair: Pair) -> str:
    return "mooncake-kv-region-mismatch" if _mooncake(pair) else "kv-transfer-peers-incompatible"


def _both(pair: Pair, left: object, right: object) -> dict[str, object]:
    return {"prefill": "not stated" if left is None else left, "decode": "not stated" if right is None else right}


def check_connectors(pair: Pair) -> Iterator[Finding]:
    """Both sides have to speak through the same connector."""
    left = names_of(pair.prefill.deployment.kv_transfer)
    right = names_of(pair.decode.deployment.kv_transfer)
    name = "pair-connector"
    if not left or not right:
        side = "prefill" if not left else "decode"
        yield error(
            name,
            "kv-transfer-role-invalid",
            f"The {side} side has no KV connector",
            "Without --kv-transfer-config an instance neither gives nor takes caches.",
            _both(pair, left or None, right or None),
        )
        return
    shared = set(left) & set(right)
    if shared - {"MultiConnector"} or (shared and left == right):
        yield ok(name, f"Both sides use {', '.join(left)}", _both(pair, left, right))
        return
    yield error(
        name,
        "kv-transfer-peers-incompatible",
        f"The connectors differ: {', '.join(left)} and {', '.join(right)}",
        "Each connector has a protocol of its own.",
        _both(pair, left, right),
        ["Name the same connector on both sides."],
    )


def check_roles(pair: Pair) -> Iterator[Finding]:
    """One side gives and the other takes."""
    left = pair.prefill.deployment.kv_transfer.get("kv_role")
    right = pair.decode.deployment.kv_transfer.get("kv_role")
    if left is None or right is None:
        return
    name, inputs = "pair-roles", _both(pair, left, right)
    if left in ("kv_producer", "kv_both") and right in ("kv_consumer", "kv_both"):
        yield ok(name, f"{left} gives and {right} takes", inputs)
        return
    why = (
        "The roles are the wrong way round."
        if left == "kv_consumer" and right == "kv_producer"
        else "One side has to give."
        if left == "kv_consumer"
        else "One side has to take."
    )
    yield error(
        name,
        "mooncake-request-role-misrouted" if _mooncake(pair) else "kv-transfer-role-invalid",
        f"kv_role is {left} on the prefill side and {right} on the decode side",
        why,
        inputs,
        ["Set kv_producer on the prefill side and kv_consumer on the decode side, or kv_both."],
    )


def check_cache_settings(pair: Pair) -> Iterator[Finding]:
    """Block size and types of the cache."""
    left, right = pair.prefill.deployment, pair.decode.deployment
    name = "pair-cache"
    differing: list[str] = []
    for option in ("block_size", "kv_cache_dtype", "dtype", "max_model_len"):
        one, two = left.options.get(option), right.options.get(option)
        flag = f"--{option.replace('_', '-')}"
        if one == two or {one, two} <= {None, "auto"}:
            continue
        if option == "max_model_len":
            yield warning(
                "pair-length",
                None,
                f"{flag} differs",
                "A prompt that one side takes may be too long for the other.",
                _both(pair, one, two),
            )
            continue
        differing.append(option)
        yield _cache_difference(pair, option, flag, one, two)
    for variable in ("VLLM_KV_CACHE_LAYOUT", "VLLM_ATTENTION_BACKEND", "VLLM_MLA_DISABLE"):
        one, two = left.environ(variable), right.environ(variable)
        if one != two:
            differing.append(variable)
            yield warning(
                name, _rule(pair), f"{variable} differs", f"{_CACHE} This variable changes it.", _both(pair, one, two)
            )
    if left.flag("disable_hybrid_kv_cache_manager") != right.flag("disable_hybrid_kv_cache_manager"):
        differing.append("hybrid")
        yield error(
            name,
            _rule(pair),
            "The hybrid KV cache manager is off on one side only",
            f"{_CACHE} The manager groups layers differently.",
            _both(pair, left.flag("disable_hybrid_kv_cache_manager"), right.flag("disable_hybrid_kv_cache_manager")),
        )
    if not differing:
        yield ok(name, "Block size and cache types are the same on both sides, or both vLLM's default")


def _cache_difference(pair: Pair, option: str, flag: str, one: object, two: object) -> Finding:
    unknown = one is None or two is None
    nixl = any(name.startswith("Nixl") for name in names_of(pair.prefill.deployment.kv_transfer))
    sizes = (whole(one), whole(two))
    multiples = (
        nixl and None not in sizes and max(sizes[0] or 1, sizes[1] or 1) % min(sizes[0] or 1, sizes[1] or 1) == 0
    )
    make = warning if unknown or (option == "block_size" and multiples) else error
    message = _CACHE if not unknown else f"{_CACHE} One side leaves it to vLLM, whose default may be another value."
    return make(
        "pair-cache",
        _rule(pair),
        f"{flag} differs between prefill and decode",
        message,
        _both(pair, one, two),
        [f"Give {flag} the same value on both sides."],
    )


def check_model(pair: Pair) -> Iterator[Finding]:
    """The same model, revision and quantization."""
    left, right = pair.prefill.deployment, pair.decode.deployment
    name = "pair-model"
    if left.model is None or right.model is None:
        yield skipped(name, "Whether both sides serve the same model", "the model on both sides")
        return
    one, two = left.model.rstrip("/"), right.model.rstrip("/")
    inputs = _both(pair, one, two)
    if one != two and one.rsplit("/", 1)[-1] != two.rsplit("/", 1)[-1]:
        yield error(
            name,
            _rule(pair),
            "The two sides serve different models",
            "Caches of one model mean nothing to another.",
            inputs,
        )
        return
    if one != two:
        yield warning(
            name,
            _rule(pair),
            "The model is named differently on both sides",
            "Make sure that it is the same one.",
            inputs,
        )
        return
    for option in ("revision", "quantization", "speculative_config", "hf_overrides"):
        mine, theirs = left.options.get(option), right.options.get(option)
        if mine != theirs:
            yield warning(
                name,
                _rule(pair),
                f"--{option.replace('_', '-')} differs",
                "It can change the number of layers or the shape of the cache.",
                _both(pair, mine, theirs),
            )
            return
    yield ok(name, f"Both sides serve {one}", inputs)


def check_sizes(pair: Pair) -> Iterator[Finding]:
    """Tensor- and pipeline-parallel sizes that the connector can map onto each other."""
    left, right = pair.prefill.deployment, pair.decode.deployment
    name = "pair-sizes"
    inputs = {"prefill TP": left.tp, "decode TP": right.tp, "prefill PP": left.pp, "decode PP": right.pp}
    large, small = max(left.tp, right.tp), min(left.tp, right.tp)
    rule = "mooncake-tp-sizes-incompatible" if _mooncake(pair) else "kv-transfer-peers-incompatible"
    if large % small:
        yield error(
            name,
            rule,
            f"TP {left.tp} for prefill and TP {right.tp} for decode can't be mapped",
            "One size has to be a multiple of the other.",
            inputs,
            [f"Use {small} on both sides, or a multiple of it."],
        )
        return
    if left.tp != right.tp and _mooncake(pair) and at_least(left.vllm_version, "0.17") is False:
        yield error(name, rule, "TP differs, and vLLM up to 0.16 needs equal sizes", "", inputs)
        return
    if left.pp != right.pp or left.pp > 1:
        old = _mooncake(pair) and at_least(left.vllm_version, "0.22") is False
        if old:
            yield error(name, rule, "vLLM up to 0.21 refuses pipeline parallelism with MooncakeConnector", "", inputs)
            return
        if not _mooncake(pair) and left.pp != right.pp:
            yield error(name, rule, "The pipeline-parallel sizes differ", "Each stage holds other layers.", inputs)
            return
    yield ok(name, f"TP {left.tp} and TP {right.tp} fit together", inputs)


def check_engine_ids(pair: Pair) -> Iterator[Finding]:
    """Two engines must not share a name."""
    left, right = (case.deployment.kv_transfer.get("engine_id") for case in pair)
    if left and left == right:
        yield error(
            "pair-engine-id",
            "kv-transfer-same-engine-id",
            f"Both sides have the engine_id {left}",
            "Peers are found by it; vLLM makes one up when it is not given.",
            _both(pair, left, right),
            ["Leave engine_id out."],
        )


def check_transport(pair: Pair) -> Iterator[Finding]:
    """Both sides have to move data over the same transport."""
    if not _mooncake(pair):
        return
    name, rule = "pair-transport", "mooncake-transport-backend-mismatch"
    left, right = pair.prefill.deployment, pair.decode.deployment
    one, two = (
        extra_of(case.deployment.kv_transfer, "MooncakeConnector").get("mooncake_protocol", "rdma") for case in pair
    )
    found = False
    if one != two:
        found = True
        yield warning(
            name,
            rule,
            f"mooncake_protocol is {one} for prefill and {two} for decode",
            "The wheels on PyPI ignore the setting and use RDMA where they find a card; builds for other hardware need "
            "the same on both sides.",
            _both(pair, one, two),
            ["Give both sides the same value; MC_FORCE_TCP=1 on both sides forces TCP."],
        )
    for variable in _TRANSPORT_VARIABLES:
        mine, theirs = left.environ(variable), right.environ(variable)
        if mine != theirs and (left.environment or right.environment):
            found = True
            yield error(
                name,
                rule,
                f"{variable} differs between prefill and decode",
                "One side then offers a transport that the other has not installed.",
                _both(pair, mine, theirs),
                [f"Set {variable} to the same value on both sides, or on neither."],
            )
    stores = [case.store.values if case.store is not None else None for case in pair]
    if stores[0] is not None and stores[1] is not None:
        protocols = [values.get("protocol", "rdma") for values in stores if values is not None]
        if protocols[0] != protocols[1]:
            found = True
            yield error(name, rule, "protocol differs in the Mooncake settings", "", _both(pair, *protocols))
    if not found:
        yield ok(name, f"Both sides use {one}")


def check_store(pair: Pair) -> Iterator[Finding]:
    """Store settings that have to name the same servers; a metadata size where a deployment states one."""
    stores = [case.store.values if case.store is not None else None for case in pair]
    if stores[0] is None or stores[1] is None:
        return
    for key, rule in (
        ("master_server_address", "mooncake-master-unreachable"),
        ("metadata_server", "mooncake-metadata-server-unreachable"),
        ("metadata_size", "mooncake-metadata-size-mismatch"),
        ("tenant_id", "mooncake-config-value-invalid"),
    ):
        one, two = stores[0].get(key), stores[1].get(key)
        if one != two:
            yield error(
                "pair-store",
                rule,
                f"{key} differs between prefill and decode",
                "What one side stores the other would not find."
                if key != "metadata_size"
                else "Neither vLLM nor Mooncake has this setting; the connector that reads it demands equal sizes.",
                _both(pair, one, two),
            )


def check_versions(pair: Pair) -> Iterator[Finding]:
    """The same releases on both sides."""
    left, right = pair.prefill.deployment, pair.decode.deployment
    name = "pair-versions"
    stated = False
    for package, one, two in (
        ("vLLM", left.vllm_version, right.vllm_version),
        ("Mooncake", left.mooncake_version, right.mooncake_version),
    ):
        if one is None or two is None:
            continue
        stated = True
        if compare(one, two) != 0 and one != two:
            yield error(
                name,
                "mooncake-version-mismatch" if _mooncake(pair) else "kv-transfer-peers-incompatible",
                f"{package} {one} for prefill and {two} for decode",
                "What the two sides tell each other about their caches changes between releases.",
                _both(pair, one, two),
                [f"Run the same release of {package} on both sides."],
            )
        else:
            yield ok(name, f"{package} {one} on both sides")
    if not stated:
        yield skipped(
            name, "Releases of vLLM and Mooncake on both sides", "their versions (vllm_version, an image tag or a log)"
        )


PAIR_CHECKS = (
    check_connectors,
    check_roles,
    check_cache_settings,
    check_model,
    check_sizes,
    check_engine_ids,
    check_transport,
    check_store,
    check_versions,
)
