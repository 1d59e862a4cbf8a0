"""vLLM's own lines, every release from 0.6 on: process prefixes, then the logger's record.

Until 0.26 the prefix stands before all that Python writes, from 0.32 only before log records. Before 0.8.5 the
site has no opening bracket. Text of VLLM_LOGGING_PREFIX stands before the level, or before the process (0.32).
Under fork the prefixes of parent and child nest, and the last one speaks; without buffering the prefixes of two
writers can meet on one line (`vllm/logger.py`, `vllm/utils/system_utils.py`).
"""

from __future__ import annotations

import re
from functools import lru_cache

from diagnoser.envelopes._base import LEVELS, Envelope, Peeling
from diagnoser.lazy import lazy
from diagnoser.model import Process
from diagnoser.processes import parse_process_name

NAME = (
    r"(?:API[Ss]erver|ApiServer|EngineCore(?!\w{0,20}Actor)|Worker(?!Wrapper)|[Vv]llmWorker|DPSupervisor|"
    r"VLLM_DP_Coordinator|DPCoordinator|MainProcess|(?:Spawn|Fork|ForkServer)?(?:Pool)?(?:Process|Worker)-\d)"
    r"[\w:-]{0,60}(?: (?:rank=|[A-Z]{2,4})\d{1,6}){0,6}"
)
PROCESS = rf"\({NAME} pid=\d{{1,10}}\)"
RECORD = (
    r"(DEBUG|INFO|WARNING|ERROR|CRITICAL) ((?:\d{4}-)?\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d{1,6})?) "
    r"\[?([^\s\[\]:]{1,200}:\d{1,7})\](?: |$)"
)
CUSTOM = r"\[[^\[\]\n]{1,80}\] ?"
"""VLLM_LOGGING_PREFIX in brackets, the usual way (`[pod-7f9c decode-0]`); other text is learned by the peeler."""

LONE_LEVEL = r"(?<=\) )(DEBUG|INFO|WARNING|ERROR|CRITICAL) (?=[\sA-Za-z\[(])"
"""A record whose time and site a logging configuration, or the person who sent the log, left out."""

_NAME_AND_PID = lazy(r"\(([^()]{1,90}?) pid=(\d{1,10})\)")
_DEPTH = {"launcher": 0, "DPSupervisor": 0, "APIServer": 1, "EngineCore": 2, "Worker": 3}


def peel_vllm(match: re.Match[str], peeling: Peeling) -> bool | None:
    """Read the processes, and the record if there is one."""
    processes, level, time, site, lone_level = match.groups()
    if not processes and not level:
        return False
    if processes:
        speaker, outer, owed = speakers(processes)
        for process in outer:
            peeling.speak(process)
        peeling.speak(speaker)
        peeling.owed = owed
    if level:
        peeling.level, peeling.time, peeling.site = LEVELS[level], time, site
        peeling.done = True
    elif lone_level:
        peeling.level, peeling.done = LEVELS[lone_level], True
    peeling.prefixed = True
    peeling.text = peeling.text[match.end() :]
    return None


@lru_cache(maxsize=4096)
def speakers(prefixes: str) -> tuple[Process, tuple[Process, ...], Process | None]:
    """Who speaks in a row of process prefixes, who stands around it, and which other writer's text is still to come.

    In one nest every name lies deeper than the one before it. A row that rises again is two nests that met.
    """
    found = [parse_process_name(name, int(pid)) for name, pid in _NAME_AND_PID.findall(prefixes)]
    if len(found) == 1:
        return found[0], (), None
    nests: list[list[Process]] = []
    for process in found:
        for nest in nests:
            if process not in nest and _can_hold(nest[-1], process):
                nest.append(process)
                break
        else:
            nests.append([process])
    deepest = max(_depth(nest[-1]) for nest in nests)
    speaking = [nest for nest in nests if _depth(nest[-1]) == deepest][-1]
    others = [nest for nest in nests if nest[-1] != speaking[-1] and _depth(nest[-1]) == deepest]
    outer = tuple(dict.fromkeys([*(nest[-1] for nest in others), *speaking[:-1]]))
    return speaking[-1], outer, others[-1][-1] if others else None


def _depth(process: Process) -> int:
    return _DEPTH.get(process.role or "", 2)


def _can_hold(outer: Process, inner: Process) -> bool:
    """True when a process can have inherited its prefix from the outer one, or renamed itself."""
    return _depth(outer) < _depth(inner) or outer.pid == inner.pid


ENVELOPE = Envelope(
    name="vllm",
    kind="record",
    order=10,
    heads="(DIWEC[",
    pattern=rf"((?:{PROCESS}(?: |$)){{0,12}})(?:(?:{CUSTOM})?{RECORD}|{LONE_LEVEL})?",
    peel=peel_vllm,
    samples=(
        "ERROR 03-14 10:20:30 engine.py:366] boom",
        "ERROR 03-14 10:20:30 [core.py:396] EngineCore failed to start.",
        "(VllmWorkerProcess pid=41) ERROR 03-14 10:20:30 multiproc_worker_utils.py:229] boom",
        "(VllmWorker rank=1 pid=42) ERROR 03-14 10:20:30 [multiproc_executor.py:470] WorkerProc hit an exception.",
        "(EngineCore_0 pid=43) ERROR 03-14 10:20:30 [core.py:586] boom",
        "(EngineCore_DP0 pid=43) DEBUG 03-14 10:20:30 [v1/engine/core.py:842] boom",
        "(APIServer pid=1) (EngineCore_DP0 pid=43) (Worker_TP1 pid=44) ERROR 03-14 10:20:30 [a.py:7]   File \"x.py\"",
        "(Worker_DP0_PP1_PCP0_TP3_DCP0_EP3 pid=44) INFO 03-14 10:20:30 [gpu_worker.py:12] ready",
        "(EngineCore_DP0 pid=43) [Stage-0] ERROR 03-14 10:20:30 [core.py:708] boom",
        "[pod-7f9c decode-0] INFO 03-14 10:20:30 [api_utils.py:286] ready",
        "(ApiServer_0 pid=1) Traceback (most recent call last):",
        "(APIServer_DP1 pid=1)   File \"x.py\", line 1, in f",
        "(Worker_TP0 pid=44) ERROR WorkerProc failed to start.",
        "(MainProcess pid=9) WARNING 03-14 10:20:30 [vllm.py:1703] eager",
    ),
)
