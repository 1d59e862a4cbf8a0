"""Logs as releases of vLLM from 0.8.5 to 0.32 print them, built line by line. Hosts, paths and numbers are invented.

log = ReleaseLog("0.26.0").serving()
log.worker_fails(1, "ValueError: page table is empty").engine_quotes("page table is empty").front_end_follows()
log.lines
"""

from __future__ import annotations

from typing import NamedTuple

SITE = "/opt/venv/lib/python3.12/site-packages"
PLUGIN = "/opt/plugins/acme_layers/mlp.py"
DEAD = "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause."
BROKEN = "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:547] Connection closed by peer [127.0.0.1]:41161"
NCCL = (
    "torch.distributed.DistBackendError: NCCL error in: /pytorch/torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:3690, "
    "remote process exited or there was a network error, NCCL version 2.27.3\n"
    "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely."
)


class Release(NamedTuple):
    """Where a release prints what (line numbers of its sources), and how."""

    failed: int
    """Line of `WorkerProc hit an exception.`"""
    start_failed: int
    died: int
    engine_start: int
    engine_fatal: int
    engine: str
    coloured: bool = False
    nested: bool = False
    prefixes_raw_text: bool = True
    prints_exit_code: bool = False


RELEASES = {
    "0.8.5": Release(470, 435, 124, 396, 398, "EngineCore_0", coloured=True),
    "0.10.2": Release(654, 585, 150, 718, 720, "EngineCore_DP0", coloured=True, nested=True),
    "0.12.0": Release(822, 750, 234, 843, 845, "EngineCore_DP0", coloured=True, nested=True),
    "0.16.0": Release(863, 783, 248, 1006, 1008, "EngineCore_DP0", nested=True),
    "0.21.0": Release(962, 870, 284, 1140, 1142, "EngineCore"),
    "0.26.0": Release(1007, 901, 285, 1330, 1332, "EngineCore", prints_exit_code=True),
    "0.32.0": Release(1063, 953, 316, 1510, 1512, "EngineCore", prefixes_raw_text=False, prints_exit_code=True),
}

Frame = tuple[str, int, str, str]


def frame(path: str, line: int, function: str, code: str) -> Frame:
    return (path if path.startswith("/") else f"{SITE}/{path}", line, function, code)


RUNNING = (
    frame("vllm/v1/executor/multiproc_executor.py", 980, "worker_busy_loop", "output = func(*args, **kwargs)"),
    frame(
        "vllm/v1/worker/gpu_worker.py",
        641,
        "execute_model",
        "output = self.model_runner.execute_model(scheduler_output)",
    ),
    frame(PLUGIN, 40, "forward", "self.check(hidden)"),
)
STARTING = (
    frame("vllm/v1/executor/multiproc_executor.py", 870, "worker_main", "worker = WorkerProc(*args, **kwargs)"),
    frame("vllm/v1/worker/gpu_worker.py", 412, "load_model", "self.model_runner.load_model()"),
    frame(PLUGIN, 12, "__init__", "assert self.width % tp_size == 0"),
)
WAITING = (*RUNNING[:2], frame("torch/distributed/distributed_c10d.py", 3003, "all_reduce", "work.wait()"))
ENGINE = (
    frame("vllm/v1/engine/core.py", 1323, "run_engine_core", "engine_core.run_busy_loop()"),
    frame("vllm/v1/engine/core.py", 1403, "_process_engine_step", "outputs, model_executed = self.step_fn()"),
)
FRONT_END = (
    frame("vllm/v1/engine/async_llm.py", 660, "output_handler", "outputs = await engine_core.get_output_async()"),
)


def traceback(frames: tuple[Frame, ...], last: str) -> list[str]:
    lines = ["Traceback (most recent call last):"]
    for path, number, function, code in frames:
        lines += [f'  File "{path}", line {number}, in {function}', f"    {code}"]
    return lines + last.split("\n")


def chained(*tracebacks: list[str], sentence: str) -> list[str]:
    lines = list(tracebacks[0])
    for later in tracebacks[1:]:
        lines += ["", sentence, "", *later]
    return lines


class ReleaseLog:
    """A log that grows; each method adds what one process prints and returns the log."""

    def __init__(self, version: str = "0.26.0", *, ranks: int = 2, role: str = "TP", minute: int = 20) -> None:
        self.version, self.release, self.ranks, self.role = version, RELEASES[version], ranks, role
        self.lines: list[str] = []
        self.seconds = minute * 60

    def text(self) -> str:
        return "\n".join(self.lines) + "\n"

    def passes(self, seconds: int) -> ReleaseLog:
        self.seconds += seconds
        return self

    def prefix(self, who: str | int) -> str:
        """The prefix of `api`, `core` or a rank."""
        own = {
            "api": "" if self.version == "0.8.5" else self._name("APIServer", 4100),
            "core": self._name(self.release.engine, 4132),
        }
        if who in own:
            return (own["api"] if self.release.nested and who == "core" else "") + own[str(who)]
        name = f"VllmWorker rank={who}" if self.version == "0.8.5" else f"Worker_{self.role}{who}"
        return (self.prefix("core") if self.release.nested else "") + self._name(name, 4150 + int(who))

    def _name(self, name: str, pid: int) -> str:
        shown = f"({name} pid={pid})"
        return (f"\x1b[1;36m{shown}\x1b[0;0m" if self.release.coloured else shown) + " "

    def record(self, who: str | int, level: str, site: str, *lines: str) -> ReleaseLog:
        time = f"03-14 10:{self.seconds // 60:02d}:{self.seconds % 60:02d}"
        self.lines += [f"{self.prefix(who)}{level} {time} [{site}] {line}" for line in lines]
        return self

    def raw(self, who: str | int, *lines: str) -> ReleaseLog:
        prefix = self.prefix(who) if self.release.prefixes_raw_text else ""
        self.lines += [prefix + line for line in lines]
        return self

    def bare(self, *lines: str) -> ReleaseLog:
        self.lines += lines
        return self

    def starting(self) -> ReleaseLog:
        self.record("api", "INFO", "utils.py:299", f"vLLM API server version {self.version}")
        self.record(
            "api",
            "INFO",
            "utils.py:233",
            f"non-default args: {{'model': '/srv/models/heron-12b', 'tensor_parallel_size': {self.ranks}}}",
        )
        self.passes(6).record(
            "core",
            "INFO",
            "core.py:105",
            f"Initializing a V1 LLM engine (v{self.version}) with config: model='/srv/models/heron-12b', dtype=torch.bfloat16, tensor_parallel_size={self.ranks}",
        )
        for rank in range(self.ranks):
            self.record(rank, "INFO", "gpu_model_runner.py:4216", "Starting to load model /srv/models/heron-12b...")
        return self.passes(20)

    def serving(self) -> ReleaseLog:
        self.starting().passes(30)
        self.raw("api", "INFO:     Started server process [4100]", "INFO:     Application startup complete.")
        return self.answers(200, "OK").answers(200, "OK").passes(10)

    def answers(self, status: int, words: str) -> ReleaseLog:
        return self.raw("api", f'INFO:     192.0.2.7:41020 - "POST /v1/completions HTTP/1.1" {status} {words}')

    def worker_fails(
        self, rank: int, last: str, frames: tuple[Frame, ...] = RUNNING, block: list[str] | None = None
    ) -> ReleaseLog:
        shown = block or traceback(frames, last)
        site = f"multiproc_executor.py:{self.release.failed}"
        return self.record(rank, "ERROR", site, "WorkerProc hit an exception.", *shown, *shown)

    def worker_cannot_start(self, rank: int, last: str, frames: tuple[Frame, ...] = STARTING) -> ReleaseLog:
        site = f"multiproc_executor.py:{self.release.start_failed}"
        return self.record(rank, "ERROR", site, "WorkerProc failed to start.", *traceback(frames, last))

    def worker_dies(self, rank: int, code: str) -> ReleaseLog:
        shown = f" (exit code: {code})" if self.release.prints_exit_code else ""
        text = f"Worker proc VllmWorker-{rank} died unexpectedly{shown}, shutting down executor."
        return self.record("core", "ERROR", f"multiproc_executor.py:{self.release.died}", text)

    def engine_fails(self, block: list[str]) -> ReleaseLog:
        self.record(
            "core", "ERROR", f"core.py:{self.release.engine_fatal}", "EngineCore encountered a fatal error.", *block
        )
        return self.raw("core", f"Process {self.release.engine}:", *block)

    def engine_quotes(self, text: str) -> ReleaseLog:
        quoted = (
            f"RuntimeError: Worker failed with error '{text}', please check the stack trace above for the root cause"
        )
        self.record(
            "core",
            "ERROR",
            "dump_input.py:73",
            f"Dumping input data for V1 LLM engine (v{self.version}) with config: model='/srv/models/heron-12b', ",
        )
        return self.engine_fails(traceback(ENGINE, quoted))

    def engine_times_out(self) -> ReleaseLog:
        waits = frame("vllm/distributed/device_communicators/shm_broadcast.py", 817, "dequeue", "raise TimeoutError")
        gives_up = frame(
            "vllm/v1/executor/multiproc_executor.py",
            392,
            "get_response",
            'raise TimeoutError(f"RPC call to {method} timed out.") from e',
        )
        first = traceback((*ENGINE, waits), "TimeoutError")
        second = traceback((*ENGINE, gives_up), "TimeoutError: RPC call to execute_model timed out.")
        return self.engine_fails(
            chained(first, second, sentence="The above exception was the direct cause of the following exception:")
        )

    def executor_failed(self) -> ReleaseLog:
        return self.engine_fails(traceback(ENGINE, "RuntimeError: Executor failed."))

    def engine_cannot_start(self) -> ReleaseLog:
        text = "Exception: WorkerProc initialization failed due to an exception in a background process. See stack trace for root cause."
        block = traceback(ENGINE[:1], text)
        self.record("core", "ERROR", f"core.py:{self.release.engine_start}", "EngineCore failed to start.", *block)
        return self.raw("core", f"Process {self.release.engine}:", *block)

    def front_end_follows(self) -> ReleaseLog:
        self.record("api", "ERROR", "async_llm.py:704", "AsyncLLM output_handler failed.", *traceback(FRONT_END, DEAD))
        return self.answers(500, "Internal Server Error")

    def front_end_cannot_start(self) -> ReleaseLog:
        frames = (frame("vllm/v1/engine/utils.py", 1273, "wait_for_engine_startup", "raise RuntimeError("),)
        text = "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}"
        return self.raw("api", *traceback(frames, text))

    def told_to_stop(self) -> ReleaseLog:
        if self.version in ("0.26.0", "0.32.0"):
            return self.record("api", "INFO", "launcher.py:100", "[shutdown] API server: shutdown triggered")
        return self.record("api", "INFO", "launcher.py:122", "Shutting down FastAPI HTTP server.")
