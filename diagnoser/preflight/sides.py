"""One half of a pair that hands over KV caches: from JSON, a launch line, or a file that holds either, or a log."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

from diagnoser.errors import InputError, UsageError
from diagnoser.preflight import reading
from diagnoser.preflight.deployment import Deployment
from diagnoser.preflight.inputs import ReadLog, from_file, from_log, of_launch
from diagnoser.preflight.known_options import JSON_VALUES, SWITCHES, VALUES
from diagnoser.preflight.launch import convert
from diagnoser.preflight.shell import find_in_script

_SIDE_KEYS = frozenset(
    (
        "env",
        "environment",
        "vllm_version",
        "mooncake_version",
        "model",
        "platform",
    )
)
"""Keys of settings that are no options of vLLM."""


def side_of(side: str, given: str, read_log: ReadLog | None) -> Deployment:
    """The deployment that `--prefill` or `--decode` gives.

    Raises UsageError for a line that starts no vLLM, and InputError for a file that can't be read or settings that are
    unknown.
    """
    text = given.strip()
    if text.startswith("{"):
        return _settings(reading.parse_json(text, f"--{side}"), side, f"--{side}")
    if " " in text and not os.path.exists(text):
        launch = next(find_in_script(text), None)
        if launch is None:
            raise UsageError(f"--{side} starts no vLLM: {text[:80]!r}")
        return of_launch(launch, side)
    if not os.path.exists(given):
        raise InputError(given, "there is no such file", expected=f"--{side}: a file, a launch line or JSON")
    content = reading.read_text(given)
    if given.endswith(".json") or content.lstrip().startswith("{"):
        return _settings(reading.parse_json(content, given), side, given)
    if given.endswith((".yaml", ".yml")):
        launches = list(from_file(given))
        if launches:
            return _one(launches, given, side)
        documents = reading.read_yaml_documents(given)
        return _settings(documents[0] if documents else None, side, given)
    launches = [] if given.endswith(".log") else list(from_file(given))
    if launches:
        return _one(launches, given, side)
    return from_log(given, read_log)._replace(origin=side)


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
