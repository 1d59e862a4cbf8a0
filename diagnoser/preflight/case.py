"""`Case`: everything that one round of checks may look at."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, NamedTuple

from diagnoser.model import Finding, Remedy, Report
from diagnoser.preflight.deployment import Deployment
from diagnoser.preflight.host import Host
from diagnoser.preflight.model_config import ModelConfig
from diagnoser.preflight.moe_config import MoEModelConfig

Engine = Literal["vllm", "generic"]
NO_MODEL = "the model's config.json (--model-config FILE|DIR, or a model folder that exists here)"


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


Check = Callable[[Case], Iterable[Finding]]


class Pair(NamedTuple):
    """The two halves of a deployment that hands over KV caches."""

    prefill: Case
    decode: Case


PairCheck = Callable[[Pair], Iterable[Finding]]


def command(case: Case, **changes: object) -> str | None:
    """The launch command with some options changed; None when the model is not known."""
    deployment = case.deployment
    if not deployment.model:
        return None
    words = ["vllm", "serve", deployment.model]
    options: dict[str, object] = {}
    for name in ("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size"):
        if deployment.whole(name, 1) > 1:
            options[name] = deployment.whole(name, 1)
    if deployment.expert_parallel:
        options["enable_expert_parallel"] = True
    options.update(changes)
    for name, value in options.items():
        option = f"--{name.replace('_', '-')}"
        if value is True:
            words.append(option)
        elif value is not False and value is not None:
            words += [option, str(value)]
    return " ".join(shlex.quote(word) for word in words)


def step(case: Case, do: str, **changes: object) -> Remedy:
    """A remedy whose command is the launch with these options changed."""
    return Remedy(do, command(case, **changes))


def labelled(findings: Iterable[Finding], label: str) -> Iterator[Finding]:
    """The findings with the instance's name behind each title, where there are several instances."""
    for finding in findings:
        yield finding._replace(title=f"{finding.title} ({label})") if label else finding
