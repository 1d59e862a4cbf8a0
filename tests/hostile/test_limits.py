"""Inputs that do not end, that fail, that change while they are read; and that every limit is said in the notes."""

from __future__ import annotations

import errno
import gzip
import io
import os
import stat
import tarfile
import threading
import time
import zipfile
from pathlib import Path

import crash_logs
import pytest

from diagnoser import diagnose
from diagnoser.catalogue import Catalogue
from diagnoser.model import Report
from diagnoser.pipeline import analyse
from diagnoser.sources import Limits, open_sources

CATALOGUE = Catalogue.load()
CRASH = ("\n".join(crash_logs.running_crash("ValueError: width 7 is odd")) + "\n").encode()
SMALL = Limits(line_bytes=1_000, expanded_bytes=1 << 20, ratio=50, archive_entries=20)
needs_posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX files")


def read(paths: list[str], limits: Limits = SMALL, stdin: io.BufferedIOBase | None = None) -> Report:
    sources, errors = open_sources(paths, limits=limits, stdin=stdin)  # type: ignore[arg-type]
    return analyse(sources, CATALOGUE, notes=[str(error) for error in errors])


def said(report: Report, words: str) -> bool:
    """Whether the notes say it, and every format that shows them does."""
    from diagnoser.render import render

    found = any(words in note for note in report.coverage.notes)
    if found:
        for form in ("json", "text", "markdown", "html"):
            shown = " ".join(render(report, form).split())
            assert any(word in shown for word in (words, words.replace("'", "&#39;"))), form
    return found


def test_a_cut_line_is_said() -> None:
    report = diagnose(b"x" * 70_000 + b"\n" + CRASH, catalogue=CATALOGUE)

    assert report.coverage.lines_cut == 1
    assert said(report, "1 line was longer than 65536 bytes and cut")


def test_a_long_traceback_is_said() -> None:
    frames = [("/opt/a.py", number, "f", f"return f({number})") for number in range(1_000)]
    report = diagnose("\n".join(crash_logs.traceback(frames, "RecursionError: too deep")), catalogue=CATALOGUE)

    assert report.incidents[0].root.type == "RecursionError"
    assert said(report, "Tracebacks of 400 or more frames: 1")


def test_a_long_chain_is_said() -> None:
    part = [
        *crash_logs.traceback([("/opt/a.py", 1, "f", "g()")], "ValueError: {}"),
        "",
        "The above exception was the direct cause of the following exception:",
        "",
    ]
    text = "\n".join(line.format(number) for number in range(100) for line in part)
    report = diagnose(
        text + '\nTraceback (most recent call last):\n  File "a.py", line 1, in f\nKeyError: 1\n', catalogue=CATALOGUE
    )

    assert said(report, "Chains of 64 or more exceptions: 1")


def test_a_long_message_is_said() -> None:
    lines = ["RuntimeError: CUDA error: " + "x" * 900, *("  " + "y" * 900 for _ in range(100))]
    report = diagnose(
        "\n".join(crash_logs.traceback([("/opt/a.py", 1, "f", "g()")], "\n".join(lines))), catalogue=CATALOGUE
    )

    assert said(report, "Messages of 65536 or more characters: 1")


def test_too_many_different_failures_are_said_and_exceptions_have_room() -> None:
    flood = [
        f"(APIServer pid=1) ERROR 03-14 10:20:30 [a.py:{n}] {chr(97 + n % 26)}{chr(97 + n // 26 % 26)}{chr(97 + n // 676)} went wrong"
        for n in range(5_000)
    ]
    report = diagnose("\n".join(flood) + "\n" + CRASH.decode(), catalogue=CATALOGUE)

    assert report.incidents[0].root.message == "width 7 is odd"
    assert said(report, "different failures")


def test_too_many_incidents_are_said() -> None:
    log = [
        line
        for number in range(60)
        for line in crash_logs.startup_crash(f"ValueError: problem {chr(97 + number % 26)}{chr(97 + number // 26)}")
    ]
    report = diagnose("\n".join(log), catalogue=CATALOGUE)

    assert len(report.incidents) == 50
    assert said(report, "60 incidents found; the first 50 are reported")


def test_an_expanded_size_is_bounded_and_said(tmp_path: Path) -> None:
    path = tmp_path / "a.log.gz"
    path.write_bytes(gzip.compress(os.urandom(3 << 20).hex().encode()))

    assert said(read([str(path)]), "expanded bytes (limit)")


def test_a_ratio_is_bounded_through_layers(tmp_path: Path) -> None:
    inner = gzip.compress(b"\0" * (1 << 20), 9) * 400
    path = tmp_path / "a.log.gz"
    path.write_bytes(gzip.compress(gzip.compress(inner, 9), 9))
    report = read([str(path)], Limits())

    assert path.stat().st_size < 20_000
    assert said(report, "times its size (limit)")


def test_entries_of_an_archive_are_bounded_and_said(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as archive:
        for number in range(50):
            info = tarfile.TarInfo(f"{number}.log")
            info.size = len(CRASH)
            archive.addfile(info, io.BytesIO(CRASH))

    assert said(read([str(path)]), "what follows the first 20 entries (limit)")


def test_odd_entries_are_left_out_and_said(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as archive:
        for name, kind in (
            ("link.log", tarfile.SYMTYPE),
            ("hard.log", tarfile.LNKTYPE),
            ("fifo.log", tarfile.FIFOTYPE),
            ("dev.log", tarfile.CHRTYPE),
        ):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/passwd"
            archive.addfile(info)
        for name in ("/abs/a.log", "../../b.log", "a.log", "a.log"):
            info = tarfile.TarInfo(name)
            info.size = len(CRASH)
            archive.addfile(info, io.BytesIO(CRASH))
    sources, errors = open_sources([str(path)])

    assert errors == []
    assert [source.name.partition("!")[2] for source in sources] == ["abs/a.log", "b.log", "a.log", "a.log#2"]
    report = analyse(sources, CATALOGUE)
    assert said(report, "a link (2)")
    assert said(report, "a device or pipe (2)")
    assert sorted(tmp_path.iterdir()) == [path]


def test_encrypted_entries_are_left_out_and_said(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.log", CRASH)
        archive.writestr("b.log", CRASH)
    data = bytearray(path.read_bytes())
    at = data.rfind(b"PK\x01\x02")
    data[at + 8] |= 1
    path.write_bytes(data)

    assert said(read([str(path)]), "an encrypted entry")


def test_overlapping_entries_are_bounded_by_the_archive(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        archive.writestr("0.log", b"\0" * (4 << 20))
    data = path.read_bytes()
    at, end = data.rfind(b"PK\x01\x02"), data.rfind(b"PK\x05\x06")
    entry, tail = data[at:end], bytearray(data[end:])
    entries = b"".join(entry.replace(b"0.log", b"%c.log" % (65 + number)) for number in range(26))
    tail[8:12] = (26).to_bytes(2, "little") * 2
    tail[12:16] = len(entries).to_bytes(4, "little")
    path.write_bytes(data[:at] + entries + bytes(tail))
    report = read([str(path)], Limits(ratio=100))

    assert sum(source.bytes for source in report.sources) <= 72 << 20
    assert report.verdict == "healthy"


@needs_posix
def test_a_fifo_is_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    thread = threading.Thread(target=lambda: path.write_bytes(CRASH))
    thread.start()
    report = read([str(path)])
    thread.join()

    assert report.incidents[0].root.message == "width 7 is odd"


@needs_posix
def test_a_fifo_in_a_folder_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.log")
    (tmp_path / "a.log").write_bytes(CRASH)

    assert read([str(tmp_path)]).incidents[0].root.message == "width 7 is odd"


@needs_posix
def test_a_device_without_end_can_be_stopped() -> None:
    sources, _ = open_sources(["/dev/zero"])
    started = time.monotonic()

    class Enough(Exception):
        pass

    def stop(read_so_far: int) -> None:
        if read_so_far > 50 << 20:
            raise Enough

    sources[0].progress = stop
    with pytest.raises(Enough):
        for _ in sources[0].lines():
            pass
    assert time.monotonic() - started < 20


def test_a_reading_error_keeps_what_was_read() -> None:
    class Failing(io.BytesIO):
        def read1(self, size: int | None = -1, /) -> bytes:
            data = super().read1(size)
            if not data:
                raise OSError(errno.EIO, "Input/output error")
            return data

        def fileno(self) -> int:
            raise OSError

    report = read(["-"], stdin=Failing(CRASH))

    assert report.incidents[0].root.message == "width 7 is odd"
    assert said(report, "Input/output error")


@needs_posix
def test_a_reading_error_of_a_file_keeps_what_was_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(CRASH * 40)
    calls = []
    original = os.readv

    def failing(fd: int, buffers: list[memoryview]) -> int:
        calls.append(fd)
        if len(calls) > 1:
            raise OSError(errno.EIO, "Input/output error")
        return original(fd, [buffers[0][: len(CRASH) * 2]])

    monkeypatch.setattr(os, "readv", failing)
    report = read([str(path)], Limits())

    assert report.incidents[0].root.message == "width 7 is odd"
    assert said(report, "Input/output error")


def test_a_file_that_grows_while_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"INFO: x\n" * 100)
    sources, _ = open_sources([str(path)])
    path.write_bytes(b"INFO: x\n" * 100 + CRASH)

    assert analyse(sources, CATALOGUE).incidents[0].root.message == "width 7 is odd"


def test_a_file_that_shrinks_or_vanishes_while_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(CRASH * 2_000)
    sources, _ = open_sources([str(path)])
    lines = sources[0].lines()
    next(lines)
    os.truncate(path, 1_000)
    path.unlink()
    assert sum(1 for _ in lines) > 0
    gone, _ = open_sources([str(tmp_path)])

    assert gone == []


def test_a_file_that_vanished_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(CRASH)
    sources, _ = open_sources([str(path)])
    path.unlink()
    report = analyse(sources, CATALOGUE)

    assert said(report, "not read: No such file or directory")


def test_links_in_a_folder_lead_nowhere_new(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "a.log").write_bytes(CRASH)
    (folder / "again.log").symlink_to(folder / "a.log")
    (folder / "loop").symlink_to(folder)
    (folder / "broken.log").symlink_to(tmp_path / "nothing")
    sources, _ = open_sources([str(folder)])

    assert len(sources) == 1


def test_output_is_not_written_through_a_half(tmp_path: Path) -> None:
    from diagnoser.writing import write_atomically

    target = tmp_path / "out.json"
    target.write_text("before")
    target.chmod(0o600)
    write_atomically(str(target), "after")

    assert target.read_text() == "after"
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["out.json"]


def test_many_processes_at_once_are_said() -> None:
    lines = [f"(Worker_TP{n} pid={n + 1}) ERROR 03-14 10:20:30 [a.py:7] {{}}" for n in range(700)]
    trace = crash_logs.traceback([("/opt/a.py", 1, "f", "g()")], "ValueError: odd", markers=False)
    report = diagnose("\n".join(line.format(text) for text in trace for line in lines), catalogue=CATALOGUE)

    assert said(report, "More than 512 processes wrote at the same time")


def test_many_kinds_of_consequences_are_said() -> None:
    log = crash_logs.running_crash("ValueError: width 7 is odd")
    for first in "abcdefghijklmnopqrstuvwxyz":
        for second in "xy":
            dead = f"vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. {first}{second} See stack trace (above) for the root cause."
            log += crash_logs.prefixed(
                "APIServer", 10, "ERROR", f"{first}{second}.py:1", crash_logs.traceback(crash_logs.API_FRAMES, dead)
            )
    report = diagnose("\n".join(log), catalogue=CATALOGUE)

    assert report.incidents[0].root.message == "width 7 is odd"
    assert said(report, "Only the first 40 kinds of consequences")
