"""What Ray puts before the lines that it forwards from its workers to the driver.

The suffix ` [repeated 3x across cluster]` stands for as many equal lines that are not shown; Ray removes them
line by line (`ray/_private/ray_logging/__init__.py`).
"""

from __future__ import annotations

import re

from diagnoser.envelopes._base import Envelope, Peeling
from diagnoser.lazy import lazy
from diagnoser.model import Process
from diagnoser.processes import parse_process_name

_AUTOSCALER = lazy(r"autoscaler \+")


def peel_ray(match: re.Match[str], peeling: Peeling) -> bool | None:
    """Read actor, pid and address."""
    name, pid, bare_pid, system, host = match.groups()
    if system:
        process = parse_process_name("autoscaler" if _AUTOSCALER.match(system) else system, None, host)
    elif bare_pid and bare_pid.isdigit():
        process = Process(pid=int(bare_pid), host=host)
    elif bare_pid:
        process = parse_process_name(bare_pid, None, host)
    else:
        process = parse_process_name(name, int(pid), host)
    peeling.speak(process)
    peeling.prefixed = True
    peeling.text = peeling.text[match.end() :]
    return None


ENVELOPE = Envelope(
    name="ray",
    kind="process",
    order=20,
    heads="(",
    pattern=(
        r"\((?:([A-Za-z_][^\s()]{0,80}(?:\([^()]{0,80}(?:\([^()]{0,80}\)[^()]{0,80}){0,8}\))?(?: [\w=:.-]{1,30})?)"
        r" pid=(\d{1,10})|"
        r"pid=(\d{1,10}|[a-z_]{1,30})|("
        r"raylet|gcs_server|autoscaler \+[\dhms]{1,12}|scheduler \+[\dhms]{1,12}))(?:, ip=([^\s,()]{1,60}))?\)(?: |$)"
    ),
    peel=peel_ray,
    samples=(
        "(RayWorkerWrapper pid=91, ip=192.0.2.7) ERROR 03-14 10:20:30 [a.py:46] boom [repeated 3x across cluster]",
        "(RayWorkerWrapper pid=91) Traceback (most recent call last):",
        "(RayWorkerProc pid=91) text",
        "(EngineCoreActor pid=92) text",
        "(DPMoEEngineCoreActor pid=92) text",
        "(ServeReplica:default:LLM pid=92) text",
        "(MapWorker(MapBatches(LLMStage)->MapBatches(Parse)) pid=92, ip=192.0.2.7) text",
        "(pid=91) text",
        "(raylet) A worker died or was killed while executing a task by an unexpected system error.",
        "(raylet, ip=192.0.2.8) text",
        "(autoscaler +5s) Error: No available node types can fulfill resource request",
    ),
)
