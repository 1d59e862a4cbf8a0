"""`diagnose follow` and `diagnose --live` as a user runs them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time

import crash_logs
import json_schemas
import live_helpers as live


def text(lines) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def crash(message="ValueError: width 7 is odd"):
    return text(crash_logs.running_crash(message))


def add(path, data: bytes) -> None:
    with open(path, "ab") as file:
        file.write(data)


def test_follow_tells_of_new_incidents_through_rotation_and_truncation(tmp_path):
    log = tmp_path / "server.log"
    add(log, crash("KeyError: 'old'"))
    with live.start("follow", "--format", "json", str(log)) as process:
        told = lambda: json.loads(live.line(process.stdout))  # noqa: E731
        assert live.line(process.stderr) == (
            b"diagnose: 1 incident was there before, the last: KeyError in Worker_TP1; --from-start tells of it\n"
        )

        add(log, crash())
        written = time.monotonic()
        first = told()
        assert time.monotonic() - written < 2.0  # a second, and what a busy machine adds
        assert first["incidents"][0]["root"]["message"] == "width 7 is odd"
        log.rename(tmp_path / "server.log.1")
        add(log, crash())
        again = told()
        assert again == {
            "schema": "diagnoser.repeat/1",
            "fingerprint": first["incidents"][0]["fingerprint"],
            "count": 2,
        }
        assert json_schemas.problems(first) + json_schemas.problems(again) == []
        os.truncate(log, 0)
        time.sleep(0.3)
        add(log, crash("ValueError: another"))
        assert told()["incidents"][0]["root"]["message"] == "another"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)

        assert (process.returncode, out, err) == (130, b"", b"")


def test_follow_finds_files_that_appear_and_exits_on_a_crash_with_the_status_of_the_diagnosis(tmp_path):
    logs = tmp_path / "logs"
    logs.mkdir()
    called = tmp_path / "called.json"
    options = ["--from-start", "--exit-on-crash", "--on-crash", f"cat > {called}", "-q"]
    with live.start("follow", *options, str(logs)) as process:
        parts = crash("AssertionError: mooncake connector metadata size mismatch").partition(b"metadata si")
        add(logs / "rank0.log", parts[0] + parts[1])
        time.sleep(0.5)
        add(logs / "rank0.log", parts[2])
        out, _ = process.communicate(timeout=30)

        assert process.returncode == 1
        assert b"[mooncake-metadata-size-mismatch]" in out
        assert json.loads(called.read_text())["verdict"] == "diagnosed"


def test_live_reads_a_pipe_and_tells_before_it_ends():
    with live.start("--live", "-q", stdin=subprocess.PIPE) as process:
        process.stdin.write(crash())
        process.stdin.flush()
        assert b"ValueError in Worker_TP1" in live.line(process.stdout)
        out, err = process.communicate(text(crash_logs.healthy_server()), timeout=30)

        assert (process.returncode, out.strip(), err) == (3, b"", b"")


def test_live_passes_through_only_with_tee():
    data = crash() + b"no newline \xff\r"
    plain = subprocess.run(
        live.tool("--live", "-q"), input=data, capture_output=True, env=live.environment(), timeout=60, check=False
    )
    tee = subprocess.run(
        live.tool("--live", "--tee", "-q"),
        input=data,
        capture_output=True,
        env=live.environment(),
        timeout=60,
        check=False,
    )

    assert (tee.stdout, tee.stderr) == (data, plain.stdout)
    assert plain.stdout.count(b"ValueError in Worker_TP1") == 1


def test_tee_whose_reader_goes_away_ends_quietly():
    script = f"yes | {' '.join(live.tool('--live', '--tee'))} | head -n 2; echo ${{PIPESTATUS[1]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, env=live.environment(), timeout=60, check=True)

    assert (done.stdout, done.stderr) == (b"y\ny\n141\n", b"")


def test_options_that_do_not_go_together_are_refused(tmp_path):
    tee = subprocess.run(
        live.tool("--tee", "a.log"), capture_output=True, env=live.environment(), timeout=60, check=False
    )
    files = subprocess.run(
        live.tool("--live", "a.log"), capture_output=True, env=live.environment(), timeout=60, check=False
    )

    assert (tee.returncode, tee.stderr) == (2, b"diagnose: --tee goes with --live\n")
    assert (files.returncode, files.stderr) == (
        2,
        b"diagnose: --live reads standard input; for files: diagnose follow LOG\n",
    )
