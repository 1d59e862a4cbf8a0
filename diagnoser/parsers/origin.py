"""Which process a bare traceback came from, told by its frames.

vLLM 0.32 prints uncaught tracebacks without the name of the process. The outermost functions tell it all the
same: each process of vLLM has its own entry function. Source: vLLM 0.8.5 to 0.32, `worker_main` in
`v1/executor/multiproc_executor.py`, `run_engine_core` in `v1/engine/core.py`, the servers under `entrypoints/`.
"""

from __future__ import annotations

from diagnoser.model import Frame, Process

_ENTRIES = (
    ("multiproc_executor.py", "worker_main", "Worker"),
    ("multiproc_worker_utils.py", "_run_worker_process", "Worker"),
    ("core.py", "run_engine_core", "EngineCore"),
    ("engine.py", "run_mp_engine", "EngineCore"),
)
_SERVERS = (
    "vllm/entrypoints/cli/",
    "vllm/entrypoints/openai/",
    "vllm/entrypoints/launchers/",
    "vllm/entrypoints/launcher.py",
)


def process_of(frames: tuple[Frame, ...]) -> Process | None:
    """The process with its role, or None when the frames don't tell."""
    for frame in frames[:12]:
        for file, function, role in _ENTRIES:
            if frame.function == function and frame.path.endswith(file):
                return Process(None, role)
    for frame in frames:
        if frame.file.startswith(_SERVERS):
            return Process(None, "APIServer")
    return None
