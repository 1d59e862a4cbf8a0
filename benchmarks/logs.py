"""Seeded logs for the benchmarks: healthy lines of a serving fleet, and crashes put between them.

A block of unique lines is made once and written again and again, so that gigabytes take seconds.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

BLOCK_BYTES = 16 * 1024 * 1024
PROCESSES = [
    "APIServer pid=11",
    *(f"EngineCore_DP{n} pid={300 + n}" for n in range(2)),
    *(f"Worker_TP{n} pid={400 + n}" for n in range(8)),
]
PACKAGES = "/opt/venv/lib/python3.12/site-packages"
ROUTES = ["POST /v1/chat/completions", "POST /v1/completions", "GET /health", "GET /metrics"]
FILES = ["v1/worker/gpu_model_runner.py", "v1/executor/multiproc_executor.py", "model_executor/layers/linear.py"]


class Fleet:
    """Writes lines; equal seeds write equal lines."""

    def __init__(self, seed: int = 11, *, color: bool = False) -> None:
        self.random = random.Random(seed)
        self._color = color
        self._kinds: list[tuple[Callable[[], str], int]] = [
            (self._access, 40), (self._throughput, 16), (self._added, 14), (self._received, 5), (self._transfer, 9),
            (self._nccl, 3), (self._decode, 7), (self._json, 3), (self._debug, 2), (self._warning, 1),
        ]  # fmt: skip

    def healthy(self) -> Iterator[str]:
        """Healthy lines without end."""
        makers, weights = zip(*self._kinds, strict=True)
        while True:
            for maker in self.random.choices(makers, weights, k=4096):
                yield maker()

    def error(self, process: str | None = None) -> str:
        """One ERROR line that is no traceback."""
        what = self.random.choice(
            ["Error in preprocessing prompt inputs", "Exception in ASGI application", "request %d was dropped"]
        )
        return self._prefix("ERROR", "serving_chat.py:301", process) + (
            what % self._number(9999) if "%d" in what else what
        )

    def traceback(self, process: str, depth: int = 12) -> list[str]:
        """A worker's fatal block, every line prefixed as vLLM does it."""
        lines = ["WorkerProc hit an exception.", "Traceback (most recent call last):"]
        for _ in range(depth):
            file = self.random.choice(FILES)
            lines += [f'  File "{PACKAGES}/vllm/{file}", line {self._number(2000)}, in execute_model']
            lines += ["    output = self.model_runner.execute_model(scheduler_output)"]
        lines.append(f"RuntimeError: CUDA error: an illegal memory access was encountered ({self._number(9999)})")
        prefix = self._prefix("ERROR", "multiproc_executor.py:822", process)
        return [prefix + line for line in lines]

    def _number(self, limit: int) -> int:
        return self.random.randrange(limit)

    def _day(self) -> str:
        return f"{1 + self._number(12):02}-{1 + self._number(28):02}"

    def _time(self) -> str:
        return f"{self._number(24):02}:{self._number(60):02}:{self._number(60):02}"

    def _address(self) -> str:
        return f"10.20.{self._number(256)}.{self._number(256)}"

    def _id(self) -> str:
        return f"chatcmpl-{self.random.getrandbits(128):032x}"

    def _prefix(self, level: str, site: str, process: str | None = None) -> str:
        process, time = process or self.random.choice(PROCESSES), f"{self._day()} {self._time()}"
        if self._color:
            gray = "\033[90m"
            return f"\033[0;36m({process})\033[0;0m \033[32m{level}\033[0m {gray}{time}\033[0m {gray}[{site}]\033[0m "
        return f"({process}) {level} {time} [{site}] "

    def _access(self) -> str:
        status = self.random.choice(["200 OK"] * 40 + ["400 Bad Request", "429 Too Many Requests"])
        client, route = f"{self._address()}:{1024 + self._number(60000)}", self.random.choice(ROUTES)
        return f'(APIServer pid=11) INFO:     {client} - "{route} HTTP/1.1" {status}'

    def _throughput(self) -> str:
        u = self.random.uniform
        return self._prefix("INFO", "loggers.py:248", "APIServer pid=11") + (
            f"Engine 000: Avg prompt throughput: {u(0, 9e3):.1f} tokens/s, "
            f"Avg generation throughput: {u(0, 4e3):.1f} tokens/s, Running: {self._number(256)} reqs, "
            f"Waiting: {self._number(90)} reqs, GPU KV cache usage: {u(0, 99):.1f}%, "
            f"Prefix cache hit rate: {u(0, 99):.1f}%"
        )

    def _added(self) -> str:
        return self._prefix("INFO", "async_llm.py:370", "APIServer pid=11") + f"Added request {self._id()}-0."

    def _received(self) -> str:
        return self._prefix("INFO", "logger.py:44", "APIServer pid=11") + (
            f"Received request {self._id()}: params: SamplingParams(n=1, presence_penalty=0.0, "
            f"temperature={self.random.random():.2f}, top_p=0.95, top_k=20, min_p=0.0, seed=None, stop=[], "
            f"max_tokens={self._number(8192)}, min_tokens=0, logprobs=None, skip_special_tokens=True), "
            "lora_request: None."
        )

    def _transfer(self) -> str:
        n = self._number
        day = self._day().replace("-", "")
        return (
            f"I{day} {self._time()}.{n(1000000):06} {n(99999):5} transfer_engine.cpp:{n(900)}] "
            f"Transfer batch {n(9999)} finished, {n(1 << 30)} bytes, {n(99999)} us"
        )

    def _nccl(self) -> str:
        n = self._number
        where = f"node{n(32):02}:{n(9999)}:{n(9999)} [{n(8)}]"
        return f"{where} NCCL INFO Channel {n(24):02}/24 : {n(8)}[{n(8)}] -> {n(8)}[{n(8)}] via P2P/CUMEM/read"

    def _decode(self) -> str:
        n = self._number
        return (
            f"[2026-{self._day()} {self._time()} TP{n(8)}] Decode batch. #running-req: {n(256)}, "
            f"#token: {n(999999)}, token usage: {self.random.random():.2f}, cuda graph: True, "
            f"gen throughput (token/s): {n(9000)}, #queue-req: {n(99)}, "
        )

    def _json(self) -> str:
        return (
            f'{{"ts":"2026-09-30T{self._time()}.123Z","level":"info","logger":"router","msg":"route",'
            f'"worker":"http://{self._address()}:8000","latency_ms":{self._number(9999)}}}'
        )

    def _debug(self) -> str:
        return self._prefix("DEBUG", "core.py:410") + f"EngineCore waiting for work. step={self._number(1 << 30)}"

    def _warning(self) -> str:
        return self._prefix("WARNING", "scheduler.py:210") + self.random.choice([
            f"Sequence group {self._number(99999)} is preempted because there is not enough KV cache space.",
            f"The request {self._number(99999)} has been waiting for longer than 60 seconds.",
            f"Token indices sequence length is longer than the maximum of this model ({self._number(99999)} > 8192).",
        ])  # fmt: skip


def healthy_block(*, color: bool = False, end: str = "\n", size: int = BLOCK_BYTES) -> bytes:
    """Unique healthy lines."""
    lines, total, source = [], 0, Fleet(color=color).healthy()
    while total < size:
        line = next(source) + end
        lines.append(line)
        total += len(line)
    return "".join(lines).encode()


def write_repeated(path: Path, block: bytes, size: int, crash: bytes = b"") -> None:
    """Fill a file up to a size with the block's lines; the crash goes in once, nine tenths through."""
    with path.open("wb") as file:
        written = 0
        while written < size:
            if crash and written >= size * 9 // 10:
                file.write(crash)
                crash = b""
            part = block if size - written >= len(block) else block[: block.rfind(b"\n", 0, size - written) + 1]
            if not part:
                break
            written += file.write(part)


def crash_text() -> bytes:
    """What two workers and their engine leave behind."""
    fleet = Fleet(5)
    lines = [line for rank in (3, 5) for line in fleet.traceback(f"Worker_TP{rank} pid={400 + rank}")]
    lines.append("(EngineCore_DP0 pid=300) ERROR 01-02 03:04:05 [core.py:712] EngineCore encountered a fatal error.")
    return ("\n".join(lines) + "\n").encode()


def mixed(size: int, share: float) -> Iterator[str]:
    """Healthy lines of which a share is replaced by ERROR lines."""
    fleet, total, due = Fleet(13), 0, 0.0
    healthy = fleet.healthy()
    while total < size:
        due += share
        line = fleet.error() if due >= 1 else next(healthy)
        due -= due >= 1
        total += len(line) + 1
        yield line


def interleaved(size: int, workers: int = 64) -> Iterator[str]:
    """Tracebacks of many workers at once, line by line in turn."""
    fleet, total, number = Fleet(17), 0, 0
    while total < size:
        blocks = [fleet.traceback(f"Worker_TP{n} pid={4000 + n}") for n in range(workers)]
        for row in zip(*blocks, strict=True):
            for line in row:
                total += len(line) + 1
                number += 1
                yield line


def tracebacks(count: int, between: int = 200) -> Iterator[str]:
    """Tracebacks with healthy lines between them."""
    fleet = Fleet(19)
    healthy = fleet.healthy()
    for number in range(count):
        yield from fleet.traceback(f"Worker_TP{number % 8} pid={400 + number % 8}")
        for _ in range(between):
            yield next(healthy)
