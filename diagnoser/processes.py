"""The grammar of process names: what `Worker_DP0_TP3_EP3` or `RayWorkerWrapper` says about a process.

vLLM builds the names in `vllm/v1/executor/multiproc_executor.py` and `vllm/v1/engine/utils.py`; Ray takes
the actor's class; torch prints `[rank3]:`; torchrun `[default3]:`.
"""

from __future__ import annotations

from functools import lru_cache

from diagnoser.lazy import lazy
from diagnoser.model import Process

_WORKER = lazy(
    r"(?:[Vv]llm_?|VLLM|Ray|GPU|CPU|TPU|XPU|HPU|Neuron|NPU){0,3}Worker(?:Wrapper|Proc|Process|Base|Actor)?(?![a-z])"
)
_LAUNCHED = lazy(r"(?:rank|default|worker|trainer)\d+\Z")
_TORCHSERVE = lazy(r"W-\d+-")
_SCHEDULER = lazy(r"(?:scheduler(?:_|\Z)|Scheduler\Z)|(?:(?:DP|PP|TP|EP|CP|MOE_EP)\d+(?: |\Z))+\Z")
_RANK = lazy(r"(?:(?<=[_\s:])|\A)(DP|PP|PCP|TP|DCP|EP)(?:Rank)?_?(\d{1,6})(?=[_\s:\]]|\Z)")
_GLOBAL_RANK = lazy(r"(?:\brank=|\A(?:rank|default)|Worker(?:Process|Proc)?-)(\d{1,6})\b")
_ENGINE_NUMBER = lazy(r"EngineCore_(\d{1,6})\Z")
_CLASS = lazy(r"_?[A-Za-z]\w*")

_FIXED_ROLES = {
    "MainProcess": "launcher",
    "torchrun": "launcher",
    "VLLM_DP_Coordinator": "DPCoordinator",
    "DPCoordinator": "DPCoordinator",
    "DPSupervisor": "DPSupervisor",
}
_NO_ROLE = lazy(r"(?:Spawn|Fork|ForkServer)?(?:Pool)?(?:Process|Worker)-\d+(?::\d+)*\Z")


@lru_cache(maxsize=4096)
def parse_process_name(name: str | None, pid: int | None = None, host: str | None = None) -> Process:
    """The process that a printed name stands for: role and ranks are read from the name.

    A process title (`VLLM::Worker_TP0`, as in `ps` or a kernel's OOM line) reads like the name behind the colons.
    """
    if not name:
        return Process(None, None, pid, host)
    bare = name.rpartition("::")[2] if name.startswith(("VLLM::", "sglang::")) else name
    return Process(name, role_of(bare), pid, host, ranks=ranks_of(bare))


def role_of(name: str) -> str | None:
    """The role that a name stands for: one of vLLM's, or the class of a Ray actor; None for a number alone."""
    if name in _FIXED_ROLES:
        return _FIXED_ROLES[name]
    if "EngineCore" in name:
        return "EngineCore"
    if name.lower().startswith("apiserver"):
        return "APIServer"
    if _NO_ROLE.match(name):
        return None
    if _WORKER.match(name) or _LAUNCHED.match(name) or _TORCHSERVE.match(name) or _SCHEDULER.match(name):
        return "Worker"
    found = _CLASS.match(name)
    return found.group() if found else None


def ranks_of(name: str) -> tuple[tuple[str, int], ...]:
    """The ranks that a name holds, sorted by key."""
    ranks = {key.lower(): int(value) for key, value in _RANK.findall(name)}
    if numbered := _ENGINE_NUMBER.search(name):
        ranks.setdefault("dp", int(numbered.group(1)))
    if numbered := _GLOBAL_RANK.search(name):
        ranks["rank"] = int(numbered.group(1))
    return tuple(sorted(ranks.items()))
