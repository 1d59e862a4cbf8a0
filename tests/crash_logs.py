"""Crash logs as vLLM of several releases prints them, built for tests. Hosts, paths and numbers are invented."""

from __future__ import annotations

SITE = "/opt/venv/lib/python3.12/site-packages"

WORKER_FRAMES = (
    (f"{SITE}/vllm/v1/executor/multiproc_executor.py", 870, "worker_busy_loop", "output = func(*args, **kwargs)"),
    (
        f"{SITE}/vllm/v1/worker/gpu_worker.py",
        431,
        "execute_model",
        "output = self.model_runner.execute_model(scheduler_output)",
    ),
    (f"{SITE}/vllm/model_executor/models/toy.py", 92, "forward", "assert hidden.shape[-1] == self.width"),
)
START_FRAMES = (
    (f"{SITE}/vllm/v1/executor/multiproc_executor.py", 868, "worker_main", "worker = WorkerProc(*args, **kwargs)"),
    (f"{SITE}/vllm/v1/worker/gpu_worker.py", 301, "load_model", "self.model_runner.load_model()"),
    (f"{SITE}/vllm/model_executor/models/toy.py", 41, "__init__", "assert self.width % tp_size == 0"),
)
ENGINE_FRAMES = (
    (f"{SITE}/vllm/v1/engine/core.py", 1496, "run_engine_core", "engine_core.run_busy_loop()"),
    (f"{SITE}/vllm/v1/executor/multiproc_executor.py", 391, "get_response", "raise RuntimeError("),
)
API_FRAMES = (
    (f"{SITE}/vllm/entrypoints/cli/main.py", 120, "main", "args.dispatch_function(args)"),
    (f"{SITE}/vllm/v1/engine/utils.py", 1273, "wait_for_engine_startup", "raise RuntimeError("),
)


def traceback(frames, last: str, *, markers: bool = True) -> list[str]:
    """The lines of a traceback; `last` may have several lines."""
    lines = ["Traceback (most recent call last):"]
    for path, number, function, code in frames:
        lines += [f'  File "{path}", line {number}, in {function}', f"    {code}"]
        if markers:
            lines.append("    " + "^" * len(code))
    return lines + last.split("\n")


def prefixed(
    process: str, pid: int, level: str, site: str, lines: list[str], *, time: str = "03-14 10:20:30", old: bool = False
) -> list[str]:
    """The lines as one record of vLLM's logger; `old` is the form without brackets."""
    place = f"{site}]" if old else f"[{site}]"
    who = f"({process} pid={pid}) " if process else ""
    return [f"{who}{level} {time} {place} {line}" for line in lines]


def running_crash(
    last: str = "AssertionError", *, ranks: tuple[int, ...] = (1,), quoted: str | None = None, raw_prefix: bool = True
) -> list[str]:
    """A server at work whose workers of `ranks` fail; `raw_prefix` False is the form of 0.32."""
    log = prefixed("APIServer", 10, "INFO", "api_server.py:1896", ["vLLM API server version 0.26.0"])
    log += prefixed("APIServer", 10, "INFO", "launcher.py:46", ["Application startup complete."])
    for rank in ranks:
        log += prefixed(
            f"Worker_TP{rank}",
            100 + rank,
            "ERROR",
            "multiproc_executor.py:1007",
            ["WorkerProc hit an exception.", *traceback(WORKER_FRAMES, last), *traceback(WORKER_FRAMES, last), ""],
        )
    text = last.split(": ", 1)[1] if ": " in last.split("\n")[0] else ""
    inner = quoted if quoted is not None else text
    wrapper = f"RuntimeError: Worker failed with error '{inner}', please check the stack trace above for the root cause"
    log += prefixed(
        "EngineCore",
        20,
        "ERROR",
        "dump_input.py:73",
        ["Dumping input data for V1 LLM engine (v0.26.0) with config: model='toy', "],
    )
    block = traceback(ENGINE_FRAMES, wrapper)
    log += prefixed("EngineCore", 20, "ERROR", "core.py:1332", ["EngineCore encountered a fatal error.", *block])
    raw = ["Process EngineCore:", *block]
    log += [f"(EngineCore pid=20) {line}" for line in raw] if raw_prefix else raw
    dead = "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause."
    log += prefixed(
        "APIServer", 10, "ERROR", "async_llm.py:704", ["AsyncLLM output_handler failed.", *traceback(API_FRAMES, dead)]
    )
    log += ['INFO:     192.0.2.7:4711 - "POST /v1/completions HTTP/1.1" 500 Internal Server Error']
    return log


def startup_crash(
    last: str = "AssertionError", *, ranks: tuple[int, ...] = (0, 1), raw_prefix: bool = True
) -> list[str]:
    """A server that never came up: every rank fails while loading."""
    log = prefixed("APIServer", 10, "INFO", "api_server.py:1896", ["vLLM API server version 0.26.0"])
    for rank in ranks:
        log += prefixed(
            f"Worker_TP{rank}",
            100 + rank,
            "ERROR",
            "multiproc_executor.py:901",
            ["WorkerProc failed to start.", *traceback(START_FRAMES, last)],
        )
    wrapper = "Exception: WorkerProc initialization failed due to an exception in a background process. See stack trace for root cause."
    block = traceback(ENGINE_FRAMES, wrapper)
    log += prefixed("EngineCore", 20, "ERROR", "core.py:1330", ["EngineCore failed to start.", *block])
    raw = ["Process EngineCore:", *block]
    log += [f"(EngineCore pid=20) {line}" for line in raw] if raw_prefix else raw
    end = traceback(
        API_FRAMES, "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}"
    )
    log += [f"(APIServer pid=10) {line}" for line in end] if raw_prefix else end
    return log


def healthy_server() -> list[str]:
    """A server that starts, serves, and is told to stop."""
    log = prefixed("APIServer", 10, "INFO", "api_server.py:1896", ["vLLM API server version 0.26.0"])
    log += prefixed(
        "APIServer",
        10,
        "WARNING",
        "system_utils.py:299",
        [
            "Found ulimit of 20000 and failed to automatically increase with error current limit exceeds maximum limit. "
            "This can cause fd limit errors like `OSError: [Errno 24] Too many open files`. Consider increasing with ulimit -n"
        ],
    )
    log += ["INFO:     Application startup complete."]
    log += [f'INFO:     192.0.2.7:{4000 + n} - "POST /v1/completions HTTP/1.1" 200 OK' for n in range(20)]
    log += prefixed("APIServer", 10, "INFO", "launcher.py:100", ["[shutdown] API server: shutdown triggered"])
    return log
