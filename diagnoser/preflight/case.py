"""`Case`: everything that one round of checks may look at."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from diagnoser.model import Finding, Remedy, Report
from diagnoser.preflight.deployment import Deployment
from diagnoser.preflight.host import Host
from diagnoser.preflight.model_config import ModelConfig
from diagnoser.preflight.moe_config import MoEModelConfig
from diagnoser.records import NamedTuple

Engine = Literal["vllm", "generic"]
NO_MODEL = "the model's config.json (--model-config)"
NO_HOST = "the serving machine (--here)"
"""What a check of this machine misses where another one serves."""


class StoreFile(NamedTuple):
    """A Mooncake settings file: as read, or why it can't be."""

    path: str
    values: dict[str, Any] | None
    problem: str = ""


class Case(NamedTuple):
    """One deployment and what is known around it; what is None was not given."""

    deployment: Deployment
    model: ModelConfig | None = None
    moe: MoEModelConfig | None = None
    model_missing: str = NO_MODEL
    """Why `model` is None, in words that name the input."""
    model_problem: tuple[str, str] | None = None
    """Rule and message when the model's folder was found and can't be used."""
    store: StoreFile | None = None
    loader: Literal["vllm", "mooncake"] | None = None
    """Who reads the Mooncake file; None when the deployment tells."""
    host: Host | None = None
    """This machine, when it is the one that serves."""
    engine: Engine = "vllm"
    log: Report | None = None


class Pair(NamedTuple):
    """The two halves of a deployment that hands over KV caches."""

    prefill: Case
    decode: Case


LONGEST_COMMAND = 14
"""Options that a suggested command repeats; a launch line with more is shown with its parallel sizes only."""
_SIZES = ("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size", "enable_expert_parallel")
_SECRET = ("api_key", "hf_token")


def command(case: Case, **changes: object) -> str | None:
    """The launch command with some options changed, None taking one out; None when the model is not known."""
    deployment = case.deployment
    if not deployment.model:
        return None
    options: dict[str, object] = {name: value for name, value in deployment.options.items() if name not in _SECRET}
    if deployment.log is not None or len(options) > LONGEST_COMMAND:
        options = {name: options[name] for name in _SIZES if options.get(name) not in (None, False, 1)}
    options.update(changes)
    words = ["vllm", "serve", deployment.model]
    for name, value in options.items():
        words += option_words(name, value)
    return shlex.join(words)


def option_words(name: str, value: object) -> list[str]:
    """An option as words of a launch line; none for an option that is taken out."""
    option = f"--{name.replace('_', '-')}"
    if value is None:
        return []
    if isinstance(value, bool):
        return [option if value else f"--no-{option[2:]}"]
    if isinstance(value, list):
        return [option, *map(str, value)]
    if isinstance(value, float):
        return [option, f"{value:g}"]
    return [option, json.dumps(value) if isinstance(value, dict) else str(value)]


def step(case: Case, do: str, **changes: object) -> Remedy:
    """A remedy whose command is the launch with these options changed."""
    return Remedy(do, command(case, **changes))


def labelled(findings: Iterable[Finding], label: str) -> Iterator[Finding]:
    """The findings with the instance's name behind each title, where there are several instances."""
    for finding in findings:
        yield finding._replace(title=f"{finding.title} ({label})") if label else finding
