"""A server of several processes under `diagnose run`, killed in several ways."""

from __future__ import annotations

import json
import sys

import crash_logs
import live_helpers as live
import pytest

SERVER = """
import json, os, subprocess, sys, time

def play(lines, pause):
    for line in lines:
        os.write(1, line.encode() + b"\\n")
        time.sleep(pause)

if __name__ == "__main__":
    script = json.load(open(sys.argv[1]))
    if len(sys.argv) > 2:
        play(script["workers"][int(sys.argv[2])], 0.002)
        sys.exit(0)
    play(script["before"], 0.001)
    crew = [subprocess.Popen([sys.executable, __file__, sys.argv[1], str(n)]) for n in range(len(script["workers"]))]
    for worker in crew:
        worker.wait()
    play(script["after"], 0.001)
    if script["signal"]:
        os.kill(os.getpid(), script["signal"])
    sys.exit(script["status"])
"""


def serve(tmp_path, before, workers, after, *, status=1, signal=0):
    """Runs the server; gives what came out, in lines, and the report, None when there was none."""
    (tmp_path / "server.py").write_text(SERVER)
    script = {"before": before, "workers": workers, "after": after, "status": status, "signal": signal}
    (tmp_path / "script.json").write_text(json.dumps(script))
    report, termination = tmp_path / "report.json", tmp_path / "termination"
    done = live.run(
        sys.executable, str(tmp_path / "server.py"), str(tmp_path / "script.json"),
        options=["--report", str(report), "--termination-log", str(termination)],
    )  # fmt: skip
    assert done.returncode == (128 + signal if signal else status)
    lines = done.stdout.decode().splitlines()
    assert sorted(lines) == sorted([*before, *(line for worker in workers for line in worker), *after])
    for part in workers:
        mine = set(part)
        assert [line for line in lines if line in mine] == part
    if not report.exists():
        assert not termination.exists()
        assert done.stderr == b""
        return None
    assert json.loads(report.read_text())["incidents"][0]["fingerprint"] in done.stderr.decode()
    return json.loads(report.read_text()), termination.read_text()


def split(log):
    """The lines of the API server before the failure, those of each worker, and what comes after them."""
    workers = [[line for line in log if line.startswith(f"(Worker_TP{rank} ")] for rank in (0, 1)]
    first = next(index for index, line in enumerate(log) if line.startswith("(Worker_TP"))
    return log[:first], workers, [line for line in log[first:] if not line.startswith("(Worker_TP")]


def test_workers_that_fail_together_are_one_root(tmp_path):
    report, termination = serve(tmp_path, *split(crash_logs.running_crash("ValueError: width 7 is odd", ranks=(0, 1))))
    incident = report["incidents"][0]

    assert (incident["root"]["type"], incident["root"]["message"]) == ("ValueError", "width 7 is odd")
    assert {incident["root"]["process"]["name"], incident["also_on"][0]["name"]} == {"Worker_TP0", "Worker_TP1"}
    assert (incident["impact"], len(report["incidents"])) == ("crash", 1)
    assert "width 7 is odd" in termination


def test_a_worker_that_was_killed_is_the_root_and_not_the_servers_own_exit(tmp_path):
    before, _, after = split(crash_logs.running_crash("ValueError: width"))
    died = crash_logs.prefixed(
        "EngineCore", 20, "ERROR", "multiproc_executor.py:316",
        ["Worker proc VllmWorker-1 died unexpectedly (exit code: -9), shutting down executor."],
    )  # fmt: skip
    dead = [line for line in after if line.startswith("(APIServer")]
    report, _ = serve(tmp_path, before, [[]], [*died, *dead])
    incident = report["incidents"][0]

    assert [diagnosis["rule"] for diagnosis in incident["diagnoses"]] == ["process-sigkill"]
    assert (incident["root"]["source"], incident["root"]["process"]["name"]) == ("<stdout>", "EngineCore")


@pytest.mark.parametrize(
    ("signal", "rule"),
    [(9, "process-sigkill"), (11, "process-segfault"), (7, "process-bus-error"), (4, "process-illegal-instruction")],
)
def test_a_healthy_server_that_is_killed(tmp_path, signal, rule):
    healthy = crash_logs.healthy_server()[:-1]
    report, termination = serve(tmp_path, healthy, [[]], [], signal=signal)
    incident = report["incidents"][0]

    assert incident["diagnoses"][0]["rule"] == rule
    assert (incident["impact"], incident["root"]["source"]) == ("crash", "<exit status>")
    assert str(128 + signal) in termination


def test_an_ordered_shutdown_with_its_chatter_says_nothing(tmp_path):
    assert serve(tmp_path, crash_logs.healthy_server(), [[]], [], status=0) is None


def test_a_crash_that_ends_with_status_0_is_told(tmp_path):
    died = crash_logs.prefixed(
        "EngineCore", 20, "ERROR", "multiproc_executor.py:316",
        ["Worker proc VllmWorker-1 died unexpectedly (exit code: -11), shutting down executor."],
    )  # fmt: skip
    report, _ = serve(tmp_path, crash_logs.healthy_server()[:-1], [[]], died, status=0)

    assert report["incidents"][0]["diagnoses"][0]["rule"] == "process-segfault"


def test_handled_errors_of_a_job_that_ends_well_are_not_told(tmp_path):
    handled = crash_logs.prefixed(
        "",
        0,
        "ERROR",
        "batch.py:7",
        ["item 4 was skipped", *crash_logs.traceback(crash_logs.API_FRAMES, "KeyError: 'b'")],
    )
    assert serve(tmp_path, handled, [[]], ["done"], status=0) is None
