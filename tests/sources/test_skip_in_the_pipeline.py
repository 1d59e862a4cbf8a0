"""Skipping changes no report: generated logs read with it and without it give the same.

`DIAGNOSER_LOGS` sets how many logs are generated (25 by default).
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator

import pytest

from diagnoser.catalogue import Catalogue
from diagnoser.model import Report
from diagnoser.pipeline import analyse
from diagnoser.sources import text_source
from diagnoser.sources.limits import Settings

COUNT = int(os.environ.get("DIAGNOSER_LOGS", "25"))
SIZES = Settings(whole=0, head=8000)
FRAMES = [
    ("vllm/v1/worker/gpu_worker.py", 301, "init_device", "self.init_distributed()"),
    ("vllm/v1/executor/multiproc_executor.py", 640, "worker_main", "worker = WorkerProc(*args, **kwargs)"),
    ("vllm/model_executor/models/llama.py", 148, "__init__", "assert self.total_num_kv_heads % tp_size == 0"),
    ("vllm/model_executor/layers/linear.py", 910, "forward", "output = self.quant_method.apply(self, x)"),
]
ERRORS = [
    "AssertionError",
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB. GPU 3 has a total capacity of 79.25 GiB",
    "ValueError: Unsupported connector type: MooncakeConector",
    "RuntimeError: NCCL error: unhandled system error (run with NCCL_DEBUG=INFO for details)",
    "KeyError: 'layers.0.mlp.gate.weight'",
    "ModuleNotFoundError: No module named 'mooncake'",
]


class Generator:
    """One log per seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self._second = 0

    def log(self) -> bytes:
        """Healthy stretches with things between them that go wrong or only look as if they did."""
        events = [self._worker_dies, self._bare_traceback, self._glog, self._nccl, self._killed, self._request_fails,
                  self._retried, self._shutdown, self._starts, self._warns]  # fmt: skip
        lines = [*self._starts(), *self._healthy(self.random.randrange(300))]
        for event in self.random.choices(events, k=self.random.randrange(4)):
            busy = self.random.random() < 0.3
            for line in event():
                lines.append(line)
                lines += self._healthy(self.random.randrange(4)) if busy else ()
            lines += self._healthy(self.random.choice([0, 3, 700, 2000]))
        text = self.random.choice(["\n", "\n", "\r\n"]).join(lines)
        return text.encode() + b"\n" * self.random.randrange(2)

    def _prefix(self, process: str, level: str, site: str) -> str:
        self._second += 1
        clock = f"03-14 {self._second // 3600 % 24:02}:{self._second // 60 % 60:02}:{self._second % 60:02}"
        return f"({process}) {level} {clock} [{site}] "

    def _healthy(self, count: int) -> Iterator[str]:
        for _ in range(count):
            number = self.random.randrange(10**6)
            yield self.random.choice([
                f'(APIServer pid=11) INFO:     192.0.2.7:{number % 60000} - "POST /v1/completions HTTP/1.1" 200 OK',
                self._prefix("APIServer pid=11", "INFO", "async_llm.py:370") + f"Added request cmpl-{number:08x}-0.",
                self._prefix("APIServer pid=11", "INFO", "loggers.py:248") + f"Engine 000: Running: {number % 200} reqs",
                f"I0314 10:20:30.{number:06} 77 transfer_engine.cpp:45] Transfer batch {number} finished",
            ])  # fmt: skip

    def _starts(self) -> Iterator[str]:
        yield self._prefix("APIServer pid=11", "INFO", "api_server.py:1896") + "vLLM API server version 0.11.0"
        yield self._prefix("APIServer pid=11", "INFO", "utils.py:233") + "non-default args: {'model': '/srv/models/m'}"

    def _traceback(self) -> list[str]:
        lines = ["Traceback (most recent call last):"]
        for path, number, function, code in self.random.sample(FRAMES, 3):
            lines += [
                f'  File "/opt/venv/lib/python3.12/site-packages/{path}", line {number}, in {function}',
                f"    {code}",
            ]
        return [*lines, self.random.choice(ERRORS)]

    def _worker_dies(self) -> Iterator[str]:
        rank = self.random.randrange(4)
        for line in ["WorkerProc hit an exception.", *self._traceback()]:
            yield self._prefix(f"Worker_TP{rank} pid={40 + rank}", "ERROR", "multiproc_executor.py:671") + line
        engine = ["EngineCore encountered a fatal error.", "Traceback (most recent call last):"]
        engine += [
            '  File "/opt/venv/lib/python3.12/site-packages/vllm/v1/engine/core.py", line 700, in run_engine_core'
        ]
        engine += [
            "    engine_core.run_busy_loop()",
            "RuntimeError: Worker failed with error '', please check the stack trace",
        ]
        for line in engine:
            yield self._prefix("EngineCore_DP0 pid=30", "ERROR", "core.py:710") + line
        yield from self._shutdown()

    def _bare_traceback(self) -> Iterator[str]:
        yield from self._traceback()

    def _glog(self) -> Iterator[str]:
        yield "E0314 10:20:30.123456 77 transfer_engine.cpp:220] Failed to open segment 192.0.2.9:12345"
        yield "E0314 10:20:30.123460 77 client.cpp:90] Cannot reach the metadata server"

    def _nccl(self) -> Iterator[str]:
        yield "node1:55:77 [2] NCCL WARN NET/IB : Got completion from peer 192.0.2.8 with status=12"

    def _killed(self) -> Iterator[str]:
        yield "Memory cgroup out of memory: Killed process 4021 (VLLM::Worker_TP) total-vm:1000kB"

    def _request_fails(self) -> Iterator[str]:
        yield "(APIServer pid=11) ERROR:    Exception in ASGI application"
        for line in self._traceback():
            yield f"(APIServer pid=11) {line}"
        yield '(APIServer pid=11) INFO:     192.0.2.7:1234 - "POST /v1/completions HTTP/1.1" 500 Internal Server Error'

    def _retried(self) -> Iterator[str]:
        yield (
            self._prefix("APIServer pid=11", "WARNING", "client.py:9") + "request failed: ConnectionError, trying again"
        )

    def _warns(self) -> Iterator[str]:
        yield self._prefix("EngineCore_DP0 pid=30", "WARNING", "shm_broadcast.py:466") + (
            "No available shared memory broadcast block found in 60 seconds."
        )

    def _shutdown(self) -> Iterator[str]:
        yield "(APIServer pid=11) INFO:     Shutting down"
        yield "(APIServer pid=11) INFO:     Application shutdown complete."


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return Catalogue.load()


@pytest.mark.parametrize("seed", range(COUNT))
def test_skipping_changes_no_report(catalogue: Catalogue, seed: int) -> None:
    log = Generator(seed).log()
    skipping, full = (analyse([text_source(log, settings=SIZES, skip=skip)], catalogue) for skip in (True, False))
    assert without_coverage(skipping) == without_coverage(full)


def without_coverage(report: Report) -> object:
    """Everything but what of the log was read, and the time and place of what was left out."""
    return (
        report.verdict,
        report.facts,
        [
            incident._replace(timeline=(), reasons=(), root=incident.root._replace(order=0, last=None))
            for incident in report.incidents
        ],
    )
