"""What is fed to the analysing process, and what it makes of it."""

from __future__ import annotations

import os

import crash_logs
import pytest

from diagnoser.catalogue import Catalogue
from diagnoser.live import evidence
from diagnoser.live.analyst import watch
from diagnoser.live.backlog import ENDED, GAP, PASSED_ON, STDERR, STDOUT
from diagnoser.live.feed import Feed, FeedReader

NAMES = {STDOUT: "<stdout>", STDERR: "<stderr>"}


@pytest.fixture(autouse=True)
def no_kernel_log(monkeypatch):
    monkeypatch.setattr(evidence, "kernel_lines", lambda *_, **__: [])


def judged(*pieces, status=1, signal=0, reader_gone=False, tell=()):
    """The outcome of output, given as pairs of stream and lines."""
    reading, writing = os.pipe()
    feed = Feed(writing)
    for kind, lines in pieces:
        feed.put(kind, "".join(f"{line}\n" for line in lines).encode())
    for kind, values in tell:
        feed.tell(kind, **values)
    feed.tell(ENDED, status=status, signal=signal, core=False, pid=77, started=0.0, reader_gone=reader_gone)
    feed.close()
    feed.start()
    return watch(reading, NAMES, ["vllm", "serve", "/srv/models/toy"], Catalogue.load)


def test_frames_come_out_as_they_went_in():
    reading, writing = os.pipe()
    feed = Feed(writing)
    feed.start()
    data = [os.urandom(200_000), b"", b"x", os.urandom(3)]
    for part in data:
        feed.put(STDOUT, part)
    feed.tell(PASSED_ON, signal="SIGTERM")
    feed.close()
    reader = FeedReader(reading)
    found = [(kind, reader.read(size)) for kind, size in reader.frames(lambda: None)]

    assert found == [*((STDOUT, part) for part in data), (PASSED_ON, b'{"signal": "SIGTERM"}')]


def test_what_is_too_much_is_left_out_and_counted():
    reading, writing = os.pipe()
    feed = Feed(writing, backlog=20)
    for part in (b"12345\n", b"too much\n", b"and\nmore\n"):
        feed.put(STDOUT, part)
    feed.put(STDERR, b"at last\n")
    feed.tell(ENDED, status=1)
    feed.close()
    feed.start()
    reader = FeedReader(reading)
    found = [(kind, reader.read(size)) for kind, size in reader.frames(lambda: None)]

    assert found == [
        (STDOUT, b"12345\n"),
        (GAP, b'{"stream": 1, "size": 18, "newlines": 3}'),
        (STDERR, b"at last\n"),
        (ENDED, b'{"status": 1}'),
    ]


def test_a_feed_whose_reader_died_takes_everything_and_sends_nothing():
    reading, writing = os.pipe()
    os.close(reading)
    feed = Feed(writing)
    feed.start()
    for _ in range(1000):
        feed.put(STDOUT, b"x" * 10_000)
    feed.close()
    feed._thread.join(5)

    assert feed.broken


def test_a_feed_that_breaks_off_gives_no_outcome():
    reading, writing = os.pipe()
    feed = Feed(writing)
    feed.put(STDOUT, b"ERROR it broke\n")
    feed.close()
    feed.start()

    assert watch(reading, NAMES, ["x"], Catalogue.load) is None


def test_both_streams_are_read_as_one_log():
    crash = crash_logs.running_crash("ValueError: width")
    worker = [line for line in crash if line.startswith("(Worker_TP1")]
    rest = [line for line in crash if not line.startswith("(Worker_TP1")]
    outcome = judged((STDOUT, rest[:2]), (STDERR, worker), (STDOUT, rest[2:]))
    incident = outcome.report.incidents[0]

    assert (incident.root.source, incident.root.message, incident.impact) == ("<stderr>", "width", "crash")
    assert dict(outcome.report.facts)["command"].value == "vllm serve /srv/models/toy"
    assert not outcome.report.coverage.notes


def test_memory_that_ran_out_explains_a_silent_death(monkeypatch):
    counts = iter([3, 4, 4, 4])
    monkeypatch.setattr(evidence, "oom_kills", lambda: next(counts, 4))
    outcome = judged((STDOUT, crash_logs.healthy_server()[:-1]), status=137, signal=9)
    best = outcome.report.incidents[0].diagnoses[0]

    assert (best.rule, best.confidence) == ("process-oom-killed", "certain")
    assert [line.text for line in best.evidence] == [
        "Detected 1 oom_kill event (OOMKilled) in the command's memory cgroup."
    ]


def test_memory_that_ran_out_before_the_others_noticed_is_the_root(monkeypatch):
    counts = iter([0, 1])
    monkeypatch.setattr(evidence, "oom_kills", lambda: next(counts, 1))
    lost = crash_logs.prefixed(
        "Worker_TP0", 100, "ERROR", "multiproc_executor.py:1007",
        ["WorkerProc hit an exception.",
         *crash_logs.traceback(crash_logs.WORKER_FRAMES, "RuntimeError: Connection closed by peer [10.20.0.4]:41234")],
    )  # fmt: skip
    report = judged((STDOUT, [*crash_logs.healthy_server()[:-1], *lost]), status=1).report

    assert report.incidents[0].diagnoses[0].rule == "process-oom-killed"


def test_a_kill_of_which_the_counter_knows_nothing_is_only_likely():
    best = judged((STDOUT, crash_logs.healthy_server()[:-1]), status=137, signal=9).report.incidents[0].diagnoses[0]

    assert (best.rule, best.confidence) == ("process-sigkill", "likely")


def test_a_failure_that_the_log_explains_is_not_blamed_on_the_signal():
    crash = crash_logs.startup_crash("ValueError: width")
    incident = judged((STDOUT, crash), status=137, signal=9).report.incidents[0]

    assert (incident.root.type, incident.root.message) == ("ValueError", "width")


@pytest.mark.parametrize(("status", "signal"), [(143, 15), (130, 2), (1, 0), (0, 0)])
def test_an_end_that_was_ordered_says_nothing(status, signal):
    told = [(PASSED_ON, {"signal": "SIGTERM"})]
    outcome = judged((STDOUT, crash_logs.healthy_server()[:-1]), status=status, signal=signal, tell=told)

    assert (outcome.status, outcome.report) == (status, None)


def test_what_was_left_out_is_said():
    gap = [(GAP, {"stream": STDOUT, "size": 5_000, "newlines": 40})]
    report = judged((STDOUT, crash_logs.running_crash("ValueError: width")), tell=gap).report

    size = sum(len(line) + 1 for line in crash_logs.running_crash("ValueError: width")) + 5_000
    assert report.coverage.notes == (
        f"the analysis lagged behind the output, of which it left out 5000 of {size} bytes",
    )


def test_a_broken_pipe_after_the_reader_left_says_nothing():
    broken = [
        "Traceback (most recent call last):",
        '  File "a.py", line 1, in <module>',
        "BrokenPipeError: [Errno 32] Broken pipe",
    ]

    assert judged((STDERR, broken), status=1, reader_gone=True).report is None
    assert judged(status=141, signal=13, reader_gone=True).report is None
    assert judged((STDERR, crash_logs.startup_crash("ValueError: width")), reader_gone=True).report is not None


def test_the_counters_of_both_cgroup_versions_are_read(tmp_path):
    (tmp_path / "memory" / "pod").mkdir(parents=True)
    (tmp_path / "memory" / "pod" / "memory.oom_control").write_text("oom_kill_disable 0\nunder_oom 0\noom_kill 2\n")
    (tmp_path / "one").write_text("4:memory:/pod\n0::/\n")
    (tmp_path / "unit").mkdir()
    (tmp_path / "unit" / "memory.events").write_text("low 0\nhigh 0\nmax 3\noom 1\noom_kill 5\n")
    (tmp_path / "two").write_text("0::/unit\n")
    (tmp_path / "none").write_text("0::/elsewhere\n")

    assert evidence.oom_kills(str(tmp_path / "one"), str(tmp_path)) == 2
    assert evidence.oom_kills(str(tmp_path / "two"), str(tmp_path)) == 5
    assert evidence.oom_kills(str(tmp_path / "none"), str(tmp_path)) is None
