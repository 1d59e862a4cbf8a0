"""The engine end to end: which failure is the root, and what surrounds it."""

from __future__ import annotations

import itertools
import random

import crash_logs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diagnoser import diagnose
from diagnoser.catalogue import Catalogue

CATALOGUE = Catalogue.load()


def report_of(lines):
    return diagnose("\n".join(lines) + "\n", catalogue=CATALOGUE, redact=False)


def root_of(lines):
    return report_of(lines).incidents[0].root


@pytest.mark.parametrize("raw_prefix", [True, False])
def test_bare_assert_at_start_is_found_under_its_wrappers(raw_prefix):
    report = report_of(crash_logs.startup_crash(raw_prefix=raw_prefix))
    incident = report.incidents[0]

    assert (incident.root.type, incident.root.message, incident.root.speaker.name) == (
        "AssertionError",
        "",
        "Worker_TP0",
    )
    assert incident.root.frame.code == "assert self.width % tp_size == 0"
    assert [process.name for process in incident.also_on] == ["Worker_TP1"]
    assert incident.impact == "startup"
    assert [link.type for link in incident.chain][-1] == "Exception"


@pytest.mark.parametrize("raw_prefix", [True, False])
def test_running_crash_is_unwrapped_to_the_worker(raw_prefix):
    incident = report_of(
        crash_logs.running_crash("ValueError: page table of rank 1 is empty", raw_prefix=raw_prefix)
    ).incidents[0]

    assert (incident.root.type, incident.root.message) == ("ValueError", "page table of rank 1 is empty")
    assert incident.root.speaker.name == "Worker_TP1"
    assert incident.root.frame.function == "forward"
    assert incident.impact == "crash"
    assert [symptom.type for symptom in incident.symptoms] == ["vllm.v1.engine.exceptions.EngineDeadError"]


def test_the_note_that_repeats_the_traceback_is_one_failure():
    report = report_of(crash_logs.running_crash("ValueError: twice"))

    assert report.incidents[0].root.count == 1
    assert not report.incidents[0].also_on


def test_a_message_of_many_lines_is_kept_whole():
    text = "RuntimeError: shape check failed:\n  expected: [4, 96]\n  got: [4, 64]\nAssertionError: this line is part of the text"
    root = root_of(crash_logs.running_crash(text))

    assert root.type == "RuntimeError"
    assert root.message.splitlines() == [
        "shape check failed:",
        "  expected: [4, 96]",
        "  got: [4, 64]",
        "AssertionError: this line is part of the text",
    ]


def test_a_flood_of_consequences_neither_wins_nor_hides_the_root():
    log = crash_logs.running_crash("ValueError: first")
    dead = "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause."
    for number in range(300):
        log += crash_logs.prefixed(
            "APIServer",
            10,
            "ERROR",
            "serving.py:9",
            [f"Request cmpl-{number} broke", *crash_logs.traceback(crash_logs.API_FRAMES, dead)],
        )
    incident = report_of(log).incidents[0]

    assert incident.root.message == "first"
    assert sum(symptom.count for symptom in incident.symptoms) == 301


def test_healthy_server_that_is_stopped_has_no_incident():
    report = report_of(crash_logs.healthy_server())

    assert (report.verdict, report.incidents, report.exit_code) == ("shutdown", (), 0)


def test_only_wrappers_left_is_incomplete_and_names_what_to_fetch():
    log = [line for line in crash_logs.startup_crash() if line.startswith("(APIServer")]
    report = report_of(log)

    assert (report.verdict, report.exit_code) == ("incomplete", 3)
    assert report.incidents[0].fetch
    assert not report.incidents[0].diagnoses


def test_a_cut_log_never_yields_a_certain_cause():
    log = [line for line in crash_logs.startup_crash() if "Worker_TP" not in line]
    incident = report_of(log).incidents[0]

    assert incident.fetch
    assert {diagnosis.confidence for diagnosis in incident.diagnoses} <= {"possible"}


def test_two_restarts_with_different_errors_are_two_incidents():
    report = report_of(crash_logs.startup_crash("ValueError: one") + crash_logs.startup_crash("KeyError: 'two'"))

    assert [incident.root.message for incident in report.incidents] == ["one", "'two'"]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("AssertionError: mooncake connector metadata size mismatch", "mooncake-metadata-size-mismatch"),
        (
            '  File "mooncake_connector.py", line 4, in initialize\n    assert connector.local_hostname is not None\nAssertionError',
            "mooncake-local-hostname-missing",
        ),
        (
            '  File "mooncake_connector.py", line 4, in initialize\n    assert self.meta_server\nAssertionError',
            "mooncake-metadata-server-missing",
        ),
        ("AssertionError: local_hostname 不能为空", "mooncake-local-hostname-missing"),
        ("AssertionError: metadata_server 必须配置", "mooncake-metadata-server-missing"),
        ("AssertionError: expert 200 >= num_local 32", "moe-expert-id-exceeds-local"),
        ("AssertionError: num_experts 256 不能被 TP 7 整除", "moe-experts-not-divisible-claim"),
        (
            "[rank0]: AssertionError: expert_id < num_experts (../layers/moe/router.cu:142)\n[rank0]: RuntimeError: Worker failed with error Assertion error",
            "moe-expert-id-out-of-range",
        ),
        (
            "[rank0]: AssertionError: expert_id < num_experts (../layers/moe/router.cu:142)\n[rank0]: RuntimeError: Worker failed with error 'Assertion error'",
            "moe-expert-id-out-of-range",
        ),
    ],
)
def test_the_texts_that_inspired_the_project_have_their_rules(text, rule):
    alone = diagnose(text, catalogue=CATALOGUE)
    assert alone.incidents[0].diagnoses[0].rule == rule

    if not text.startswith(("[rank0]", " ")):
        for crash in (
            crash_logs.running_crash(text),
            crash_logs.startup_crash(text),
            crash_logs.running_crash(text, raw_prefix=False),
        ):
            assert report_of(crash).incidents[0].diagnoses[0].rule == rule


def shuffled(streams, seed):
    """The lines of all streams, the order inside each kept."""
    chooser = random.Random(seed)
    queues = [list(stream) for stream in streams]
    merged = []
    while any(queues):
        queue = chooser.choice([queue for queue in queues if queue])
        merged.append(queue.pop(0))
    return merged


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 6), st.integers(0, 10_000))
def test_shuffling_lines_between_workers_changes_nothing(ranks, seed):
    crash = crash_logs.running_crash("ValueError: width 7 is odd", ranks=tuple(range(ranks)))
    workers = [[line for line in crash if line.startswith(f"(Worker_TP{rank} ")] for rank in range(ranks)]
    rest = [line for line in crash if not line.startswith("(Worker_TP")]
    plain = report_of(rest[:2] + list(itertools.chain(*workers)) + rest[2:]).incidents[0]
    mixed = report_of(rest[:2] + shuffled(workers, seed) + rest[2:]).incidents[0]

    assert (mixed.fingerprint, mixed.root.type, mixed.root.message, mixed.root.frames[-1].code) == (
        plain.fingerprint,
        plain.root.type,
        plain.root.message,
        plain.root.frames[-1].code,
    )
    assert {process.name for process in (*mixed.also_on, mixed.root.speaker)} == {
        f"Worker_TP{rank}" for rank in range(ranks)
    }
    assert [link.type for link in mixed.chain] == [link.type for link in plain.chain]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 30))
def test_healthy_lines_between_records_change_nothing_but_line_numbers(seed, count):
    crash = crash_logs.running_crash("ValueError: width 7 is odd")
    chooser = random.Random(seed)
    padded = list(crash)
    for _ in range(count):
        line = crash_logs.prefixed(
            "APIServer", 10, "INFO", "loggers.py:9", ["Engine 000: Avg prompt throughput: 12.0 tokens/s"]
        )[0]
        padded.insert(chooser.randint(0, len(padded)), line)
    plain, mixed = report_of(crash).incidents[0], report_of(padded).incidents[0]

    assert (mixed.fingerprint, mixed.root.message, mixed.impact) == (
        plain.fingerprint,
        plain.root.message,
        plain.impact,
    )


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 200))
def test_later_consequences_never_change_the_root(count):
    crash = crash_logs.running_crash("ValueError: width 7 is odd")
    more = crash + ["RuntimeError: cancelled"] * count
    assert report_of(more).incidents[0].fingerprint == report_of(crash).incidents[0].fingerprint


WAIT = "No available shared memory broadcast block found in 60 seconds. This typically happens when some processes are hanging"


def test_a_log_that_ends_in_waits_is_a_hang_and_one_that_goes_on_is_not():
    start = crash_logs.prefixed("APIServer", 10, "INFO", "launcher.py:46", ["Application startup complete."])
    waits = crash_logs.prefixed("EngineCore", 20, "INFO", "shm_broadcast.py:495", [WAIT]) * 3
    served = ['INFO:     192.0.2.7:4711 - "POST /v1/completions HTTP/1.1" 200 OK']

    hang = report_of(start + waits)
    assert (hang.incidents[0].impact, hang.incidents[0].diagnoses[0].confidence) == ("hang", "possible")
    assert report_of(start + waits + served).verdict == "healthy"
    assert report_of(start + waits[:1]).verdict == "healthy"


def test_workers_whose_parent_vanished_are_not_passed_over():
    start = crash_logs.prefixed("APIServer", 10, "INFO", "launcher.py:46", ["Application startup complete."])
    orphan = crash_logs.prefixed("Worker", 30, "INFO", "multiproc_executor.py:727", ["Parent process exited, terminating worker"])
    stop = crash_logs.prefixed("APIServer", 10, "INFO", "launcher.py:100", ["[shutdown] API server: shutdown triggered"])

    assert report_of(start + orphan).incidents[0].diagnoses[0].confidence == "possible"
    assert report_of(start + stop + orphan).verdict == "shutdown"


def test_a_refused_request_after_many_unknown_paths_is_seen():
    log = crash_logs.prefixed("APIServer", 10, "INFO", "launcher.py:46", ["Application startup complete."])
    log += [f'INFO:     192.0.2.7:{4000 + n} - "POST /v1/completions HTTP/1.1" 404 Not Found' for n in range(30)]
    log += crash_logs.prefixed("Worker_TP1", 30, "ERROR", "mooncake_connector.py:512", ["pulling kv_caches for ['cmpl-7'] failed: region 3 was not registered"])
    log += ['INFO:     192.0.2.7:4711 - "POST /v1/completions HTTP/1.1" 500 Internal Server Error']

    assert [incident.impact for incident in report_of(log).incidents] == ["requests"]


def test_a_worker_that_tells_of_a_failed_transfer_is_heard_without_the_answers_of_the_server():
    log = [
        "(APIServer pid=4000) INFO 03-14 10:20:04 [loggers.py:259] Engine 000: Avg prompt throughput: 0.0 tokens/s, "
        "Avg generation throughput: 0.0 tokens/s, Running: 0 reqs, Waiting: 1 reqs",
        "I0314 10:20:30.617945  4243 transfer_engine_py.cpp:454] Sync batch data transfer timeout after 33061142969ns",
        "(Worker_TP1 pid=4243) ERROR 03-14 10:20:30 [mooncake_connector.py:547] Mooncake transfer failed for request c-7",
    ]
    incident = report_of(log).incidents[0]

    assert (incident.impact, incident.diagnoses[0].rule) == ("requests", "mooncake-transfer-timeout")
