"""What holds of every log, tried on logs that hypothesis makes. See also `tests/test_pipeline.py`."""

from __future__ import annotations

import io
import itertools
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import crash_logs
import pytest
from hostile.invariants import check_evidence, check_places, check_rendered, lines_of, summary_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from diagnoser import diagnose
from diagnoser.catalogue import Catalogue
from diagnoser.model import Report
from diagnoser.pipeline import analyse
from diagnoser.sources import open_sources

CATALOGUE = Catalogue.load()
SLOW = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)

ERRORS = (
    "AssertionError",
    "ValueError: width 7 is odd",
    "AssertionError: mooncake connector metadata size mismatch",
    "RuntimeError: CUDA error: out of memory\nCUDA kernel errors might be asynchronously reported",
    "KeyError: 'layers.3'",
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
)
GROUP = [
    "  + Exception Group Traceback (most recent call last):",
    '  |   File "/opt/venv/a.py", line 1, in f',
    "  | ExceptionGroup: two (2 sub-exceptions)",
    "  +-+---------------- 1 ----------------",
    "    | ValueError: one",
    "    +------------------------------------",
]
NATIVE = [
    "*** SIGSEGV (@0x0) received by PID 7 ***",
    "PC: @ 0x1 f()",
    "    @ 0x2 g()",
    "Segmentation fault (core dumped)",
]
PIECES = st.one_of(
    st.sampled_from([crash_logs.running_crash(error) for error in ERRORS]),
    st.sampled_from([crash_logs.startup_crash(error) for error in ERRORS]),
    st.sampled_from([crash_logs.healthy_server(), GROUP, NATIVE]),
    st.lists(st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\n"), max_size=60), max_size=4),
    st.lists(
        st.sampled_from(
            ["", "    ", "Traceback (most recent call last):", "INFO: x", "\x1b[31mERROR\x1b[0m", "{", "}"]
        ),
        max_size=5,
    ),
)
LOGS = st.lists(PIECES, min_size=1, max_size=4).map(lambda parts: list(itertools.chain(*parts)))


def report_of(lines: list[str], *, redact: bool = False) -> Report:
    return diagnose("\n".join(lines) + "\n", catalogue=CATALOGUE, redact=redact)


@SLOW
@given(LOGS)
def test_every_stated_line_exists_and_holds_the_evidence(lines: list[str]) -> None:
    text = "\n".join(lines) + "\n"
    report = diagnose(text, catalogue=CATALOGUE, redact=False)

    physical = lines_of(text)
    check_places(report, {"<text>": len(physical)})
    check_evidence(report, {"<text>": physical})


@settings(SLOW, max_examples=25)
@given(LOGS, st.randoms(use_true_random=False))
def test_evidence_stands_on_its_line_between_lines_of_others(lines: list[str], chooser: random.Random) -> None:
    noise = crash_logs.prefixed(
        "APIServer", 10, "INFO", "loggers.py:9", ["Engine 000: Avg prompt throughput: 1.0 tokens/s"]
    )
    mixed = [part for line in lines for part in ((noise[0], line) if chooser.random() < 0.5 else (line,))]
    report = report_of(mixed)

    physical = lines_of("\n".join(mixed) + "\n")
    check_places(report, {"<text>": len(physical)})
    check_evidence(report, {"<text>": physical})


@SLOW
@given(st.binary(max_size=3_000))
def test_any_bytes_give_a_report(data: bytes) -> None:
    check_rendered(diagnose(data, catalogue=CATALOGUE), ("json", "text"))


@settings(SLOW, max_examples=25)
@given(LOGS)
def test_every_format_shows_every_log_and_says_the_same_twice(lines: list[str]) -> None:
    first, second = check_rendered(report_of(lines, redact=True)), check_rendered(report_of(lines, redact=True))

    assert first == second


@settings(SLOW, max_examples=40)
@given(LOGS, st.lists(st.integers(1, 200), min_size=1, max_size=30))
def test_the_way_a_stream_is_cut_changes_nothing(lines: list[str], sizes: list[int]) -> None:
    data = ("\n".join(lines) + "\n").encode()

    class Cut(io.BytesIO):
        def __init__(self) -> None:
            super().__init__(data)
            self.sizes = itertools.cycle(sizes)

        def read1(self, size: int | None = -1, /) -> bytes:
            return super().read1(min(next(self.sizes), size if size and size > 0 else 1 << 20))

        def fileno(self) -> int:
            raise OSError

    def through(stream: io.BytesIO) -> str:
        sources, _ = open_sources(["-"], stdin=stream)
        return check_rendered(analyse(sources, CATALOGUE), ("json",))["json"]

    assert through(Cut()) == through(io.BytesIO(data))


COLLECTORS = {
    "docker": lambda line: json.dumps({"log": line + "\n", "stream": "stderr", "time": "2025-03-14T10:20:30Z"}),
    "cri": lambda line: f"2025-03-14T10:20:30.123456789Z stderr F {line}",
    "kubectl": lambda line: f"[pod/vllm-0/main] {line}",
    "kubectl with times": lambda line: f"[pod/vllm-0/main] 2025-03-14T10:20:30.123456789Z {line}",
    "syslog": lambda line: f"Mar 14 10:20:30 host-a vllm[77]: {line}",
    "compose": lambda line: f"vllm-1  | {line}",
    "times": lambda line: f"2025-03-14T10:20:30.216+08:00 {line}",
    "journal": lambda line: json.dumps({"MESSAGE": line, "_PID": "77", "SYSLOG_IDENTIFIER": "vllm", "PRIORITY": "6"}),
    "cloud": lambda line: json.dumps({"textPayload": line, "severity": "INFO", "timestamp": "2025-03-14T10:20:30Z"}),
    "loki": lambda line: f'2025-03-14T10:20:30Z {{app="vllm", pod="vllm-0"}} {line}',
}


@pytest.mark.parametrize("outer", COLLECTORS)
@pytest.mark.parametrize("raw_prefix", [True, False])
@pytest.mark.parametrize("error", ERRORS)
def test_a_collector_changes_nothing(outer: str, error: str, raw_prefix: bool) -> None:
    for crash in (
        crash_logs.running_crash(error, raw_prefix=raw_prefix),
        crash_logs.startup_crash(error, raw_prefix=raw_prefix),
    ):
        assert summary_of(report_of([COLLECTORS[outer](line) for line in crash])) == summary_of(report_of(crash))


@settings(SLOW, max_examples=40)
@given(st.sampled_from(ERRORS), st.lists(st.sampled_from(list(COLLECTORS)), min_size=2, max_size=3))
def test_nested_collectors_change_nothing(error: str, names: list[str]) -> None:
    crash = crash_logs.running_crash(error)
    wrapped = crash
    for name in names:
        wrapped = [COLLECTORS[name](line) for line in wrapped]

    assert summary_of(report_of(wrapped)) == summary_of(report_of(crash))


CONSEQUENCES = (
    crash_logs.prefixed("APIServer", 10, "ERROR", "serving.py:9", crash_logs.traceback(crash_logs.API_FRAMES, "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause.")),
    ["RuntimeError: cancelled"],
    ['INFO:     192.0.2.7:4711 - "POST /v1/completions HTTP/1.1" 500 Internal Server Error'],
    crash_logs.prefixed("APIServer", 10, "INFO", "launcher.py:110", ["Shutting down FastAPI HTTP server."]),
)  # fmt: skip


@settings(SLOW, max_examples=40)
@given(st.sampled_from(ERRORS), st.lists(st.sampled_from(CONSEQUENCES), min_size=1, max_size=12))
def test_what_follows_never_changes_the_root(error: str, after: list[list[str]]) -> None:
    crash = crash_logs.running_crash(error)
    root = report_of(crash).incidents[0].root
    later = report_of([*crash, *itertools.chain(*after)]).incidents[0].root

    assert (later.type, later.message, later.line) == (root.type, root.message, root.line)


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("log", [crash_logs.running_crash, crash_logs.startup_crash])
def test_a_log_that_begins_after_the_root_proves_nothing(error: str, log: object) -> None:
    crash = log(error)  # type: ignore[operator]
    first = max(number for number, line in enumerate(crash) if line.startswith("(Worker"))
    for start in range(first + 1, len(crash)):
        for incident in report_of(crash[start:]).incidents:
            assert "certain" not in {diagnosis.confidence for diagnosis in incident.diagnoses}, (start, incident.root)


@pytest.mark.parametrize("error", ERRORS)
def test_a_log_that_is_cut_anywhere_gives_a_report(error: str) -> None:
    crash = crash_logs.running_crash(error)
    for end in range(len(crash)):
        report = report_of(crash[:end])
        check_places(report, {"<text>": max(end, 1)})


def test_runs_with_other_hash_seeds_give_the_same_bytes(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    crash = crash_logs.running_crash("AssertionError: mooncake connector metadata size mismatch", ranks=(0, 1, 2))
    log.write_text("\n".join(crash + crash_logs.startup_crash("KeyError: 1")) + "\n")
    root = Path(__file__).parents[2]
    outputs = set()
    for seed in ("0", "77"):
        env = {**os.environ, "PYTHONHASHSEED": seed, "DIAGNOSER_CACHE": str(tmp_path), "PYTHONPATH": str(root)}
        command = [sys.executable, "-m", "diagnoser", "--format", "json", "a.log"]
        outputs.add(subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, check=False).stdout)

    assert len(outputs) == 1
    assert json.loads(outputs.pop())["verdict"] == "diagnosed"


GROWING = {
    "frames": lambda n: "Traceback (most recent call last):\n" + '  File "/opt/a.py", line 1, in f\n    f()\n' * n + "ValueError: x\n",
    "logged frames": lambda n: "".join(f"(Worker_TP1 pid=4) ERROR 03-14 10:20:30 [a.py:7] {line}\n" for line in ["Traceback (most recent call last):"] + ['  File "/opt/a.py", line 1, in f', "    f()"] * n),
    "chain": lambda n: "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\nKeyError: 1\n\nDuring handling of the above exception, another exception occurred:\n\n" * n,
    "processes": lambda n: "".join(f"(Worker_TP{k} pid={k + 1}) ERROR 03-14 10:20:30 [a.py:7] ValueError: x{k}\n" for k in range(n)),
    "errors": lambda n: "".join(f"Some{chr(97 + k % 26)}{chr(97 + k // 26 % 26)}Error: x\n\n" for k in range(n)),
    "group": lambda n: "\n".join(GROUP[:4]) + "\n" + "    | ValueError: one\n    +---------------- 2 ----------------\n" * n,
    "ray": lambda n: "ray.exceptions.RayTaskError(ValueError): ray::A.f() (pid=7, ip=192.0.2.7)\n" + "ray::A.g() (pid=8, ip=192.0.2.7)\n  File \"a.py\", line 1, in f\n" * n + "ValueError: x\n",
    "quoted wrappers": lambda n: "".join(f"RuntimeError: Worker failed with error 'x{k}', please check the stack trace above for the root cause\n\n" for k in range(n)),
    "namespace": lambda n: "args: Namespace(" + "a" * 100 * n + ")\n",
    "json": lambda n: '{"levelname": "ERROR", "message": "' + "Traceback (most recent call last):\\\\n  File \\\"a\\\", line 1, in f" * n + '"}\n',
    "message": lambda n: "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\nRuntimeError: CUDA error:\n" + "  more text: x\n" * n,
    "blank lines": lambda n: "ValueError: x\n" + "\n" * 10 * n,
    "own report": lambda n: "ValueError in a: the server died\n" + "What to do\n" * n,
    "secrets": lambda n: "ValueError: " + "password='hunter2hunter2' token: abcdefgh12345678abcd " * n + "\n",
}  # fmt: skip


@pytest.mark.parametrize("name", GROWING)
def test_time_grows_with_the_size_and_not_faster(name: str) -> None:
    small, large = 500, 4_000

    def took(count: int) -> float:
        text = GROWING[name](count)
        started = time.process_time()
        diagnose(text, catalogue=CATALOGUE)
        return time.process_time() - started

    took(100)
    short = min(took(small) for _ in range(2))
    # eight times the size may take twelve times as long, quadratic growth takes sixty-four times
    for _ in range(3):
        long = took(large)
        if long < 12 * short + 0.5:
            break
    assert long < 12 * short + 0.5, (short, long)


def test_evidence_that_is_only_quoted_stands_where_the_wrapper_says_it() -> None:
    crash = crash_logs.running_crash("AssertionError: mooncake connector metadata size mismatch")
    lines = [line for line in crash if not line.startswith("(Worker")]
    report = report_of(lines)
    (evidence,) = {evidence for incident in report.incidents for evidence in incident.diagnoses[0].evidence}

    assert report.incidents[0].root.quoted
    assert "metadata size mismatch" in lines[evidence.line - 1]
