"""`diagnose run` changes nothing that the command's caller can see, and says why the command died."""

from __future__ import annotations

import json
import os
import pty
import random
import resource
import shlex
import signal
import subprocess
import sys
import time
import zlib

import live_helpers as live
import pytest

BOTH = """
import os, random
chooser = random.Random(7)
for number in range(200):
    data = chooser.randbytes(chooser.randint(1, 3000))
    os.write(chooser.choice((1, 2)), data)
os.write(1, b"no newline at the end")
"""


def test_both_streams_pass_byte_for_byte():
    plain = subprocess.run(live.python(BOTH), capture_output=True, check=True)
    done = live.run(*live.python(BOTH))

    assert (done.returncode, done.stdout, done.stderr) == (0, plain.stdout, plain.stderr)


def test_streams_that_lead_to_one_place_keep_their_common_order():
    code = "import os\nfor number in range(2000): os.write(1 + number % 2, b'%d\\n' % number)"
    done = subprocess.run(
        live.tool("run", "--", *live.python(code)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env=live.environment(), timeout=60, check=True,
    )  # fmt: skip

    assert done.stdout == b"".join(b"%d\n" % number for number in range(2000))


def test_much_output_at_once_passes_whole_to_a_slow_reader():
    code = "import os, random; data = random.Random(3).randbytes(1 << 20)\nfor _ in range(40): os.write(1, data)"
    with live.start("run", "--", *live.python(code)) as process:
        size, sums = 0, zlib.crc32(b"")
        while data := os.read(process.stdout.fileno(), 1 << 20):
            size, sums = size + len(data), zlib.crc32(data, sums)
            time.sleep(0.001)
        assert process.wait(timeout=30) == 0
    expected = zlib.crc32(b"")
    for _ in range(40):
        expected = zlib.crc32(random.Random(3).randbytes(1 << 20), expected)

    assert (size, sums) == (40 << 20, expected)


def test_without_threads_the_output_still_passes():
    code = """
import sys, threading
from diagnoser.live.running import run_command
def refuse(thread):
    raise RuntimeError("can't start new thread")
threading.Thread.start = refuse
sys.exit(run_command(["sh", "-c", "echo out; echo err >&2; exit 5"], lambda feed, names: None))
"""
    done = subprocess.run(live.python(code), capture_output=True, env=live.environment(), timeout=60, check=False)

    assert (done.returncode, done.stdout) == (5, b"out\n")
    assert sorted(done.stderr.splitlines()) == [
        b"diagnose: no more threads may be started: the output is passed through without analysis",
        b"err",
    ]


def test_standard_input_is_the_commands_own():
    assert live.run("cat", input=b"from outside\n").stdout == b"from outside\n"


@pytest.mark.parametrize(
    ("command", "status", "rule", "told"),
    [
        ("exit 3", 3, "process-nonzero-exit", "The command exited with code 3."),
        ("kill -9 $$", 137, "process-sigkill", "The command was killed by SIGKILL"),
        ("kill -11 $$", 139, "process-segfault", "The command was killed by SIGSEGV"),
        ("kill -7 $$", 135, "process-bus-error", "The command was killed by SIGBUS"),
        ("kill -6 $$", 134, "process-abort", "The command was killed by SIGABRT"),
    ],
)
def test_a_silent_death_is_told_by_its_status(tmp_path, command, status, rule, told):
    report = tmp_path / "report.json"
    limit = lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # noqa: E731
    done = live.run("sh", "-c", command, options=["--report", str(report)], preexec_fn=limit)
    incident = json.loads(report.read_text())["incidents"][0]

    assert (done.returncode, done.stdout) == (status, b"")
    assert incident["diagnoses"][0]["rule"] == rule
    assert incident["root"]["message"].startswith(told)
    assert told.encode() in done.stderr


@pytest.mark.parametrize("place", ["a pipe", "a file", "nowhere"])
def test_the_report_is_shown_wherever_the_output_goes(place, tmp_path):
    with open(os.devnull if place == "nowhere" else tmp_path / "out.log", "wb") as target:
        done = subprocess.run(
            live.tool("run", "-q", "--", "sh", "-c", "echo tick; exit 3"),
            stdout=subprocess.PIPE if place == "a pipe" else target,
            stderr=subprocess.PIPE,
            env=live.environment(),
            timeout=60,
        )

    assert done.returncode == 3
    assert done.stderr.endswith(b"[process-nonzero-exit]\n")
    if place == "a file":
        assert (tmp_path / "out.log").read_bytes() == b"tick\n"


def test_a_death_that_nothing_explains_shows_the_last_words(tmp_path):
    done = live.run("sh", "-c", "echo tick; echo 'licence expired'; exit 1", options=["-f", "json"])
    report = json.loads(done.stderr)
    root = report["incidents"][0]["root"]

    assert (done.returncode, report["verdict"]) == (1, "unknown")
    assert root["message"] == "The command exited with code 1.\nIts last words:\n  tick\n  licence expired"
    assert (root["type"], root["process"]["name"]) == ("exit code 1", "sh")


@pytest.mark.parametrize("command", ["true", "echo fine; exit 0", "kill -TERM $$"])
def test_an_ordered_end_says_nothing(command):
    done = live.run("sh", "-c", command)

    assert (done.returncode, done.stderr) == (143 if "kill" in command else 0, b"")


@pytest.mark.parametrize(("name", "status"), [("no-such-command", 127), ("/", 126)])
def test_a_command_that_cannot_be_started(name, status):
    done = live.run(name)

    assert (done.returncode, done.stdout) == (status, b"")
    assert done.stderr.startswith(f"diagnose: cannot run {name}: ".encode())


TRAP = """
import signal, sys, time
got = []
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1):
    signal.signal(number, lambda number, frame: got.append(number))
print("ready", flush=True)
limit = time.time() + 20
while not got and time.time() < limit:
    time.sleep(0.01)
time.sleep(0.1)
print([signal.Signals(number).name for number in got])
sys.exit(5 if got == [signal.SIGUSR1] else 0)
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1"])
def test_signals_are_passed_on_once(name):
    with live.start("run", "--", *live.python(TRAP)) as process:
        assert live.line(process.stdout) == b"ready\n"
        process.send_signal(signal.Signals[name])
        out, err = process.communicate(timeout=30)

        assert out == f"['{name}']\n".encode()
        assert process.returncode == (5 if name == "SIGUSR1" else 0)
        assert bool(err) == (name == "SIGUSR1")


def test_a_signal_that_was_ignored_stays_ignored():
    ignore = lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)  # noqa: E731
    code = "import signal; print(signal.getsignal(signal.SIGHUP) is signal.SIG_IGN, flush=True); input()"
    with live.start("run", "--", *live.python(code), stdin=subprocess.PIPE, preexec_fn=ignore) as process:
        assert live.line(process.stdout) == b"True\n"
        process.send_signal(signal.SIGHUP)
        out, err = process.communicate(b"\n", timeout=30)

        assert (process.returncode, out, err) == (0, b"", b"")


def test_sigpipe_is_as_a_shell_would_leave_it():
    code = "import signal; print(signal.getsignal(signal.SIGPIPE))"
    status = live.run("sh", "-c", "grep SigIgn /proc/self/status").stdout.split()[1]

    assert int(status, 16) & (1 << (signal.SIGPIPE - 1)) == 0
    assert live.run(*live.python(code)).returncode == 0


def test_a_reader_that_goes_away_ends_it_quietly():
    script = f"{' '.join(live.tool('run'))} -- yes | head -n 2; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, env=live.environment(), timeout=60, check=True)

    assert (done.stdout, done.stderr) == (b"y\ny\n141\n", b"")


def rest_of(terminal: int) -> bytes:
    """What is still shown at a terminal whose other end was closed, which reading reports as an error."""
    shown = b""
    try:
        while data := os.read(terminal, 1000):
            shown += data
    except OSError:
        pass
    os.close(terminal)
    return shown


def test_a_terminal_stays_a_terminal():
    code = (
        "import os, sys; print(os.isatty(1), os.isatty(2), os.get_terminal_size(1).columns);"
        " print('a\\rb\\x1b[31mc', file=sys.stderr)"
    )
    outer, inner = pty.openpty()
    import fcntl
    import struct
    import termios

    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 91, 0, 0))
    with live.start("run", "--", *live.python(code), stdin=inner, stdout=inner, stderr=inner) as process:
        os.close(inner)
        assert process.wait(timeout=30) == 0

        assert rest_of(outer) == b"True True 91\r\na\rb\x1b[31mc\r\n"


def test_ctrl_c_at_a_terminal_reaches_the_command_once():
    import fcntl
    import termios

    outer, inner = pty.openpty()

    def own_terminal() -> None:
        os.setsid()
        fcntl.ioctl(inner, termios.TIOCSCTTY, 0)

    command = ("run", "--", *live.python(TRAP))
    with live.start(*command, stdin=inner, stdout=inner, stderr=inner, preexec_fn=own_terminal) as process:
        os.close(inner)
        shown = b""
        while b"ready\r\n" not in shown:
            shown += os.read(outer, 1000)
        os.write(outer, b"\x03")
        assert process.wait(timeout=30) == 0

    assert shown + rest_of(outer) == b"ready\r\n^C['SIGINT']\r\n"


def test_output_comes_without_delay_and_in_parts():
    code = "import os, time\nfor part in (b'a', b'b', b'c\\n'): os.write(1, part); time.sleep(0.4)"
    with live.start("run", "--", *live.python(code)) as process:
        parts = []
        while part := os.read(process.stdout.fileno(), 100):
            parts.append((time.monotonic(), part))
        process.communicate()

        assert [part for _, part in parts] == [b"a", b"b", b"c\n"]
        assert parts[1][0] - parts[0][0] < 0.8


def test_processes_left_behind_keep_their_output_but_not_us():
    started = time.monotonic()
    with live.start("run", "--", "sh", "-c", "(sleep 3; echo late) & echo early; exit 4") as process:
        assert live.line(process.stdout) == b"early\n"
        assert process.wait(timeout=30) == 4
        left_after = time.monotonic() - started
        rest = process.stdout.read()
        process.communicate()

        assert rest == b"late\n"
        assert left_after < 3


def test_inherited_processes_do_not_become_zombies():
    def adopt() -> None:
        import ctypes

        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER: as the first process of a container

    with live.start(
        "run", "--", "sh", "-c", "sh -c 'true & exit 0' & sleep 0.7; echo look; sleep 1", preexec_fn=adopt
    ) as process:
        assert live.line(process.stdout) == b"look\n"
        states = [
            line.split()[1]
            for pid in os.listdir("/proc")
            if pid.isdigit() and f"PPid:\t{process.pid}\n" in (status := _status(pid))
            for line in status.splitlines()
            if line.startswith("State")
        ]
        process.communicate(timeout=30)

        assert states
        assert "Z" not in states


def _status(pid: str) -> str:
    try:
        with open(f"/proc/{pid}/status") as file:
            return file.read()
    except OSError:
        return ""


def test_death_of_the_analysis_harms_nothing():
    with live.start("run", "--", "sh", "-c", "echo one; read line; echo two; exit 6", stdin=subprocess.PIPE) as process:
        assert live.line(process.stdout) == b"one\n"
        analysts = [
            int(pid)
            for pid in os.listdir("/proc")
            if pid.isdigit() and f"PPid:\t{process.pid}\n" in _status(pid) and "Name:\tsh" not in _status(pid)
        ]
        assert len(analysts) == 1
        os.kill(analysts[0], signal.SIGKILL)
        out, err = process.communicate(b"go\n", timeout=30)

        assert (process.returncode, out) == (6, b"two\n")
        assert err == b"diagnose: the analysis ended early; the output was passed through unchanged\n"


def test_settings_that_cannot_be_read_do_not_keep_the_command_from_running(tmp_path):
    (tmp_path / "diagnoser.toml").write_text("colour = 1\n")
    done = live.run("sh", "-c", "echo fine; exit 3", cwd=tmp_path)

    assert (done.returncode, done.stdout) == (3, b"fine\n")
    assert b"unknown key 'colour'" in done.stderr
    assert b"process-nonzero-exit" in done.stderr


def test_reports_go_everywhere_they_are_asked_for(tmp_path):
    crash = (
        "import crash_logs; print(*crash_logs.startup_crash('ValueError: odd width'), sep='\\n'); raise SystemExit(1)"
    )
    files = [tmp_path / name for name in ("a.json", "a.md", "a.html")]
    termination, called = tmp_path / "termination", tmp_path / "called.json"
    termination.write_text("old")
    options = [text for file in files for text in ("--report", str(file))]
    options += ["--termination-log", str(termination), "--on-crash", f"cat > {called}; exit 9", "-q"]
    done = live.run(*live.python(crash), options=options)

    assert done.returncode == 1
    assert json.loads(called.read_text()) == json.loads(files[0].read_text())
    assert json.loads(files[0].read_text())["incidents"][0]["root"]["message"] == "odd width"
    assert "odd width" in files[1].read_text()
    assert files[2].read_text().startswith("<!DOCTYPE html>")
    assert "odd width" in termination.read_text()
    assert done.stderr.splitlines()[0].startswith(b"<stdout>:2: ValueError in Worker_TP0")
    assert done.stderr.splitlines()[-1].startswith(b"diagnose: --on-crash exited with 9: cat > ")


def test_a_report_that_cannot_be_written_leaves_the_old_one(tmp_path):
    report = tmp_path / "report.json"
    report.write_text("old")
    small = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))  # noqa: E731
    done = live.run("sh", "-c", "exit 3", options=["--report", str(report), "-q"], preexec_fn=small)

    assert (done.returncode, report.read_text(), os.listdir(tmp_path)) == (3, "old", ["report.json"])
    assert f"diagnose: {report}: can't be written".encode() in done.stderr


def test_a_full_disk_behind_standard_output_does_not_stop_the_command():
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            live.tool("run", "--", "sh", "-c", "echo lost; exit 0"), stdout=full, stderr=subprocess.PIPE,
            env=live.environment(), timeout=60, check=False,
        )  # fmt: skip

    assert done.returncode == 0
    assert done.stderr == b"diagnose: 5 bytes of output could not be written: No space left on device\n"


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_the_command_is_a_child_of_ours_in_our_group_with_only_its_descriptors():
    code = "import os; print(os.getpgrp() == os.getpgid(os.getppid()), sorted(os.listdir('/proc/self/fd'))[:4])"
    done = live.run(*live.python(code))

    assert done.stdout == b"True ['0', '1', '2', '3']\n"


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", ">&- <&-"])
def test_closed_descriptors_stay_closed(tmp_path, closed):
    seen = tmp_path / "seen"
    command = f"import os; open({str(seen)!r}, 'w').write(str([fd for fd in (0, 1, 2) if os.path.exists(f'/proc/self/fd/{{fd}}')])); exit(3)"
    line = " ".join(map(shlex.quote, live.tool("run", "-q", "--", *live.python(command))))
    done = subprocess.run(
        ["sh", "-c", f"{line} {closed}"], capture_output=True, env=live.environment(), timeout=60, check=False
    )
    through = seen.read_text()
    directly = subprocess.run(
        ["sh", "-c", f"{shlex.join(live.python(command))} {closed}"], capture_output=True, check=False
    )

    assert (done.returncode, through) == (3, seen.read_text())
    assert directly.returncode == 3
    assert (b"process-nonzero-exit" in done.stderr) == ("2>&-" not in closed)


def test_the_first_process_of_a_container_passes_signals_on_and_reaps():
    script = "trap 'echo stopped; exit 0' TERM; (sleep 0.1; (sleep 0.3 &) ) & echo ready; while :; do sleep 0.05; done"
    command = ["unshare", "--fork", "--pid", "--mount-proc", *live.tool("run", "--", "sh", "-c", script)]
    if subprocess.run([*command[:4], "true"], capture_output=True, check=False).returncode:
        pytest.skip("no right to make a namespace")
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=live.environment()) as outer:
        assert live.line(outer.stdout) == b"ready\n"
        first = [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and f"PPid:\t{outer.pid}\n" in _status(pid)]
        time.sleep(0.6)
        zombies = [
            pid
            for pid in os.listdir("/proc")
            if pid.isdigit() and f"PPid:\t{first[0]}\n" in (status := _status(pid)) and "State:\tZ" in status
        ]
        os.kill(first[0], signal.SIGTERM)
        out, err = outer.communicate(timeout=30)

    assert (outer.returncode, out, err, zombies) == (0, b"stopped\n", b"", [])


def test_ignored_incidents_are_not_told():
    done = live.run("sh", "-c", "exit 3", options=["--ignore", "process-nonzero-exit"])

    assert (done.returncode, done.stderr) == (3, b"")
