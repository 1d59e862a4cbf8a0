"""Lines as the software prints them, and what has to be read from them."""

from __future__ import annotations

from typing import Any

import pytest

from diagnoser.envelopes import Peeler
from diagnoser.model import LogRecord, Process, RawLine
from diagnoser.processes import parse_process_name as named

FRAME = '  File "/opt/venv/lib/python3.12/site-packages/vllm/v1/engine/core.py", line 12, in step'


def peel(*lines: str, process: Process | None = None) -> list[LogRecord]:
    peeler = Peeler(process) if process else Peeler()
    records = [record for number, line in enumerate(lines, 1) for record in peeler.feed(RawLine(line, "a.log", number))]
    return records + list(peeler.close())


def record(body: str, line: int = 1, **fields: Any) -> LogRecord:
    return LogRecord(body, "a.log", line, **fields)


API, CORE, WORKER = named("APIServer", 1), named("EngineCore_DP0", 43), named("Worker_TP1", 44)
VLLM = {"time": "03-14 10:20:30", "format": "vllm", "prefixed": True}

LINES: list[tuple[str, LogRecord]] = [
    # vLLM, by release
    ("ERROR 03-14 10:20:30 engine.py:366] boom", record("boom", level="ERROR", site="engine.py:366", **VLLM)),
    (
        "(VllmWorkerProcess pid=41) ERROR 03-14 10:20:30 multiproc_worker_utils.py:229] boom, Traceback:",
        record(
            "boom, Traceback:", process=named("VllmWorkerProcess", 41), level="ERROR",
            site="multiproc_worker_utils.py:229", **VLLM,
        ),
    ),
    (
        "(VllmWorker rank=1 pid=42) ERROR 03-14 10:20:30 [multiproc_executor.py:470] " + FRAME,
        record(FRAME, process=named("VllmWorker rank=1", 42), level="ERROR", site="multiproc_executor.py:470", **VLLM),
    ),
    (
        "\x1b[1;36m(APIServer pid=1)\x1b[0;0m \x1b[1;36m(EngineCore_DP0 pid=43)\x1b[0;0m \x1b[1;36m(Worker_TP1 pid=44)"
        "\x1b[0;0m DEBUG 03-14 10:20:30 [v1/worker/cpu_worker.py:70] x",
        record(
            "x", process=WORKER, outer=(API, CORE), level="DEBUG", site="v1/worker/cpu_worker.py:70", **VLLM,
        ),
    ),
    (
        "\x1b[0;36m(Worker_TP1 pid=44)\x1b[0;0m \x1b[31mERROR\x1b[0m \x1b[90m03-14 10:20:30\x1b[0m \x1b[90m[t.py:17]"
        "\x1b[0m     code",
        record("    code", process=WORKER, level="ERROR", site="t.py:17", **VLLM),
    ),
    (
        "(Worker_TP1 pid=44) [pod-7f9c decode-0] ERROR 03-14 10:20:30 [t.py:17] boom",
        record("boom", process=WORKER, level="ERROR", site="t.py:17", **VLLM),
    ),
    (
        "[pod-7f9c decode-0] (Worker_TP1 pid=44) ERROR 03-14 10:20:30 [t.py:17] boom",
        record("boom", process=WORKER, level="ERROR", site="t.py:17", **VLLM),
    ),
    (
        "blue (Worker_TP1 pid=44) ERROR 03-14 10:20:30 [t.py:17] boom",
        record("boom", process=WORKER, level="ERROR", site="t.py:17", **VLLM),
    ),
    (
        "(Worker_TP1 pid=44) INFO 03-14 10:20:30 [t.py:17] \r",
        record("", process=WORKER, level="INFO", site="t.py:17", **VLLM),
    ),
    (
        "(Worker_TP1 pid=44) INFO 03-14 10:20:30 [t.py:17]",
        record("", process=WORKER, level="INFO", site="t.py:17", **VLLM),
    ),
    ("(APIServer pid=1) " + FRAME, record(FRAME, process=API, format="vllm", prefixed=True)),
    (
        '(APIServer pid=1) INFO:     192.0.2.9:52100 - "POST /v1/completions HTTP/1.1" 200 OK',
        record(
            '192.0.2.9:52100 - "POST /v1/completions HTTP/1.1" 200 OK', process=API, level="INFO", format="uvicorn",
            prefixed=True,
        ),
    ),
    # Ray
    (
        "(EngineCore_DP0 pid=43) \x1b[36m(RayWorkerWrapper pid=91, ip=192.0.2.7)\x1b[0m ERROR 03-14 10:20:30 [w.py:46]"
        " a\x1b[32m [repeated 3x across cluster]\x1b[0m",
        record(
            "a", process=named("RayWorkerWrapper", 91, "192.0.2.7"), outer=(CORE,), level="ERROR", site="w.py:46",
            repeated=3, **VLLM,
        ),
    ),
    (
        "(RayWorkerWrapper pid=91)            ^^^^^ [repeated 6x across cluster] (Ray deduplicates logs by default. "
        "Set RAY_DEDUP_LOGS=0 to disable log deduplication, or see https://docs.ray.io/x for more options.)",
        record("           ^^^^^", process=named("RayWorkerWrapper", 91), repeated=6, format="ray", prefixed=True),
    ),
    ("(pid=91) boom", record("boom", process=Process(pid=91), format="ray", prefixed=True)),
    (
        "(raylet) [2025-03-14 10:20:30,123 E 94 94] (raylet) node_manager.cc:3007: 1 Workers killed",
        record(
            "1 Workers killed", process=named("raylet"), time="2025-03-14 10:20:30,123", level="ERROR",
            site="node_manager.cc:3007", format="ray-record", prefixed=True,
        ),
    ),
    (
        "(ServeController pid=93) ERROR 2025-03-14 10:20:30,123 controller 93 -- boom",
        record(
            "boom", process=named("ServeController", 93), time="2025-03-14 10:20:30,123", level="ERROR",
            site="controller 93", format="ray-record", prefixed=True,
        ),
    ),
    # torch, torchrun, glog, NCCL
    ("[rank1]: " + FRAME, record(FRAME, process=named("rank1"), format="torch-rank", prefixed=True)),
    ("[default1]:" + FRAME, record(FRAME, process=named("default1"), format="torch-rank", prefixed=True)),
    (
        "(Worker_TP1 pid=44) [rank1]: boom",
        record(
            "boom", process=WORKER._replace(ranks=(("rank", 1), ("tp", 1))), format="torch-rank", prefixed=True,
        ),
    ),
    (
        "[80746] [rank0]: boom",
        record("boom", process=named("rank0", 80746), format="torch-rank", prefixed=True),
    ),
    (
        "[rank1]:[W314 10:20:30.123456 TCPStore.cpp:125] [c10d] recvValue failed",
        record(
            "[c10d] recvValue failed", process=named("rank1"), time="314 10:20:30.123456", level="WARNING",
            site="TCPStore.cpp:125", format="glog", prefixed=True,
        ),
    ),
    (
        "E0314 10:20:30.123456   77 transfer_metadata.cpp:1098] Local segment descriptor not found",
        record(
            "Local segment descriptor not found", time="0314 10:20:30.123456", level="ERROR",
            site="transfer_metadata.cpp:1098", format="glog", prefixed=True,
        ),
    ),
    (
        "W0314 10:20:30.355000 77 torch/distributed/elastic/agent/server/api.py:858] closing",
        record(
            "closing", process=named("torchrun"), time="0314 10:20:30.355000", level="WARNING",
            site="torch/distributed/elastic/agent/server/api.py:858", format="glog", prefixed=True,
        ),
    ),
    (
        "node-a:77:78 [0] transport/net_ib.cc:12 NCCL WARN NET/IB : failed",
        record(
            "NCCL WARN NET/IB : failed", process=Process(pid=77, host="node-a"), level="WARNING",
            site="transport/net_ib.cc:12", format="nccl", prefixed=True,
        ),
    ),
    (
        "(RayWorkerWrapper pid=77) node-a:77:78 [0] NCCL INFO ready",
        record(
            "NCCL INFO ready", process=named("RayWorkerWrapper", 77, "node-a"), level="INFO", format="nccl",
            prefixed=True,
        ),
    ),
    # collectors
    (
        "2025-03-14T10:20:30.123456789Z stderr F (Worker_TP1 pid=44) " + FRAME,
        record(FRAME, process=WORKER, time="2025-03-14T10:20:30.123456789Z", format="vllm", prefixed=True),
    ),
    (
        "[pod/vllm-0/main] 2025-03-14T10:20:30.1Z (Worker_TP1 pid=44) ERROR 03-14 10:20:30 [t.py:17] boom",
        record("boom", process=WORKER._replace(pod="vllm-0", container="main"), level="ERROR", site="t.py:17", **VLLM),
    ),
    (
        "Mar 14 10:20:30 host-a vllm[77]: " + FRAME,
        record(
            FRAME, process=Process(host="host-a", container="vllm[77]"), time="Mar 14 10:20:30", format="syslog",
        ),
    ),
    (
        "Mar 14 10:20:30 host-a kernel: Out of memory: Killed process 44 (VLLM::Worker_TP)",
        record(
            "Out of memory: Killed process 44 (VLLM::Worker_TP)", process=named("kernel", None, "host-a"),
            time="Mar 14 10:20:30", format="syslog", prefixed=True,
        ),
    ),
    (
        "vllm-1    | (Worker_TP1 pid=44) ERROR 03-14 10:20:30 [t.py:17] boom",
        record("boom", process=WORKER._replace(container="vllm-1"), level="ERROR", site="t.py:17", **VLLM),
    ),
    (
        "a.log:14633:" + FRAME,
        record(FRAME, process=Process(container="a.log"), format="grep"),
    ),
    (
        "2025-03-14T10:20:30Z {app=\"vllm\", pod=\"vllm-0\", container=\"main\"} " + FRAME,
        record(FRAME, process=Process(pod="vllm-0", container="main"), time="2025-03-14T10:20:30Z", format="loki"),
    ),
    (
        "INFO 2025-03-14T10:20:30Z [resource.labels.containerName: main] "
        "(Worker_TP1 pid=44) ERROR 03-14 10:20:30 [t.py:1] a",
        record("a", process=WORKER._replace(container="main"), level="ERROR", site="t.py:1", **VLLM),
    ),
    (
        "2025-03-14T10:20:30.216+08:00   " + FRAME.strip(),
        record(FRAME, time="2025-03-14T10:20:30.216+08:00", format="timestamp"),
    ),
    ("abc123[error]boom", record("boom", process=Process(container="abc123"), format="runpod")),
    # JSON
    (
        '{"log":"(Worker_TP1 pid=44) ERROR 03-14 10:20:30 [t.py:17] boom\\n",'
        '"stream":"stderr","time":"2025-03-14T10:20:30Z"}',
        record("boom", process=WORKER, level="ERROR", site="t.py:17", **VLLM),
    ),
    (
        '{"MESSAGE":[98,111,111,109,255],"_PID":"77","_HOSTNAME":"host-a","SYSLOG_IDENTIFIER":"vllm","PRIORITY":"3"}',
        record("boom\ufffd", process=Process(host="host-a", container="vllm[77]"), format="json"),
    ),
    (
        '{"@timestamp":"2025-03-14T10:20:30Z","message":"(Worker_TP1 pid=44) boom",'
        '"kubernetes":{"pod":{"name":"vllm-0"}}}',
        record("boom", process=WORKER, format="vllm", prefixed=True, time=None),
    ),
    # others
    (
        "[2025-03-14 10:20:30 TP2] Scheduler hit an exception: Traceback (most recent call last):",
        record(
            "Scheduler hit an exception: Traceback (most recent call last):", process=named("TP2"),
            time="2025-03-14 10:20:30", format="sglang", prefixed=True,
        ),
    ),
    (
        "2025-03-14 10:20:30,123 pkg.mod 1 ERROR [address=192.0.2.1:1, pid=9] boom",
        record(
            "boom", process=Process(pid=9, host="192.0.2.1:1"), time="2025-03-14 10:20:30,123", level="ERROR",
            site="pkg.mod", format="xinference", prefixed=True,
        ),
    ),
    (
        "2025-03-14T10:20:30,123 [INFO ] W-9000-m_1.0-stdout MODEL_LOG - " + FRAME,
        record(
            FRAME, process=named("W-9000-m_1.0"), time="2025-03-14T10:20:30,123", format="torchserve", prefixed=True,
        ),
    ),
    (
        "2025-03-14 10:20:30,123 ERROR torch.cuda.OutOfMemoryError: CUDA out of memory",
        record(
            "torch.cuda.OutOfMemoryError: CUDA out of memory", time="2025-03-14 10:20:30,123", level="ERROR",
            format="python-logging", prefixed=True,
        ),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("line", "expected"), LINES, ids=[f"{number}" for number in range(len(LINES))])
def test_a_line_is_read_whole(line: str, expected: LogRecord) -> None:
    assert peel(line) == [expected]


@pytest.mark.parametrize(("line", "expected"), LINES, ids=[f"{number}" for number in range(len(LINES))])
def test_a_remembered_prefix_is_read_like_a_new_one(line: str, expected: LogRecord) -> None:
    assert peel(line, line, line) == [expected._replace(line=number) for number in (1, 2, 3)]


PLAIN = [
    "Traceback (most recent call last):",
    FRAME,
    "ValueError: boom",
    "usage: vllm serve [model_tag] [options]",
    "vllm: error: unrecognized arguments: --tensor-paralel-size 2",
    "Process EngineCore:",
    "    return func(*args, **kwargs)",
    "           ^^^^^^^^^^^^^^^^^^^^^",
    "  | ValueError: inside a group",
    "  + Exception Group Traceback (most recent call last):",
    "  +-+---------------- 1 ----------------",
    "[2]:",
    "[1]: <failed>",
    "> /srv/app/run.py(12)main()",
    "| GPU  Name        Persistence-M| Bus-Id        Disp.A |",
    "name | value",
    "`torch_dtype` is deprecated! Use `dtype` instead!",
    "12:30",
    "3: not a label",
    "RuntimeError: Traceback (most recent call last):",
    "pre & post; a < b && c > d",
    "terminate called after throwing an instance of 'std::runtime_error'",
    "  what():  boom",
    "*** SIGSEGV received at time=1700000000 on cpu 3 ***",
    "x[10m] = y[0] ** z",
    "caf\u00e9 \u201cquoted\u201d \u2026 \u4e0d\u80fd\u4e3a\u7a7a \U0001f600\u200d\U0001f4bb",
    "/pytorch/aten/src/ATen/native/cuda/Indexing.cu:1553: indexSelect: block: [0,0,0], thread: [3,0,0] failed.",
    '{"object":"error","message":"The model does not exist.","type":"NotFoundError","param":null,"code":404}',
    "prompt: 'see x(Worker_TP0 pid=1) ERROR 03-14 10:20:30 [a.py:1] boom'",
    "",
    "   ",
]


@pytest.mark.parametrize("line", PLAIN)
def test_bare_text_is_left_alone(line: str) -> None:
    assert peel(line) == [record(line)]


def test_a_quoted_log_line_inside_a_record_is_no_record() -> None:
    line = "(APIServer pid=1) INFO 03-14 10:20:30 [a.py:1] q: x(Worker_TP0 pid=2) ERROR 03-14 10:20:30 [b.py:1] boom"
    assert peel(line) == [
        record(
            "q: x(Worker_TP0 pid=2) ERROR 03-14 10:20:30 [b.py:1] boom", process=API, level="INFO", site="a.py:1",
            **VLLM,
        )
    ]  # fmt: skip


def test_json_with_a_traceback_gives_a_record_for_each_line() -> None:
    line = (
        '{"asctime": "2025-03-14 10:20:30,911", "levelname": "ERROR", "name": "vllm.v1.engine.core", "process": 43, '
        '"filename": "core.py", "lineno": 842, "message": "EngineCore failed to start.", '
        '"exc_info": "Traceback (most recent call last):\\n  File \\"x.py\\", line 1, in f\\nAssertionError", '
        '"vllm_process_name": "EngineCore_DP0"}'
    )
    bodies = [
        "EngineCore failed to start.", "Traceback (most recent call last):", '  File "x.py", line 1, in f',
        "AssertionError",
    ]  # fmt: skip
    assert peel(line) == [
        record(
            body, process=CORE, time="2025-03-14 10:20:30,911", level="ERROR", site="core.py:842", format="json",
            prefixed=True,
        )
        for body in bodies
    ]  # fmt: skip


def test_newlines_escaped_twice_in_json_are_split() -> None:
    line = (
        '{"timestamp":"2025-03-14T10:20:30Z","level":"ERROR","fields":{"message":'
        '"Shard failed:\\\\nTraceback (most recent call last):'
        '\\\\n  File \\\\\\"x.py\\\\\\", line 1, in f\\\\nValueError: b"}}'
    )
    assert [record.body for record in peel(line)] == [
        "Shard failed:", "Traceback (most recent call last):", '  File "x.py", line 1, in f', "ValueError: b",
    ]  # fmt: skip


def test_pieces_of_a_cut_line_are_joined_and_keep_the_first_line_number() -> None:
    records = peel(
        "2025-03-14T10:20:30.1Z stderr P (Worker_TP1 pid=44) ERROR 03-14 10:20:30 [t.py:17] half ",
        "2025-03-14T10:20:30.2Z stderr P and ",
        "2025-03-14T10:20:30.3Z stderr F whole",
    )
    expected = record("half and whole", process=WORKER, level="ERROR", site="t.py:17", **VLLM)
    assert records == [expected]


def test_a_piece_whose_end_never_came_is_given_at_the_end() -> None:
    records = peel("2025-03-14T10:20:30.1Z stderr P (Worker_TP1 pid=44) boom")
    assert records == [record("boom", process=WORKER, time="2025-03-14T10:20:30.1Z", format="vllm", prefixed=True)]


def test_docker_pieces_are_joined() -> None:
    records = peel('{"log":"one ","stream":"stderr"}', '{"log":"two\\n","stream":"stderr"}')
    assert [record.body for record in records] == ["one two"]


def test_pieces_of_two_streams_do_not_mix() -> None:
    stamp = "2025-03-14T10:20:30.1Z"
    records = peel(f"{stamp} stderr P one ", f"{stamp} stdout F three", f"{stamp} stderr F two")
    assert [(record.body, record.line) for record in records] == [("three", 2), ("one two", 1)]


def test_pieces_of_two_containers_do_not_mix() -> None:
    stamp = "2025-03-14T10:20:30.1Z stderr"
    records = peel(
        f"[pod/a/m] {stamp} P one ", f"[pod/b/m] {stamp} P three ", f"[pod/a/m] {stamp} F two",
        f"[pod/b/m] {stamp} F four",
    )  # fmt: skip
    assert [(record.body, record.process.pod) for record in records] == [("one two", "a"), ("three four", "b")]


def test_a_progress_bar_is_taken_off_the_record_that_follows_it() -> None:
    bar = "Processed prompts:   0%|          | 0/1 [00:00<?, ?it/s]"
    records = peel(f"\r{bar}(EngineCore_DP0 pid=43) (Worker_TP1 pid=44) ERROR 03-14 10:20:30 [t.py:17] boom")
    assert records == [
        record(bar),
        record("boom", process=WORKER, outer=(CORE,), level="ERROR", site="t.py:17", **VLLM),
    ]


def test_a_last_word_without_a_line_end_is_taken_off_the_record_that_follows_it() -> None:
    records = peel("See https://example.org/leaks.html(MainProcess pid=9) ERROR 03-14 10:20:30 [utils.py:599] boom")
    assert [(record.body, record.process.name) for record in records] == [
        ("See https://example.org/leaks.html", None), ("boom", "MainProcess"),
    ]  # fmt: skip
    records = peel("See https://example.org/leaks.htmlINFO 03-14 10:20:30 [utils.py:599] boom")
    assert [record.body for record in records] == ["See https://example.org/leaks.html", "boom"]


def test_a_redrawn_line_gives_its_states() -> None:
    assert [record.body for record in peel("10%\r20%\r\r")] == ["10%", "20%"]


A, E, T0, T1 = "(APIServer pid=1)", "(EngineCore_DP0 pid=43)", "(Worker_TP0 pid=40)", "(Worker_TP1 pid=44)"
TEXT = "ERROR 03-14 10:20:30 [t.py:17] boom"


@pytest.mark.parametrize(
    ("prefixes", "speaker", "following"),
    [
        (f"{A} {E} {T1}", "Worker_TP1", None),
        (f"{A} {A} {E}", "EngineCore_DP0", None),
        (f"{A} {A} {E} {E} {T0} {T1}", "Worker_TP1", "Worker_TP0"),
        (f"{T1} {T0}", "Worker_TP0", "Worker_TP1"),
        (f"{A} {E} {T1} {A}", "Worker_TP1", None),
        (f"{A} {A} {E} {T0} {E}", "Worker_TP0", None),
        ("(Worker pid=44) (Worker_TP1 pid=44)", "Worker_TP1", None),
    ],
)
def test_prefixes_that_pile_up(prefixes: str, speaker: str, following: str | None) -> None:
    first, second, third = peel(f"{prefixes} {TEXT}", TEXT, TEXT)
    assert (first.process.name, first.body) == (speaker, "boom")
    assert (second.process.name, third.process.name) == (following, None)


def test_a_container_name_is_a_prefix_once_it_was_confirmed() -> None:
    lines = ["vllm | starting", "vllm | (EngineCore_DP0 pid=43) boom", "vllm | text", "other | text"]
    assert [record.body for record in peel(*lines)] == ["vllm | starting", "boom", "text", "other | text"]


def test_what_the_path_tells_fills_gaps_only() -> None:
    known = Process(pod="vllm-0", container="main", ranks=(("rank", 3),))
    bare, worker, core = peel("boom", f"{T1} boom", "(EngineCore_DP0 pid=43) boom", process=known)
    assert bare.process == known
    assert worker.process == WORKER._replace(pod="vllm-0", container="main")
    assert core.process == CORE._replace(pod="vllm-0", container="main")


def test_a_header_of_tail_names_the_file_of_the_lines_after_it() -> None:
    lines = ["==> w0.log <==", FRAME, f"{T1}   x", "==> w1.log <==", FRAME, f"{T1}   x"]
    assert [record.process.container for record in peel(*lines)] == ["w0.log"] * 3 + ["w1.log"] * 3


def test_formats_are_counted() -> None:
    peeler = Peeler()
    for number, line in enumerate([f"{T1} {TEXT}", f"{T1} {TEXT}", FRAME, "[rank0]: x"]):
        list(peeler.feed(RawLine(line, "a.log", number)))
    assert dict(peeler.formats) == {"vllm": 2, "plain": 1, "torch-rank": 1}


def test_a_marker_in_a_ray_worker_s_own_file_names_the_writer() -> None:
    lines = [":job_id:01000000", FRAME, ":actor_name:RayWorkerWrapper", FRAME, f"{T1} x"]
    names = [record.process.name for record in peel(*lines)]
    assert names == [None, None, "RayWorkerWrapper", "RayWorkerWrapper", "Worker_TP1"]


def test_the_kernel_speaks_for_itself_in_the_journal() -> None:
    line = '{"MESSAGE":"Out of memory: Killed process 44","SYSLOG_IDENTIFIER":"kernel","PRIORITY":"3","_HOSTNAME":"node-a"}'
    assert peel(line) == [
        record("Out of memory: Killed process 44", process=named("kernel", None, "node-a"), format="json", prefixed=True)
    ]
