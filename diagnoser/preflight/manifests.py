"""Finds vLLM in Docker Compose files, Kubernetes manifests and Helm values.

What is looked at is the shape, not the name of the file: a mapping with `services` is Compose, one with `kind` is
Kubernetes (any kind that holds containers), and anything else is searched for lists of arguments and for
`vllm serve` lines.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from diagnoser.preflight.deployment import Container
from diagnoser.preflight.numbers import size, whole
from diagnoser.preflight.shell import Launch, find_in_script, find_launch, image_version, is_image
from diagnoser.records import NamedTuple


class Found(NamedTuple):
    """A vLLM launch and where in the file it stands."""

    place: str
    launch: Launch
    gpus: int | None = None


def find_in_documents(documents: Sequence[Any]) -> Iterator[Found]:
    """Every vLLM launch in the documents of a YAML file."""
    flat = [item for document in documents for item in _items(document)]
    services = tuple(
        str(item.get("metadata", {}).get("name", ""))
        for item in flat
        if item.get("kind") == "Service" and isinstance(item.get("metadata"), dict)
    )
    for item in flat:
        if isinstance(item.get("services"), dict) and "kind" not in item:
            yield from _compose(item["services"])
        elif "kind" in item and "apiVersion" in item:
            yield from _kubernetes(item, services)
        else:
            yield from _values(item, "")


def _items(document: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(document, dict):
        if document.get("kind") == "List" and isinstance(document.get("items"), list):
            yield from (item for item in document["items"] if isinstance(item, dict))
        else:
            yield document


def _words(value: Any) -> list[str]:
    """Arguments that were written as a list or as one line."""
    if isinstance(value, list):
        return [str(item) for item in value]
    if isinstance(value, str):
        try:
            return shlex.split(value, comments=False)
        except ValueError:
            return value.split()
    return []


def _launch(command: Any, arguments: Any, image: str) -> Launch | None:
    """The launch of a container: a vLLM command, or the arguments of an image that starts it."""
    words = [*_words(command), *_words(arguments)]
    launch = find_launch(words)
    if launch is None and is_image(image) and not command:
        launch = Launch(tuple(words), served=False, entrypoint="the image's entry point")
    if launch is None:
        for word in words:
            if ("vllm" in word and "\n" in word) or " serve " in word:
                launch = next(find_in_script(word), None)
                break
    return launch._replace(image_version=launch.image_version or image_version(image)) if launch else None


def _compose(services: Mapping[str, Any]) -> Iterator[Found]:
    for name, service in services.items():
        if not isinstance(service, dict):
            continue
        launch = _launch(service.get("entrypoint"), service.get("command"), str(service.get("image", "")))
        if launch is None:
            continue
        ulimits = service.get("ulimits")
        memlock = ulimits.get("memlock") if isinstance(ulimits, dict) else None
        container = Container(
            size(service["shm_size"]) if "shm_size" in service else None,
            service.get("ipc") == "host",
            service.get("network_mode") == "host",
            service.get("privileged") is True,
            _texts(service.get("cap_add")),
            _texts(service.get("devices")),
            size(service.get("mem_limit")),
            memlock_unlimited=_unlimited(memlock),
            kind="compose",
        )
        environment = {**_environment(service.get("environment")), **launch.environment}
        yield Found(
            f"service {name}", launch._replace(environment=environment, container=container), _compose_gpus(service)
        )


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else ()


def _unlimited(memlock: Any) -> bool | None:
    if isinstance(memlock, dict):
        memlock = memlock.get("soft")
    return None if memlock is None else memlock in (-1, "-1", "unlimited")


def _compose_gpus(service: Mapping[str, Any]) -> int | None:
    try:
        devices = service["deploy"]["resources"]["reservations"]["devices"]
        device = devices[0]
    except (KeyError, IndexError, TypeError):
        return None
    if isinstance(device.get("device_ids"), list):
        return len(device["device_ids"])
    return whole(device.get("count"))


def _environment(value: Any) -> dict[str, str]:
    """`environment` of Compose as a mapping or a list, `env` of Kubernetes as a list of names and values."""
    pairs: dict[str, str] = {}
    if isinstance(value, dict):
        pairs = {str(key): _plain(item) for key, item in value.items() if not isinstance(item, dict | list)}
    for item in value if isinstance(value, list) else ():
        if isinstance(item, str):
            name, equals, text = item.partition("=")
            if equals:
                pairs[name] = text
        elif isinstance(item, dict) and "name" in item and "value" in item:
            pairs[str(item["name"])] = _plain(item["value"])
    return pairs


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def _kubernetes(item: Mapping[str, Any], services: tuple[str, ...]) -> Iterator[Found]:
    metadata = item.get("metadata")
    name = f"{item['kind']} {metadata.get('name', '') if isinstance(metadata, dict) else ''}".strip()
    for pod in _pods(item):
        for container in pod.get("containers") or ():
            if isinstance(container, dict):
                found = _kubernetes_container(name, pod, container, services)
                if found is not None:
                    yield found


def _pods(value: Any, depth: int = 0) -> Iterator[Mapping[str, Any]]:
    """Every mapping below that has containers, however deep an operator's kind hides them."""
    if depth > 12:
        return
    if isinstance(value, dict):
        if isinstance(value.get("containers"), list):
            yield value
        for inner in value.values():
            yield from _pods(inner, depth + 1)
    elif isinstance(value, list):
        for inner in value:
            yield from _pods(inner, depth + 1)


def _kubernetes_container(
    name: str, pod: Mapping[str, Any], container: Mapping[str, Any], services: tuple[str, ...]
) -> Found | None:
    launch = _launch(container.get("command"), container.get("args"), str(container.get("image", "")))
    if launch is None:
        return None
    context = container.get("securityContext")
    context = context if isinstance(context, dict) else {}
    capabilities = context.get("capabilities")
    resources = container.get("resources")
    limits = resources.get("limits") if isinstance(resources, dict) else None
    limits = limits if isinstance(limits, dict) else {}
    settings = Container(
        _kubernetes_shm(pod, container),
        pod.get("hostIPC") is True,
        pod.get("hostNetwork") is True,
        context.get("privileged") is True,
        _texts(capabilities.get("add")) if isinstance(capabilities, dict) else (),
        tuple(key for key in map(str, limits) if "rdma" in key),
        size(limits.get("memory")),
        service_links=pod.get("enableServiceLinks") is not False,
        services=services,
        kind="kubernetes",
    )
    environment = {**_environment(container.get("env")), **launch.environment}
    gpus = next((whole(limits[key]) for key in limits if str(key).endswith(("/gpu", "/npu"))), None)
    return Found(
        f"{name}, container {container.get('name', '')}",
        launch._replace(environment=environment, container=settings),
        gpus,
    )


def _kubernetes_shm(pod: Mapping[str, Any], container: Mapping[str, Any]) -> int | None:
    """Size of a memory volume at /dev/shm; one without a limit may take half of the node, said as a large number."""
    mounts = container.get("volumeMounts")
    names = [
        mount.get("name")
        for mount in (mounts if isinstance(mounts, list) else ())
        if isinstance(mount, dict) and mount.get("mountPath") == "/dev/shm"
    ]
    volumes = pod.get("volumes")
    for volume in volumes if isinstance(volumes, list) else ():
        if isinstance(volume, dict) and volume.get("name") in names and isinstance(volume.get("emptyDir"), dict):
            limit = volume["emptyDir"].get("sizeLimit")
            return size(limit) if limit is not None else 1 << 40
    return None


_ARGUMENT_KEYS = ("args", "extraArgs", "vllmArgs", "command", "containerArgs")
_MODEL_KEYS = ("modelURL", "model", "modelName", "modelId", "modelTag")


def _values(value: Any, path: str, depth: int = 0) -> Iterator[Found]:
    """Lists of arguments and `vllm serve` lines in Helm values or any other settings."""
    if depth > 12:
        return
    if isinstance(value, dict):
        keys = [key for key in _ARGUMENT_KEYS if value.get(key)]
        words = [word for key in sorted(keys, key=_order) for word in _words(value[key])]
        launch = find_launch(words) or _bare_arguments(value, words)
        if launch is not None:
            environment = {**_environment(value.get("env")), **launch.environment}
            yield Found(path or "values", launch._replace(environment=environment), whole(value.get("requestGPU")))
            return
        for key, inner in value.items():
            yield from _values(inner, f"{path}.{key}" if path else str(key), depth + 1)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _values(inner, f"{path}[{number}]", depth + 1)
    elif isinstance(value, str) and "vllm" in value and " serve" in value:
        for launch in find_in_script(value):
            yield Found(path, launch)


def _order(key: str) -> int:
    return 0 if key == "command" else 1


def _bare_arguments(value: Mapping[str, Any], words: Sequence[str]) -> Launch | None:
    """Arguments without a command, beside a model's name: the chart starts vLLM with them."""
    if not any(word.startswith(("--tensor-parallel", "--max-model-len", "--model", "--kv-transfer")) for word in words):
        return None
    model = next((value[key] for key in _MODEL_KEYS if isinstance(value.get(key), str)), None)
    named = any(word.split("=")[0] == "--model" for word in words)
    extra = ("--model", model) if model and not named else ()
    return Launch((*words, *extra), served=False, entrypoint="the chart's command")
