"""What holds for every deployment of a request: options, variables, the model, Mooncake's settings, this machine."""

from __future__ import annotations

import os
import re
from typing import Any

from diagnoser.errors import InputError, UsageError
from diagnoser.preflight import reading
from diagnoser.preflight.arguments import OPTIONS, Request
from diagnoser.preflight.case import NO_MODEL, Case, StoreFile
from diagnoser.preflight.deployment import Deployment, Platform
from diagnoser.preflight.host import Host, read_host, serves_here
from diagnoser.preflight.known_options import SWITCHES, VALUES
from diagnoser.preflight.launch import convert
from diagnoser.preflight.model_config import ModelConfig, read_model_config
from diagnoser.preflight.moe_config import moe_of
from diagnoser.preflight.numbers import size
from diagnoser.preflight.versions import compare

_PASSED_ON = re.compile(
    r"VLLM_|MOONCAKE_|MC_|NCCL_|GLOO_|HF_|TRANSFORMERS_|CUDA_VISIBLE|PYTORCH_|PYTHONOPTIMIZE|HOST_IP$|https?_proxy$|"
    r"HTTPS?_PROXY$|no_proxy$|NO_PROXY$|HOME$|PATH$|CC$|LMCACHE_",
)
"""Variables of this process that a launch from this shell would inherit."""


class Surroundings:
    """Lays over each deployment what the request says of all of them."""

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
        version = self.request.text("vllm_version")
        if version is not None and compare(version, version) is None:
            raise UsageError(f"--vllm-version {version!r} is no version such as 0.11.0")
        return deployment._replace(
            environment=environment,
            environment_known=deployment.environment_known or bool(self.given),
            vllm_version=version or deployment.vllm_version,
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
