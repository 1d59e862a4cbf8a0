"""Several logs of one deployment, or of two servers that work together: one incident, and the right root."""

from __future__ import annotations

import crash_logs as logs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diagnoser.catalogue import Catalogue
from diagnoser.pipeline import analyse
from diagnoser.sources import text_source
from diagnoser.sources.hints import process_of
from diagnoser.sources.source import Source

CATALOGUE = Catalogue.load()
A, B = "10.20.0.1", "10.20.0.2"


def source(name, lines) -> Source:
    made = text_source("".join(f"{line}\n" for line in lines), name)
    made.process = process_of(name)
    return made


def report_of(*named):
    return analyse([source(name, lines) for name, lines in named], CATALOGUE)


def root_of(report):
    incident = report.incidents[0]
    return incident.root.source, incident.root.type, incident.root.message


def record(process, pid, level, site, lines, time):
    return logs.prefixed(process, pid, level, site, lines, time=f"03-14 {time}")


def started(time="10:10:00"):
    banner = record("APIServer", 10, "INFO", "api_server.py:1896", ["vLLM API server version 0.26.0"], time)
    return banner + record("APIServer", 10, "INFO", "launcher.py:46", ["Application startup complete."], time)


def worker(rank, last, time):
    text = ["WorkerProc hit an exception.", *logs.traceback(logs.WORKER_FRAMES, last)]
    return record(f"Worker_TP{rank}", 100 + rank, "ERROR", "multiproc_executor.py:1007", text, time)


def engine(last, time):
    text = ["EngineCore encountered a fatal error.", *logs.traceback(logs.ENGINE_FRAMES[:1], last)]
    return record("EngineCore", 20, "ERROR", "core.py:1332", text, time)


def ends(message, time):
    """What the engine core and the API server print after a worker's error with that message."""
    crash = [line.replace("10:20:30", time) for line in logs.running_crash(f"X: {message}")]
    return crash[next(index for index, line in enumerate(crash) if "EngineCore" in line) :]


def lost(address):
    return f"RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:544] Connection closed by peer [{address}]:41234"


def rank_zero(host, time="10:10:05"):
    text = f"world_size=4 rank=0 local_rank=0 distributed_init_method=tcp://{host}:29501 backend=nccl"
    return record("Worker_TP0", 100, "DEBUG", "parallel_state.py:1208", [text], time)


def bootstrap(rank, host):
    text = f"NCCL INFO Bootstrap: Using eth0:{host}<0>"
    return [f"host{rank}:{100 + rank}:{100 + rank} [{rank}] {text}"]


HEAD = [
    *started(),
    *worker(0, lost(B), "10:20:31"),
    *worker(1, lost(B), "10:20:31"),
    *ends("Connection closed", "10:20:32"),
]
FAR = worker(3, "ValueError: width 7 is odd", "10:20:30")


@pytest.mark.parametrize("order", [1, -1])
def test_the_root_is_on_the_other_host(order):
    report = report_of(*[("head.log", HEAD), ("far.log", FAR)][::order])

    assert root_of(report) == ("far.log", "ValueError", "width 7 is odd")
    assert len(report.incidents) == 1
    assert {symptom.source for symptom in report.incidents[0].symptoms} == {"head.log"}


def test_broken_connections_that_lead_to_the_root_confirm_it():
    report = report_of(("head.log", HEAD), ("far.log", [*bootstrap(3, B), *FAR]))

    assert "2 broken connections elsewhere led to 10.20.0.2, where it happened." in report.incidents[0].reasons


def test_the_log_of_the_host_that_died_first_is_not_given():
    report = report_of(("head.log", [*rank_zero(A), *HEAD]))
    incident = report.incidents[0]

    assert (report.verdict, incident.diagnoses) == ("incomplete", ())
    assert incident.reasons[-1] == (
        "The connections that broke led to 10.20.0.2: what failed first is in a log of that host, which you did not give."
    )
    assert incident.fetch[0] == "The logs of 10.20.0.2: the other end of the broken connections was there."


def test_an_address_that_may_be_the_own_one_is_not_said_to_be_another_log():
    reason = report_of(("head.log", HEAD)).incidents[0].reasons[-1]

    assert reason == "The connections that broke led to 10.20.0.2: what failed first is in a log of that host."


def test_a_connection_inside_the_host_points_nowhere():
    for own in (worker(0, lost("127.0.0.1"), "10:20:31"), [*rank_zero(A), *worker(0, lost(A), "10:20:31")]):
        report = report_of(("head.log", [*started(), *own]))
        assert not any("led to" in reason for reason in report.incidents[0].reasons)


def test_hosts_are_known_by_name_too():
    victim = [
        *started(),
        "node-b:77:78 [0] NCCL WARN socketProgress: Connection closed by remote peer node-a.example<41234>",
        *worker(0, "RuntimeError: NCCL error: remote process exited or there was a network error", "10:20:31"),
    ]
    missing = report_of(("b.log", victim)).incidents[0]
    crash = [*worker(1, "ValueError: width 7 is odd", "10:20:30")]
    there = report_of(
        ("b.log", victim), ("a.log", ["node-a:90:90 [0] NCCL INFO cudaDriverVersion 12040", *crash])
    ).incidents[0]

    assert missing.reasons[-1].endswith("is in a log of that host, which you did not give.")
    assert missing.fetch[0].startswith("The logs of node-a.example: ")
    assert there.root.source == "a.log"
    assert there.reasons[-1] == "A broken connection elsewhere led to node-a.example, where it happened."


def test_pods_are_known_by_their_names():
    lost_pod = "RuntimeError: [c10d] recvValue failed on SocketImpl(fd=71, addr=[vllm-0]:41234, remote=[vllm-1.vllm.serving]:29500): Connection reset by peer"
    victim = [f"[pod/vllm-0/vllm] {line}" for line in [*started(), *worker(0, lost_pod, "10:20:31")]]
    crash = [f"[pod/vllm-1/vllm] {line}" for line in worker(1, "ValueError: width 7 is odd", "10:20:30")]
    alone, together = (
        report_of(("0.txt", victim)).incidents[0],
        report_of(("0.txt", victim), ("1.txt", crash)).incidents[0],
    )

    assert alone.fetch[0].startswith("The logs of vllm-1.vllm.serving: ")
    assert together.reasons[-1] == "A broken connection elsewhere led to vllm-1.vllm.serving, where it happened."


def test_clocks_that_differ_are_noticed_by_what_follows_from_what():
    late = worker(3, "ValueError: width 7 is odd", "10:25:31")
    report = report_of(("head.log", HEAD), ("far.log", late))

    assert root_of(report)[0] == "far.log"
    assert report.coverage.notes == (
        "head.log dates connections that broke 300 s before the failure in far.log that broke them: "
        "the clocks of the two hosts seem to differ by that or more.",
    )
    assert report_of(("head.log", HEAD), ("far.log", FAR)).coverage.notes == ()


def test_clocks_that_differ_are_noticed_by_a_quotation():
    root = worker(3, "ValueError: width 7 is odd", "10:24:30")
    report = report_of(("head.log", [*started(), *ends("width 7 is odd", "10:20:32")]), ("far.log", root))

    assert root_of(report)[0] == "far.log"
    assert "The clock of far.log is ahead of that of head.log by about 238 s" in report.coverage.notes[0]


def test_logs_without_times_are_joined_by_role():
    far = [
        "Traceback (most recent call last):",
        '  File "/srv/app/a.py", line 3, in main',
        "    load()",
        "ValueError: odd",
    ]
    report = report_of(("rank1.log", far), ("head.log", HEAD))

    assert root_of(report) == ("rank1.log", "ValueError", "odd")
    assert report.coverage.notes == ("rank1.log states no times: it stands among the others where read.",)


PULL = record(
    "Worker_TP0",
    100,
    "ERROR",
    "mooncake_connector.py:777",
    ["pulling kv_caches for ['cmpl-1'] failed: no answer"],
    "10:20:35",
)
FAILED = "Failing 1 request(s) due to KV load failure (failure_policy=fail, total_tokens_affected=12). Request IDs: {'cmpl-1'}"
REFUSED = ['INFO:     192.0.2.7:4711 - "POST /v1/completions HTTP/1.1" 500 Internal Server Error']
PREFILL = [
    *started("10:05:00"),
    *worker(0, "ValueError: width 7 is odd", "10:20:30"),
    *ends("width 7 is odd", "10:20:31"),
]
DECODE_FAILS = [*PULL, *record("EngineCore", 20, "ERROR", "scheduler.py:999", [FAILED], "10:20:36"), *REFUSED]


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("decode_start", ["10:04:00", "10:06:00", "10:20:33"])
def test_a_prefill_crash_explains_what_fails_in_decode(order, decode_start):
    decode = [*started(decode_start), *DECODE_FAILS]
    report = report_of(*[("prefill/server.log", PREFILL), ("decode/server.log", decode)][::order])
    incident = report.incidents[0]

    assert (len(report.incidents), root_of(report)) == (1, ("prefill/server.log", "ValueError", "width 7 is odd"))
    assert ("decode/server.log", "symptom-kv-load-failure") in {
        (item.source, item.because) for item in incident.symptoms
    }


def test_depth_counts_only_within_a_server():
    prefill = [*started("10:05:00"), *engine("AssertionError: block table of cmpl-1 is gone", "10:20:30")]
    decode = [
        *started("10:06:00"),
        *worker(1, "OSError: transfer from 10.20.0.5 failed", "10:20:33"),
        *ends("transfer", "10:20:34"),
    ]
    report = report_of(("decode/server.log", decode), ("prefill/server.log", prefill))
    incident = report.incidents[0]

    assert (len(report.incidents), root_of(report)[:2]) == (1, ("prefill/server.log", "AssertionError"))
    assert "Of the 2 servers whose logs are given, that of prefill/server.log failed first." in incident.reasons
    assert [(item.source, item.type) for item in incident.runners_up] == [("decode/server.log", "OSError")]


def test_servers_that_die_of_causes_of_their_own_are_incidents_of_their_own():
    heads = "AssertionError: mooncake connector metadata size mismatch"
    memory = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.11 GiB of which 1.02 GiB is free."
    one = [*started("10:05:00"), *worker(0, heads, "10:20:30"), *ends("mismatch", "10:20:31")]
    two = [*started("10:06:00"), *worker(1, memory, "10:20:33"), *ends("CUDA out of memory", "10:20:34")]
    report = report_of(("replica-0/server.log", one), ("replica-1/server.log", two))

    assert [(item.root.source, item.root.type) for item in report.incidents] == [
        ("replica-0/server.log", "AssertionError"),
        ("replica-1/server.log", "torch.OutOfMemoryError"),
    ]
    assert not any(symptom.source.startswith("replica-1") for symptom in report.incidents[0].symptoms)


def test_workers_logs_beside_the_servers_belong_to_it():
    prefill = [
        ("prefill/api.log", started("10:05:00")),
        ("prefill/rank0.log", worker(0, "ValueError: prefill", "10:20:30")),
    ]
    decode = [
        ("decode/api.log", started("10:06:00")),
        ("decode/rank0.log", worker(0, "ValueError: decode", "10:20:29")),
    ]
    api = ("prefill/engine.log", engine("AssertionError: later", "10:20:31"))
    report = report_of(*prefill, api, *decode)

    assert root_of(report) == ("decode/rank0.log", "ValueError", "decode")


def test_only_decode_is_given():
    report = report_of(("decode/server.log", [*started("10:06:00"), *DECODE_FAILS]))

    assert (report.incidents[0].impact, report.incidents[0].root.message) == (
        "requests",
        "pulling kv_caches for ['cmpl-1'] failed: no answer",
    )


def test_restarts_in_the_files_of_one_container_are_incidents_of_their_own():
    first = [*started("10:00:00"), *worker(0, "ValueError: one", "10:01:00")]
    second = [*started("10:02:00"), *worker(0, "ValueError: two", "10:03:00")]
    report = report_of(("pods/vllm/0.log.20250314-100130", first), ("pods/vllm/1.log", second))

    assert [(item.root.source, item.root.message) for item in report.incidents] == [
        ("pods/vllm/0.log.20250314-100130", "one"),
        ("pods/vllm/1.log", "two"),
    ]


def test_a_log_that_was_rotated_inside_a_crash_is_one_incident():
    crash = logs.running_crash("ValueError: width 7 is odd")
    cut = next(index for index, line in enumerate(crash) if line.startswith("(EngineCore"))
    report = report_of(("server.log.1", crash[:cut]), ("server.log", crash[cut:]))

    assert [(item.root.source, item.root.message) for item in report.incidents] == [("server.log.1", "width 7 is odd")]


@settings(max_examples=25, deadline=None)
@given(st.permutations(range(4)), st.integers(0, 3), st.booleans())
def test_the_order_of_the_files_changes_nothing(order, broken, named):
    files = []
    for rank in range(4):
        text = "ValueError: width 7 is odd" if rank == broken else lost(f"10.20.0.{broken + 1}")
        time = "10:20:30" if rank == broken else "10:20:31"
        files.append((f"rank{rank}.log" if named else f"{rank}/out.log", worker(rank, text, time)))
    report = report_of(
        ("api.log", [*started(), *ends("Connection closed", "10:20:32")]), *[files[rank] for rank in order]
    )

    assert root_of(report)[1:] == ("ValueError", "width 7 is odd")
    assert report.incidents[0].root.process.name == f"Worker_TP{broken}"
