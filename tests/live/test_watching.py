"""When the watcher speaks, by a clock that the test moves."""

from __future__ import annotations

import crash_logs
import pytest

from diagnoser.catalogue import Catalogue
from diagnoser.live.session import Session
from diagnoser.live.watching import PATIENCE_SECONDS, Watcher

CATALOGUE = Catalogue.load()
SERVED = ['INFO:     192.0.2.7:4711 - "POST /v1/completions HTTP/1.1" 200 OK']


class Clock:
    """Feeds a watcher and looks ten times a second."""

    def __init__(self) -> None:
        self.session = Session(lambda: CATALOGUE)
        self.watcher = Watcher(self.session)
        self.now = 100.0
        self.told: list[tuple[str, str, int, float]] = []

    def write(self, lines, name="a.log"):
        self.session.feed(name, "".join(f"{line}\n" for line in lines).encode())

    def wait(self, seconds):
        """Kind, message, count and moment of what is told meanwhile."""
        told = []
        for _ in range(round(seconds * 10)):
            for event in self.watcher.look(self.now):
                told.append((event.kind, event.incident.root.message, event.times))
                self.told.append((*told[-1], self.now))
            self.now += 0.1
        return told


@pytest.fixture
def clock():
    return Clock()


def crash(text="ValueError: width 7 is odd"):
    return crash_logs.running_crash(text)


def test_a_crash_is_told_once_within_a_second(clock):
    clock.write(crash())
    written = clock.now

    assert clock.wait(20) == [("new", "width 7 is odd", 1)]
    assert clock.told[0][3] - written < 1.0


def test_a_healthy_server_and_its_shutdown_are_never_told(clock):
    for line in crash_logs.healthy_server():
        clock.write([line])
        assert clock.wait(1) == []
    assert clock.watcher.look(clock.now, final=True) == []


def test_restarts_with_the_same_failure_are_counted(clock):
    told = []
    for _ in range(9):
        clock.write(crash())
        told += clock.wait(5)

    assert told == [
        ("new", "width 7 is odd", 1),
        ("repeat", "width 7 is odd", 2),
        ("repeat", "width 7 is odd", 3),
        ("repeat", "width 7 is odd", 6),
    ]


def test_another_failure_is_told_too(clock):
    clock.write(crash())
    clock.wait(3)
    clock.write(crash("KeyError: 'gate'"))

    assert clock.wait(3) == [("new", "'gate'", 1)]


def test_other_processes_that_go_on_writing_do_not_keep_it_from_being_told(clock):
    clock.write(crash())
    told = []
    for _ in range(12):
        clock.write(SERVED, "b.log")
        told += clock.wait(0.1)

    assert told == [("new", "width 7 is odd", 1)]


def test_a_slow_writer_is_waited_for(clock):
    lines = [
        "Traceback (most recent call last):",
        '  File "/srv/app/a.py", line 3, in main',
        "    load()",
        "ValueError: slow",
    ]
    for line in lines:
        clock.write([line])
        assert clock.wait(2 if line != lines[-1] else 0) == []

    assert clock.wait(2) == [("new", "slow", 1)]


def test_a_line_in_two_parts_is_one_line(clock):
    clock.session.feed(
        "a.log", b'Traceback (most recent call last):\n  File "/srv/app/a.py", line 3, in main\n    load()\nValue'
    )
    assert clock.wait(2) == []
    clock.session.feed("a.log", b"Error: halves\n")

    assert clock.wait(2) == [("new", "halves", 1)]


def test_consequences_wait_for_their_root(clock):
    log = crash()
    workers = [line for line in log if line.startswith("(Worker_TP1")]
    dead = [line for line in log if line.startswith("(APIServer")]
    clock.write(dead)
    assert clock.wait(1.5) == []
    clock.write([line for line in log if line.startswith("(EngineCore")], "engine.log")
    clock.write(workers, "worker.log")

    assert clock.wait(10) == [("new", "width 7 is odd", 1)]


def test_consequences_without_a_root_are_told_in_the_end(clock):
    dead = [line for line in crash_logs.startup_crash() if line.startswith("(APIServer")]
    clock.write(dead)
    written = clock.now
    told = clock.wait(PATIENCE_SECONDS + 2)

    assert [(kind, times) for kind, _, times in told] == [("new", 1)]
    assert clock.told[0][3] - written > PATIENCE_SECONDS


def test_late_consequences_of_a_crash_that_was_told_are_not_told(clock):
    log = crash()
    cut = next(index for index, line in enumerate(log) if "AsyncLLM output_handler failed" in line)
    clock.write(log[:cut])
    assert clock.wait(60) == [("new", "width 7 is odd", 1)]
    assert clock.session.pipeline.kept == 0
    clock.write(log[cut:])

    assert clock.wait(30) == []


def test_what_was_there_before_is_not_told_but_counts_when_it_comes_again(clock):
    clock.write(crash())
    old = clock.watcher.pass_over()
    assert [incident.root.message for incident in old] == ["width 7 is odd"]
    assert clock.wait(3) == []
    clock.write(crash())

    assert clock.wait(3) == [("new", "width 7 is odd", 1)]


def test_requests_that_fail_are_told_once_and_counted(clock):
    clock.write(crash_logs.healthy_server()[:-1])
    failed = crash_logs.prefixed(
        "EngineCore", 20, "ERROR", "serving.py:9",
        ["request failed", *crash_logs.traceback(crash_logs.API_FRAMES, "ValueError: no such expert")],
    )  # fmt: skip
    refused = ['INFO:     192.0.2.7:4711 - "POST /v1/completions HTTP/1.1" 500 Internal Server Error']
    told = []
    for _ in range(5):
        clock.write([*failed, *refused])
        told += clock.wait(2)

    assert [(kind, times) for kind, _, times in told] == [("new", 1), ("repeat", 2), ("repeat", 3)]


def test_weeks_of_different_failures_stay_small_and_repeats_are_still_known(clock):
    clock.write(crash_logs.healthy_server()[:-1])
    for number in range(300):
        name = "".join(chr(97 + int(digit)) for digit in str(number))
        clock.write(
            [
                *crash_logs.prefixed("APIServer", 10, "ERROR", f"serving.py:{number}", [f"odd thing {name} happened"]),
                *SERVED,
            ]
        )
    clock.wait(40)
    kept = clock.session.pipeline.kept
    clock.write(crash())
    told = clock.wait(5)

    assert kept == 0
    assert told == [("new", "width 7 is odd", 1)]
    assert clock.session.pipeline.finish().facts["vllm_version"].value == "0.26.0"


def test_a_failure_after_a_long_silence_is_an_incident_of_its_own(clock):
    clock.write(crash())
    clock.wait(60)
    clock.write(
        [
            "Traceback (most recent call last):",
            '  File "/srv/app/a.py", line 3, in main',
            "    load()",
            "OSError: later",
        ]
    )

    assert clock.wait(3) == [("new", "later", 1)]


def test_the_end_of_the_input_settles_everything(clock):
    clock.write(crash())

    assert [event.incident.root.message for event in clock.watcher.look(clock.now, final=True)] == ["width 7 is odd"]
