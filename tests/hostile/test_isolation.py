"""What a run touches: no network, no other program, no file but the log, the rules, `-o` and the cache."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import crash_logs
import pytest

ROOT = Path(__file__).parents[2]
WATCH = """
import json, sys
events = []
def hook(name, arguments):
    if name.startswith(("socket.", "subprocess.", "os.system", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "urllib",
                        "http.", "ftplib", "smtplib", "ctypes.", "os.remove", "os.rename", "os.mkdir", "os.rmdir",
                        "os.link", "os.symlink", "os.chmod", "os.chown", "shutil.", "os.truncate", "os.putenv")):
        events.append([name, [str(argument)[:200] for argument in arguments[:2]]])
    elif name == "open":
        path, mode, flags = arguments
        if (isinstance(mode, str) and set(mode) & set("wax+")) or (mode is None and flags & 3):
            events.append(["write", [str(path)]])
        elif not isinstance(path, int):
            events.append(["read", [str(path)]])
sys.addaudithook(hook)
sys.argv = ["diagnose", *sys.argv[1:]]
from diagnoser.cli.main import run
status = run(sys.argv[1:])
sys.stdout.flush()
print(json.dumps(events), file=sys.stderr)
sys.exit(status)
"""


def watched(arguments: list[str], cwd: Path, **settings: str) -> tuple[int, list[tuple[str, list[str]]]]:
    """Exit status and what the run did, in order."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", "DIAGNOSER_CACHE": "off", **settings}
    command = [sys.executable, "-c", WATCH, *arguments]
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    return done.returncode, [(name, values) for name, values in json.loads(done.stderr.splitlines()[-1])]


def writes(events: list[tuple[str, list[str]]]) -> list[tuple[str, list[str]]]:
    return [event for event in events if event[0] != "read"]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "worker.log"
    text = (
        "\n".join(crash_logs.running_crash("AssertionError: see /etc/passwd and http://192.0.2.1/x, run `id`")) + "\n"
    )
    path.write_text(text)
    return path


@pytest.mark.parametrize("form", ["text", "html"])
def test_a_diagnosis_writes_nothing_and_talks_to_nobody(log: Path, form: str) -> None:
    status, events = watched(["--format", form, log.name], log.parent)

    assert status in (1, 3)
    assert writes(events) == []


def test_a_diagnosis_reads_the_log_the_rules_and_the_program(log: Path) -> None:
    _, events = watched([log.name], log.parent)
    places = (
        str(ROOT),
        sys.prefix,
        sys.base_prefix,
        log.name,
        "/usr/lib/python",
        "/usr/share/zoneinfo",
        "/etc/localtime",
        "/dev/null",
    )
    read = {values[0] for name, values in events if name == "read"}

    assert log.name in read
    assert {path for path in read if not path.startswith(places) and "site-packages" not in path} == set()


def test_an_output_is_written_where_it_was_asked_for(log: Path) -> None:
    _, events = watched(["-o", "out.json", "--format", "json", log.name], log.parent)
    touched = {
        Path(value).name.strip(".").split(".")[0] for _, values in writes(events) for value in values if value != "-1"
    }

    assert json.loads((log.parent / "out.json").read_text())["schema"].startswith("diagnoser.report/")
    assert touched <= {"out", log.parent.name, ""}
    assert sorted(path.name for path in log.parent.iterdir()) == ["out.json", "worker.log"]


def test_the_cache_is_the_only_other_place_and_can_be_turned_off(log: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    _, events = watched([log.name], log.parent, DIAGNOSER_CACHE=str(cache))
    outside = [
        event for event in writes(events) if not any(str(cache) in value or value.isdigit() for value in event[1])
    ]

    assert outside == []
    assert list(cache.iterdir())
    for path in cache.iterdir():
        assert path.stat().st_mode & 0o077 == 0


def test_importing_everything_opens_no_connection(tmp_path: Path) -> None:
    code = (
        WATCH.split("sys.argv =")[0]
        + """
import importlib, pkgutil, diagnoser
for module in pkgutil.walk_packages(diagnoser.__path__, "diagnoser."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
print(json.dumps([event for event in events if event[0] != "read"]))
"""
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", "DIAGNOSER_CACHE": "off"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=env, capture_output=True, text=True, check=True
    )

    assert json.loads(done.stdout) == []
    assert list(tmp_path.iterdir()) == []


def test_without_a_network_everything_works(monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    from diagnoser import diagnose
    from diagnoser.render import FORMATS, render

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a connection was asked for")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    report = diagnose("\n".join(crash_logs.running_crash("ValueError: http://192.0.2.1/")))

    assert all(render(report, form) for form in FORMATS)
