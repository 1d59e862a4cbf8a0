"""Deployments in what a request names: a launch line, a file that holds launches, a log that tells of one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence

from diagnoser.errors import InputError, UsageError
from diagnoser.model import Report
from diagnoser.preflight import reading
from diagnoser.preflight.deployment import Deployment
from diagnoser.preflight.launch import parse_arguments
from diagnoser.preflight.manifests import find_in_documents
from diagnoser.preflight.shell import Launch, find_in_script, find_launch

ReadLog = Callable[[str], Report]
"""Diagnoses a log; handed in by the command line, since checks know no other stage."""


def from_command(command: Sequence[str], inherited: Mapping[str, str]) -> Deployment:
    """The launch in the words after `--`; outside a container it has the variables that it would inherit.

    Raises UsageError when they start no vLLM.
    """
    launch = find_launch(command)
    if launch is None:
        launch = next(find_in_script(command[0]), None) if len(command) == 1 else None
    if launch is None:
        raise UsageError(
            f"the command after -- does not start vLLM: {' '.join(command)[:80]!r}; expected vllm serve MODEL …"
        )
    outside = {} if launch.container is not None else inherited
    deployment = of_launch(launch, "the command line", outside)
    return deployment._replace(environment_known=True)


def of_launch(launch: Launch, origin: str, outside: Mapping[str, str] | None = None) -> Deployment:
    """The deployment that a launch line starts, with variables from outside where it sets none itself."""
    deployment = parse_arguments(
        launch.arguments, origin, {**(outside or {}), **launch.environment}, served=launch.served
    )
    return deployment._replace(
        vllm_version=launch.image_version,
        container=launch.container,
        environment_known=launch.container is not None or deployment.environment_known,
        entrypoint=launch.entrypoint,
    )


def from_file(path: str) -> Iterator[Deployment]:
    """Launches in a script, a manifest or a values file; what it is shows in its name.

    Raises InputError for a file that can't be read.
    """
    name = os.path.basename(path)
    if path.endswith((".yaml", ".yml", ".json")):
        for found in find_in_documents(reading.read_yaml_documents(path)):
            deployment = of_launch(found.launch, f"{name}, {found.place}")
            yield deployment._replace(devices=found.gpus)
        return
    for launch in find_in_script(reading.read_text(path)):
        yield of_launch(launch, f"{name}, line {launch.line}")


def launches_if_any(path: str) -> list[Deployment]:
    """Launches in a file that may have nothing to do with vLLM, or be a template that is no YAML yet.

    Raises InputError for a file that can't be read.
    """
    text = reading.read_text(path)
    if "vllm" not in text.lower():
        return []
    try:
        return list(from_file(path))
    except InputError:
        if "{{" in text:
            return []
        raise


def from_log(path: str, read_log: ReadLog | None) -> Deployment:
    """The deployment that a log tells of; raises UsageError without a reader of logs."""
    from diagnoser.preflight.stated import deployment_of

    if read_log is None:
        raise UsageError("--from-log needs a reader of logs; call diagnoser.check or the command line")
    return deployment_of(read_log(path), path)
