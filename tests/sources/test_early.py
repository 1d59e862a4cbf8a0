"""Reading ahead of whoever asks for lines changes nothing but the time it takes."""

from __future__ import annotations

import gzip
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from diagnoser.sources import Source, crew, early, open_sources, read_ahead, windows
from diagnoser.sources.limits import Limits, Settings

SIZES = Settings(whole=500, head=100, before=50, slack=50, after=100, weak_after=40, tail=50, window=1000)
LIMITS = Limits(line_bytes=200)
WORDS = [*[b"INFO fine %d"] * 40, b"ERROR %d", b"Failed to do %d", b"x" * 300 + b"%d", b"p 1%%\rp %d%%", b"\0%d", b"%d"]


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows, "STRIPED_BYTES", 0)


def make_log(path: Path, seed: int, lines: int, words: list[bytes]) -> Path:
    chance = random.Random(seed)
    path.write_bytes(b"\n".join(chance.choice(words) % number for number in range(lines)))
    return path


def opened(paths: list[Path], sizes: Settings = SIZES) -> list[Source]:
    sources, errors = open_sources([str(path) for path in paths], settings=sizes, limits=LIMITS)
    assert errors == []
    return sources


def everything(source: Source) -> tuple[object, ...]:
    lines = list(source.lines())
    counts = (source.bytes, source.lines_read, source.lines_skipped, source.lines_cut, source.undecodable_bytes)
    return lines, counts, source.notes, str(source.error)


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("kept", [0, 7, 1 << 20])
@pytest.mark.parametrize("open_at_once", [1, 3])
def test_the_same_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: int, kept: int, open_at_once: int
) -> None:
    monkeypatch.setattr(crew, "_MOST_KEPT", kept)
    monkeypatch.setattr(early, "_OPEN_AT_ONCE", open_at_once)
    sizes = [0, 5, 100, 3000, 20_000, 1, 7000, 50]
    paths = [make_log(tmp_path / f"{n}.log", n, size, WORDS[n % 2 * 20 :]) for n, size in enumerate(sizes)]
    paths.append(make_log(tmp_path / "errors.log", 9, 3000, [b"ERROR %d"]))
    expected = [everything(source) for source in opened(paths, SIZES._replace(threads=1))]
    before = threading.active_count()
    sources = opened(paths)
    read_ahead(sources, threads)
    assert threading.active_count() == before + threads - 1
    assert [everything(source) for source in sources] == expected
    assert threading.active_count() == before


def test_any_order_of_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crew, "_MOST_KEPT", 3)
    paths = [make_log(tmp_path / f"{n}.log", n, 4000, WORDS) for n in range(6)]
    expected = [everything(source) for source in opened(paths, SIZES._replace(threads=1))]
    sources = opened(paths)
    read_ahead(sources, 2)
    for n in (5, 2, 0, 4, 1, 3):
        assert everything(sources[n]) == expected[n]


@pytest.mark.parametrize(
    ("threads", "worth_bytes"), [(1, 0), (2, 10_000_000)], ids=["with one thread", "with little to read"]
)
def test_nothing_is_begun(threads: int, worth_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows, "STRIPED_BYTES", worth_bytes)
    sources = opened([make_log(tmp_path / "log", 1, 4000, WORDS)])
    before = threading.active_count()
    read_ahead(sources, threads)
    assert threading.active_count() == before


def test_only_a_few_files_are_open_ahead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(early, "_OPEN_AT_ONCE", 4)
    sources = opened([make_log(tmp_path / f"{n}.log", n, 1000, WORDS) for n in range(40)])
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    read_ahead(sources, 2)
    for source in sources:
        if before:
            assert len(os.listdir("/proc/self/fd")) <= before + 4
        everything(source)
    if before:
        assert len(os.listdir("/proc/self/fd")) == before


def test_files_that_vanish_or_are_none_that_is_searched(tmp_path: Path) -> None:
    paths = [make_log(tmp_path / f"{n}.log", n, 4000, WORDS) for n in range(3)]
    paths[1].write_bytes(b"\xff\xfe" + ("INFO fine\n" * 1000).encode("utf-16-le"))
    expected = [everything(source) for source in opened(paths)]
    sources = opened(paths)
    paths[0].unlink()
    read_ahead(sources, 2)
    paths[2].unlink()  # open already
    results = [everything(source) for source in sources]
    assert results[1:] == expected[1:]
    assert results[0][3] == f"{paths[0]}: No such file or directory"


@pytest.mark.parametrize("left", [0, 50, 150, 20_050, 40_000])
def test_a_file_that_shrinks_ends_there(tmp_path: Path, left: int) -> None:
    path = make_log(tmp_path / "log", 3, 10_000, WORDS)
    (source,) = opened([path])
    read_ahead([source], 2)
    time.sleep(0.05)
    os.truncate(path, left)
    everything(source)
    assert source.bytes == left


def test_a_file_that_grows_is_read_to_its_new_end(tmp_path: Path) -> None:
    path = make_log(tmp_path / "log", 3, 10_000, WORDS)
    (source,) = opened([path])
    read_ahead([source], 2)
    with path.open("ab") as log:
        log.write(b"\nINFO more\n" * 500 + b"ERROR at last\n")
    assert "ERROR at last" in [line.text for line in source.lines()]
    assert source.bytes == path.stat().st_size


def test_what_goes_wrong_in_a_thread_is_raised_to_the_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def search(*_: object) -> object:
        raise RuntimeError("no search today")

    monkeypatch.setattr("diagnoser.sources.reading.finder", lambda: search)
    (source,) = opened([make_log(tmp_path / "log", 3, 10_000, WORDS)])
    before = threading.active_count()
    read_ahead([source], 2)
    with pytest.raises(RuntimeError, match="no search today"):
        list(source.lines())
    assert threading.active_count() == before


STREAMED = SIZES._replace(window=150_000)
SPARSE = [*[b"INFO fine %d"] * 5000, b"ERROR %d", b"Failed to do %d", b"x" * 100_000 + b"%d", b"p 1%%\rp %d%%"]


@pytest.mark.parametrize("words", [WORDS, SPARSE, [b"INFO fine %d"]])
@pytest.mark.parametrize("slow", [False, True])
def test_compressed_files_give_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[bytes], slow: bool
) -> None:
    monkeypatch.setattr("diagnoser.sources.opening._LEAST_PACKED", 0)
    paths = [make_log(tmp_path / f"{n}.log", n, lines, words) for n, lines in enumerate([200_000, 1, 300, 90_000])]
    packed = []
    for path in paths:
        packed.append(path.with_suffix(".log.gz"))
        packed[-1].write_bytes(gzip.compress(path.read_bytes(), 1))
    cut = packed[3].read_bytes()
    packed[3].write_bytes(cut[:-100])
    expected = [everything(source) for source in opened(packed, STREAMED._replace(threads=1))]
    before = threading.active_count()
    sources = opened(packed, STREAMED)
    read_ahead(sources, 2)
    assert threading.active_count() > before
    if slow:
        time.sleep(0.3)
    assert [everything(source) for source in sources] == expected
    assert threading.active_count() == before


@pytest.mark.parametrize("words", [WORDS, SPARSE, [b"INFO fine %d"]])
def test_a_pipe_gives_the_same_and_is_drained_before_its_turn(tmp_path: Path, words: list[bytes]) -> None:
    data = make_log(tmp_path / "log", 5, 300_000, words).read_bytes()
    results = []
    for early_on in (False, True):
        reading, writing = os.pipe()
        writer = threading.Thread(target=write_all, args=(writing, data))
        writer.start()
        with os.fdopen(reading, "rb", buffering=0) as pipe:
            sizes = STREAMED if early_on else STREAMED._replace(threads=1)
            sources, _ = open_sources([], stdin=pipe, settings=sizes, limits=LIMITS)
            if early_on:
                read_ahead(sources, 2)
                if words is not WORDS and words is not SPARSE:
                    writer.join(10)  # nobody has asked for a line
                    assert not writer.is_alive()
            results.append(everything(sources[0]))
        writer.join()
    assert results[1] == results[0]


def write_all(descriptor: int, data: bytes) -> None:
    with os.fdopen(descriptor, "wb", buffering=0) as pipe:
        for at in range(0, len(data), 70_000):
            pipe.write(data[at : at + 70_000])


def test_lines_of_a_pipe_come_before_its_end() -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb", buffering=0) as pipe:
        sources, _ = open_sources([], stdin=pipe, settings=STREAMED, limits=LIMITS)
        read_ahead(sources, 2)
        lines = sources[0].lines()
        os.write(writing, b"INFO one\n" + b"x" * 600 + b"\n")
        assert next(lines).text == "INFO one"
        assert next(lines).text.startswith("xxx")
        os.write(writing, b"ERROR two\n")
        assert next(lines).text == "ERROR two"
        os.close(writing)
        assert list(lines) == []


LEFT = """
import os, sys, time
from diagnoser.sources import open_sources, read_ahead
sources, _ = open_sources([sys.argv[1]])
read_ahead(sources, 2)
print("begun", flush=True)
if sys.argv[2] == "read":
    list(sources[0].lines())
"""


@pytest.mark.parametrize("what", ["leave", "read"])
@pytest.mark.skipif(not hasattr(os, "preadv"), reason="read by one thread here")
def test_a_program_that_ends_does_not_wait_for_the_search(tmp_path: Path, what: str) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"INFO fine\n")
    os.truncate(path, 1 << 40)  # a hole; searching it takes minutes
    process = subprocess.Popen(
        [sys.executable, "-c", LEFT, str(path), what], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"begun\n"
    if what == "read":
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert (process.returncode, errors.strip().splitlines()[-1:]) == (
        (0, []) if what == "leave" else (-signal.SIGINT, [b"KeyboardInterrupt"])
    )
