"""Turns a request into cases: reads the files it names, finds launches in them, and adds what is known around them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from diagnoser.errors import InputError, UsageError
from diagnoser.model import Report
from diagnoser.preflight import reading
from diagnoser.preflight.arguments import OPTIONS, Request
from diagnoser.preflight.case import NO_MODEL, Case, Pair, StoreFile
from diagnoser.preflight.deployment import Container, Deployment, Platform
from diagnoser.preflight.host import Host, read_host, serves_here
from diagnoser.preflight.known_options import JSON_VALUES, SWITCHES, VALUES
from diagnoser.preflight.launch import convert, parse_arguments
from diagnoser.preflight.manifests import find_in_documents
from diagnoser.preflight.model_config import ModelConfig, read_model_config
from diagnoser.preflight.moe_config import moe_of
from diagnoser.preflight.numbers import size
from diagnoser.preflight.shell import Launch, find_in_script, find_launch

ReadLog = Callable[[str], Report]
"""Diagnoses a log; handed in by the command line, since checks know no other stage."""
_PASSED_ON = re.compile(
    r"VLLM_|MOONCAKE_|MC_|NCCL_|GLOO_|HF_|TRANSFORMERS_|CUDA_VISIBLE|PYTORCH_|PYTHONOPTIMIZE|HOST_IP$|https?_proxy$|"
    r"HTTPS?_PROXY$|no_proxy$|NO_PROXY$|HOME$|PATH$|CC$|LMCACHE_",
)
"""Variables of this process that a launch from this shell would inherit."""
_SIDE_KEYS = frozenset(
    (
        "env",
        "environment",
        "vllm_version",
        "mooncake_version",
        "model",
        "command",
        "args",
        "mooncake_config",
        "platform",
    )
)


class Gathered(NamedTuple):
    """All cases of a request."""

    cases: tuple[tuple[str, Case], ...] = ()
    """Pairs of label and case; the label is empty when there is only one."""
    pair: Pair | None = None


def gather(request: Request, read_log: ReadLog | None = None) -> Gathered:
    """Reads everything that the request names.

    Raises InputError for an input that can't be read and UsageError for one that makes no sense.
    """
    around = _Surroundings(request)
    if request.text("prefill") is not None:
        prefill = around.case(_side("prefill", request.text("prefill") or "", request, read_log))
        decode = around.case(_side("decode", request.text("decode") or "", request, read_log))
        return Gathered((("prefill", prefill), ("decode", decode)), Pair(prefill, decode))
    found = list(_deployments(request, around, read_log))
    if not found and request.files and request.flag("if_found"):
        return Gathered()
    if not found:
        found = [around.with_flags(Deployment("the options", environment_known=False))]
    cases = [around.case(deployment) for deployment in found]
    labels = [case.deployment.origin if len(cases) > 1 else "" for case in cases]
    return Gathered(tuple(zip(labels, cases, strict=True)), _pair_of(cases))


def _deployments(request: Request, around: _Surroundings, read_log: ReadLog | None) -> Iterator[Deployment]:
    if request.command:
        yield around.with_flags(_from_command(request, around))
    for path in request.files:
        launches = _if_found(path) if request.flag("if_found") else list(_from_file(path))
        if not launches and not request.flag("if_found"):
            raise InputError(
                path, "no vLLM launch was found in it", expected="a script, a manifest or values with `vllm serve`"
            )
        for deployment in launches:
            yield around.with_flags(deployment)
    for path in request.many("from_log"):
        yield around.with_flags(_from_log(path, read_log))


def _pair_of(cases: Sequence[Case]) -> Pair | None:
    """A producer and a consumer among the cases of one manifest."""
    roles = {str(case.deployment.kv_transfer.get("kv_role")): case for case in cases}
    if len(cases) == 2 and {"kv_producer", "kv_consumer"} <= set(roles):
        return Pair(roles["kv_producer"], roles["kv_consumer"])
    return None


def _from_command(request: Request, around: _Surroundings) -> Deployment:
    launch = find_launch(request.command)
    if launch is None:
        launch = next(find_in_script(request.command[0]), None) if len(request.command) == 1 else None
    if launch is None:
        raise UsageError(
            f"the command after -- does not start vLLM: {' '.join(request.command)[:80]!r}; expected vllm serve MODEL …"
        )
    outside = {} if launch.container is not None else around.process
    deployment = _of_launch(launch, "the command line", outside)
    return deployment._replace(environment_known=True)


def _of_launch(launch: Launch, origin: str, outside: Mapping[str, str] | None = None) -> Deployment:
    deployment = parse_arguments(
        launch.arguments, origin, {**(outside or {}), **launch.environment}, served=launch.served
    )
    return deployment._replace(
        vllm_version=launch.image_version,
        container=launch.container,
        environment_known=launch.container is not None or deployment.environment_known,
        entrypoint=launch.entrypoint,
    )


def _from_file(path: str) -> Iterator[Deployment]:
    """Launches in a script, a manifest or a values file; what it is shows in the text."""
    name = os.path.basename(path)
    if path.endswith((".yaml", ".yml", ".json")):
        for found in find_in_documents(reading.read_yaml_documents(path)):
            deployment = _of_launch(found.launch, f"{name}, {found.place}")
            yield deployment._replace(devices=found.gpus)
        return
    for launch in find_in_script(reading.read_text(path)):
        yield _of_launch(launch, f"{name}, line {launch.line}")


def _if_found(path: str) -> list[Deployment]:
    """Launches in a file that may have nothing to do with vLLM, or be a template that is no YAML yet."""
    text = reading.read_text(path)
    if "vllm" not in text.lower():
        return []
    try:
        return list(_from_file(path))
    except InputError:
        if "{{" in text:
            return []
        raise


def _from_log(path: str, read_log: ReadLog | None) -> Deployment:
    from diagnoser.preflight.stated import deployment_of

    if read_log is None:
        raise UsageError("--from-log needs a reader of logs; call diagnoser.check or the command line")
    return deployment_of(read_log(path), path)


def _side(side: str, given: str, request: Request, read_log: ReadLog | None) -> Deployment:
    """One half of a pair: JSON, a launch line, or a file that holds a launch, settings or a log."""
    text = given.strip()
    if text.startswith("{"):
        return _settings(reading.parse_json(text, f"--{side}"), side, f"--{side}")
    if " " in text and not os.path.exists(text):
        launch = next(find_in_script(text), None)
        if launch is None:
            raise UsageError(f"--{side} starts no vLLM: {text[:80]!r}")
        return _of_launch(launch, side)
    if not os.path.exists(given):
        raise InputError(given, "there is no such file", expected=f"--{side}: a file, a launch line or JSON")
    content = reading.read_text(given)
    if given.endswith(".json") or content.lstrip().startswith("{"):
        return _settings(reading.parse_json(content, given), side, given)
    if given.endswith((".yaml", ".yml")):
        launches = list(_from_file(given))
        if launches:
            return _one(launches, given, side)
        documents = reading.read_yaml_documents(given)
        return _settings(documents[0] if documents else None, side, given)
    launches = [] if given.endswith(".log") else list(_from_file(given))
    if launches:
        return _one(launches, given, side)
    return _from_log(given, read_log)._replace(origin=side)


def _one(launches: Sequence[Deployment], path: str, side: str) -> Deployment:
    if len(launches) > 1:
        role = {"prefill": "kv_producer", "decode": "kv_consumer"}[side]
        fitting = [launch for launch in launches if launch.kv_transfer.get("kv_role") == role]
        if len(fitting) != 1:
            raise InputError(path, f"holds {len(launches)} vLLM launches", expected=f"one, or one with kv_role {role}")
        launches = fitting
    return launches[0]._replace(origin=side)


def _settings(value: Any, side: str, name: str) -> Deployment:
    """A deployment from settings: options of vLLM by name, or the content of --kv-transfer-config alone."""
    if not isinstance(value, dict):
        raise InputError(name, f"holds a {reading.kind_of(value)}", expected="an object of settings")
    if "kv_connector" in value or "kv_role" in value:
        return Deployment(side, options={"kv_transfer_config": value})
    options: dict[str, Any] = {}
    for key, item in value.items():
        option = str(key).lstrip("-").replace("-", "_")
        if option not in VALUES and option not in SWITCHES and option not in _SIDE_KEYS:
            raise InputError(name, f"unknown key {key!r}", expected=_expected(option))
        if option in _SIDE_KEYS or item is None:
            continue
        options[option] = _typed(name, option, item)
    environment = value.get("env", value.get("environment")) or {}
    if not isinstance(environment, dict):
        raise InputError(name, f"env is a {reading.kind_of(environment)}", expected="an object of variables")
    variables = {str(key): "" if item is None else str(item) for key, item in environment.items()}
    platform = value.get("platform")
    return Deployment(
        side,
        value.get("model"),
        options,
        variables,
        environment_known=bool(variables),
        vllm_version=_version(value.get("vllm_version")),
        mooncake_version=_version(value.get("mooncake_version")),
        platform=platform,
    )


def _version(value: Any) -> str | None:
    return None if value is None else str(value)


def _typed(name: str, option: str, item: Any) -> Any:
    if option in SWITCHES or (option in JSON_VALUES and isinstance(item, dict)) or isinstance(item, list):
        return item
    value, problem = convert(option, item if isinstance(item, str) else json.dumps(item).strip('"'))
    if problem is not None:
        raise InputError(name, f"{option} is {item!r}: {problem.problem}", expected=problem.suggestion or None)
    return value


def _expected(option: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(option, (*VALUES, *SWITCHES, *_SIDE_KEYS), n=3, cutoff=0.7)
    return f"{' or '.join(near)}" if near else "an option of vllm serve, env, vllm_version or mooncake_version"


class _Surroundings:
    """What holds for every deployment of a request."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.given = self._environment()
        self.process = {name: value for name, value in os.environ.items() if _PASSED_ON.match(name)}
        self._host: Host | None = None

    def _environment(self) -> dict[str, str]:
        from diagnoser.preflight.env_file import read_env_file

        variables: dict[str, str] = {}
        for path in self.request.many("env_file"):
            variables.update(read_env_file(path))
        for pair in self.request.many("env"):
            name, equals, value = pair.partition("=")
            if not equals or not name:
                raise UsageError(f"--env {pair!r} is not NAME=VALUE")
            variables[name] = value
        return variables

    def with_flags(self, deployment: Deployment) -> Deployment:
        """The deployment with the options of `diagnose check` laid over it."""
        options = dict(deployment.options)
        for option in OPTIONS:
            value = self.request.values.get(option.name)
            if value is None or (option.name not in VALUES and option.name not in SWITCHES):
                continue
            options[option.name] = _option_value(option.name, value)
        if model := options.pop("model", None):
            deployment = deployment._replace(model=model)
        return deployment._replace(options=options)

    def case(self, deployment: Deployment) -> Case:
        """The case of a deployment: its environment, its model, its Mooncake settings, and this machine."""
        deployment = self._completed(deployment)
        model, problem = self._model(deployment)
        if model is not None:
            model = model.overridden(deployment.table("hf_overrides"))
        host = self._machine(deployment)
        store, loader = self._store(deployment), self.request.text("loader")
        return Case(
            deployment,
            model,
            moe_of(model) if model is not None else None,
            NO_MODEL if problem is None else "a usable config.json (see model-config)",
            problem,
            store,
            "vllm" if loader == "vllm" else "mooncake" if loader == "mooncake" else None,
            host,
            "generic" if self.request.text("engine") == "generic" else "vllm",
            deployment.log,
        )

    def _completed(self, deployment: Deployment) -> Deployment:
        environment = {**deployment.environment, **self.given}
        memory = self.request.text("device_memory")
        if memory is not None and size(memory) is None:
            raise UsageError(f"--device-memory {memory!r} is no size such as 80GiB")
        return deployment._replace(
            environment=environment,
            environment_known=deployment.environment_known or bool(self.given),
            vllm_version=self.request.text("vllm_version") or deployment.vllm_version,
            platform=_platform(self.request, deployment),
            devices=self.request.values.get("devices", deployment.devices),
            device_memory=size(memory) if memory is not None else deployment.device_memory,
        )

    def _model(self, deployment: Deployment) -> tuple[ModelConfig | None, tuple[str, str] | None]:
        given = self.request.text("model_config")
        if given is not None:
            return read_model_config(given), None
        named = deployment.text("hf_config_path") or deployment.model
        if not named:
            return None, None
        if os.path.isdir(named) or (named.endswith("config.json") and os.path.isfile(named)):
            try:
                return read_model_config(named), None
            except InputError as failure:
                return None, ("model-config-unreadable", str(failure))
        if self._is_here(deployment) and named.startswith(("/", "./", "../")) and not named.endswith(".gguf"):
            return None, ("hub-repository-not-found", f"There is no folder {named} on this machine.")
        return self._cached(named), None

    def _cached(self, named: str) -> ModelConfig | None:
        """The config.json of a model in the Hub's local cache, of whatever revision was fetched last."""
        home = os.environ.get("HF_HOME") or os.path.join(os.path.expanduser("~"), ".cache", "huggingface")
        hub = self.given.get("HF_HUB_CACHE") or os.environ.get("HF_HUB_CACHE") or os.path.join(home, "hub")
        folder = os.path.join(hub, f"models--{named.replace('/', '--')}", "snapshots")
        try:
            snapshots = [os.path.join(folder, name) for name in os.listdir(folder)]
        except OSError:
            return None
        for snapshot in sorted(snapshots, key=os.path.getmtime, reverse=True):
            if os.path.isfile(os.path.join(snapshot, "config.json")):
                return read_model_config(snapshot)
        return None

    def _store(self, deployment: Deployment) -> StoreFile | None:
        given = self.request.text("mooncake_config")
        if given is not None:
            return StoreFile(given, reading.read_json_object(given, "Mooncake's settings"))
        named = deployment.environ("MOONCAKE_CONFIG_PATH")
        uses = "Mooncake" in str(deployment.kv_transfer) or (
            deployment.environment_known and named in self.given.values()
        )
        if not named or not uses:
            return None
        if not os.path.exists(named) and not self._is_here(deployment):
            return None
        try:
            return StoreFile(named, reading.read_json_object(named, "Mooncake's settings"))
        except InputError as failure:
            return StoreFile(named, None, str(failure))

    def _is_here(self, deployment: Deployment) -> bool:
        if self.request.flag("here"):
            return True
        if self.request.flag("not_here") or deployment.container is not None or not self.request.command:
            return False
        return serves_here(os.environ)

    def _machine(self, deployment: Deployment) -> Host | None:
        if not self._is_here(deployment):
            return None
        if self._host is None:
            self._host = read_host({**os.environ, **self.given})
        return self._host


def _option_value(name: str, value: Any) -> Any:
    if name == "kv_transfer_config" and isinstance(value, str):
        text = value if value.lstrip().startswith("{") else reading.read_text(value)
        source = "--kv-transfer-config" if value.lstrip().startswith("{") else value
        table = reading.parse_json(text, source)
        if not isinstance(table, dict):
            raise InputError(source, f"holds a {reading.kind_of(table)}", expected="a JSON object")
        return table
    if isinstance(value, str):
        converted, problem = convert(name, value)
        if problem is not None:
            raise UsageError(f"--{name.replace('_', '-')} {value!r} {problem.problem}")
        return converted
    return value


def _platform(request: Request, deployment: Deployment) -> Platform | None:
    asked = request.text("platform") or deployment.platform or deployment.text("device")
    known: dict[str, Platform] = {
        "cuda": "cuda",
        "rocm": "rocm",
        "hip": "rocm",
        "cpu": "cpu",
        "xpu": "xpu",
        "npu": "npu",
        "tpu": "tpu",
    }
    return known.get(str(asked)) if asked else None


__all__ = ["Container", "Gathered", "ReadLog", "gather"]
