"""What the user names becomes sources; what can't be read becomes an error beside them."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from diagnoser.model import Process, RawLine
from diagnoser.sources import Limits, Source, open_sources, text_source, windows
from diagnoser.sources.limits import Settings

LOG = b"INFO one\nERROR two\n" + "größer ✓\n".encode()
TEXTS = ["INFO one", "ERROR two", "größer ✓"]


def zstd(data: bytes) -> bytes:
    try:
        from compression import zstd as module  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        from backports import zstd as module
    compressed: bytes = module.compress(data)
    return compressed


def texts(source: Source) -> list[str]:
    return [line.text for line in source.lines()]


def one(path: Path, **options: object) -> Source:
    sources, errors = open_sources([str(path)], **options)  # type: ignore[arg-type]
    assert errors == []
    assert len(sources) == 1
    return sources[0]


@pytest.mark.parametrize("compress", [bytes, gzip.compress, bz2.compress, lzma.compress, zstd])
@pytest.mark.parametrize("name", ["plain.log", "any.name"])
def test_files_are_read_by_content_not_by_name(tmp_path: Path, compress: Callable[[bytes], bytes], name: str) -> None:
    path = tmp_path / name
    path.write_bytes(compress(LOG))
    source = one(path)
    assert texts(source) == TEXTS
    assert (source.name, source.bytes, source.lines_read, source.notes) == (str(path), len(LOG), 3, [])


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress, zstd])
def test_concatenated_members_are_all_read(tmp_path: Path, compress: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "log"
    path.write_bytes(compress(LOG[:10]) + compress(b"") + compress(LOG[10:]) + b"\0" * 100)
    source = one(path)
    assert texts(source) == TEXTS
    assert source.notes == []


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress, zstd])
def test_a_truncated_file_is_read_as_far_as_it_goes(tmp_path: Path, compress: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "log"
    data = b"".join(b"line %06d %d\n" % (number, number * 7919 % 104729) for number in range(120_000))
    path.write_bytes(compress(data)[:-1000])
    source = one(path, skip=False)
    read = texts(source)
    assert 0 < len(read) < 120_000
    assert read[0] == "line 000000 0"
    assert len(source.notes) == 1
    assert "too early" in source.notes[0]


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress, zstd])
def test_damage_and_trailing_garbage_end_with_a_note(tmp_path: Path, compress: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "log"
    packed = compress(LOG * 2000)
    path.write_bytes(packed[: len(packed) // 2] + b"\xaa" * 2000)
    source = one(path)
    texts(source)
    assert "damaged" in source.notes[0] or "too early" in source.notes[0]
    path.write_bytes(packed + b"garbage that is no member")
    source = one(path)
    assert len(texts(source)) == 6000
    assert len(source.notes) == 1
    assert "what follows" in source.notes[0]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig"])
def test_wide_text_is_understood(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "log"
    path.write_bytes(LOG.decode().encode(encoding))
    assert texts(one(path)) == TEXTS


def test_damaged_utf16_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"\xff\xfea\0\x00\xd8b\0\n\0c\0")
    source = one(path)
    assert texts(source) == ["a\ufffdb", "c"]
    assert source.undecodable_bytes > 0


def test_errors_stand_beside_what_can_be_read(tmp_path: Path) -> None:
    good = tmp_path / "good.log"
    good.write_bytes(LOG)
    wrong = [str(tmp_path / "missing.log"), "bad\0name", str(tmp_path / "*.nothing"), ""]
    sources, errors = open_sources([wrong[0], str(good), *wrong[1:]])
    assert [source.name for source in sources] == [str(good)]
    assert [(error.path, error.problem) for error in errors] == [
        (str(tmp_path / "missing.log"), "No such file or directory"),
        ("bad\0name", "a file name can't hold a null byte"),
        (str(tmp_path / "*.nothing"), "No such file or directory"),
        ("''", "a log without a name; is a variable of the shell empty?"),
    ]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "secret.log"
    path.write_bytes(LOG)
    path.chmod(0)
    sources, errors = open_sources([str(path)])
    assert (sources, [error.problem for error in errors]) == ([], ["Permission denied"])


def test_standard_input_is_the_default() -> None:
    for paths in ([], ["-"]):
        sources, errors = open_sources(paths, stdin=io.BytesIO(gzip.compress(LOG)))
        assert errors == []
        assert [source.name for source in sources] == ["<stdin>"]
        assert texts(sources[0]) == TEXTS


def test_a_redirected_file_is_read_from_where_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(LOG)
    with path.open("rb", buffering=0) as file:
        file.seek(9)
        sources, _ = open_sources([], stdin=file)  # type: ignore[arg-type]
        assert list(sources[0].lines()) == [RawLine(TEXTS[1], "<stdin>", 1, 0), RawLine(TEXTS[2], "<stdin>", 2, 10)]


def test_a_named_pipe_is_read_as_it_fills(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    sources, errors = open_sources([str(path)])
    assert errors == []
    go_on = threading.Event()

    def write() -> None:
        with path.open("wb", buffering=0) as pipe:
            pipe.write(b"INFO one\n" + b"x" * 600 + b"\n")
            assert go_on.wait(10)
            pipe.write(b"last")

    writer = threading.Thread(target=write)
    writer.start()
    lines = sources[0].lines()
    assert next(lines).text == "INFO one"
    assert next(lines).text == "x" * 600
    go_on.set()
    assert [line.text for line in lines] == ["last"]
    writer.join()


def test_a_folder_gives_its_logs_in_reading_order(tmp_path: Path) -> None:
    pod = tmp_path / "pods" / "serving_vllm-0_0a1b2c3d-1111-2222-3333-444455556666" / "vllm"
    pod.mkdir(parents=True)
    (pod / "0.log").write_bytes(b"third\n")
    (pod / "0.log.20260102-000000").write_bytes(b"second\n")
    (pod / "0.log.20260101-000000.gz").write_bytes(gzip.compress(b"first\n"))
    (tmp_path / "pods" / "config.json").write_text("{}")
    (tmp_path / "pods" / "weights").write_bytes(b"\0\1\2" * 100)
    (tmp_path / "pods" / "empty.log").write_text("")
    (tmp_path / "pods" / "link.log").symlink_to(pod / "0.log")
    sources, errors = open_sources([str(tmp_path / "pods")])
    assert errors == []
    assert [texts(source) for source in sources] == [["third"], ["first"], ["second"]]
    assert sources[1].process == Process(pod="vllm-0", container="vllm")
    assert sources[0].notes == [f"{tmp_path / 'pods'}: 2 files that are no logs by their names were not read"]


def test_a_folder_without_logs_is_an_error(tmp_path: Path) -> None:
    sources, errors = open_sources([str(tmp_path)])
    assert (sources, [error.problem for error in errors]) == ([], ["holds no logs"])


def test_patterns_are_expanded_and_doubles_are_read_once(tmp_path: Path) -> None:
    for name in ("w10.log", "w9.log", "w9.log.1"):
        (tmp_path / name).write_bytes(LOG)
    (tmp_path / "[odd].log").write_bytes(LOG)
    sources, errors = open_sources([str(tmp_path / "w*"), str(tmp_path / "w9.log"), str(tmp_path / "[odd].log")])
    assert errors == []
    assert [Path(source.name).name for source in sources] == ["w9.log.1", "w9.log", "w10.log", "[odd].log"]


def test_long_lines_are_noted(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"x" * 100 + b"\nshort\n")
    source = one(path, limits=Limits(line_bytes=10))
    assert texts(source) == ["x" * 10, "short"]
    assert source.lines_cut == 1
    assert source.notes == [f"{path}: 1 line was longer than 10 bytes and cut"]


@pytest.mark.parametrize("compress", [gzip.compress, lzma.compress, zstd])
def test_a_bomb_is_stopped(tmp_path: Path, compress: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "bomb.log"
    path.write_bytes(compress(compress(b"x\n" * 2_000_000)))
    source = one(path, limits=Limits(expanded_bytes=1_000_000))
    assert len(texts(source)) < 1_000_000
    assert any("limit" in note for note in source.notes)


def test_a_reading_error_ends_the_source_with_a_note(tmp_path: Path) -> None:
    class Failing(io.RawIOBase):
        left = 2

        def readable(self) -> bool:
            return True

        def read(self, size: int = -1) -> bytes:
            self.left -= 1
            if self.left < 0:
                raise OSError(5, "Input/output error")
            return (b"ok\n" * 200)[:size]

    sources, _ = open_sources([], stdin=Failing())  # type: ignore[arg-type]
    assert texts(sources[0]) == [*["ok"] * 170, "okok", *["ok"] * 199]
    assert sources[0].notes == ["<stdin>: reading stopped: [Errno 5] Input/output error"]


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_large_files_are_skipped_through_with_exact_numbers(tmp_path: Path, compress: Callable[[bytes], bytes]) -> None:
    sizes = Settings(whole=1000, head=100, before=50, slack=50, after=100, tail=50, window=4096)
    path = tmp_path / "big.log"
    data = b"".join(b"INFO %d\n" % number for number in range(1, 50_001))
    data = data.replace(b"INFO 31415\n", b"ERROR 31415\n")
    path.write_bytes(compress(data))
    source = one(path, settings=sizes)
    lines = list(source.lines())
    assert all(line.text.split()[1] == str(line.number) for line in lines)
    assert all(data[line.offset :].startswith(line.text.encode() + b"\n") for line in lines)
    assert 31415 in [line.number for line in lines]
    assert source.lines_skipped is not None
    assert source.lines_read + source.lines_skipped == 50_000


def test_a_healthy_large_file_is_not_counted(tmp_path: Path) -> None:
    path = tmp_path / "big.log"
    path.write_bytes(b"INFO fine\n" * 200_000)
    source = one(path)
    assert len(texts(source)) < 50_000
    assert source.lines_skipped is None
    assert source.bytes == 2_000_000


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    monkeypatch.setattr(windows, "STRIPED_BYTES", 0)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2})
    sizes = Settings(whole=0, head=100, before=50, slack=50, after=100, tail=50, window=1000, threads=threads)
    path = tmp_path / "big.log"
    bad = {700, 4711, 4712, 31_415, 49_999}
    path.write_bytes(b"".join(b"%s %d\n" % (b"ERROR" if n in bad else b"INFO", n) for n in range(1, 50_001)))
    expected = one(path, settings=sizes._replace(threads=1))
    source = one(path, settings=sizes)
    assert list(source.lines()) == list(expected.lines())
    assert (source.lines_read, source.lines_skipped) == (expected.lines_read, expected.lines_skipped)
    assert source.bytes == path.stat().st_size


def test_a_large_pipe_is_searched_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    data = b"".join(b"%s %d\n" % (b"ERROR" if n == 314_159 else b"INFO", n) for n in range(1, 500_001))
    results = []
    for threads in (1, 2):
        reading, writing = os.pipe()
        writer = threading.Thread(target=write_all, args=(writing, data))
        writer.start()
        with os.fdopen(reading, "rb", buffering=0) as pipe:
            sources, _ = open_sources([], stdin=pipe, settings=Settings(threads=threads))  # type: ignore[arg-type]
            results.append((list(sources[0].lines()), sources[0].lines_read, sources[0].lines_skipped))
        writer.join()
    assert results[0] == results[1]
    assert "ERROR 314159" in [line.text for line in results[0][0]]


def write_all(descriptor: int, data: bytes) -> None:
    with os.fdopen(descriptor, "wb", buffering=0) as pipe:
        for at in range(0, len(data), 7000):
            pipe.write(data[at : at + 7000])


@pytest.mark.parametrize("compress", [gzip.compress, zstd])
def test_expanding_ahead_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compress: Callable[[bytes], bytes]
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    path = tmp_path / "big.log"
    data = b"".join(b"%s %d\n" % (b"ERROR" if n == 314_159 else b"INFO", n) for n in range(1, 500_001))
    path.write_bytes(compress(data))
    expected, source = (one(path, settings=Settings(threads=threads)) for threads in (1, 2))
    assert list(source.lines()) == list(expected.lines())
    assert (source.lines_read, source.lines_skipped) == (expected.lines_read, expected.lines_skipped)
    assert source.bytes == len(data)
    path.write_bytes(compress(data)[:-100])
    damaged = one(path, settings=Settings(threads=2))
    assert len(texts(damaged)) > 1000
    assert "too early" in damaged.notes[0]


def test_a_file_that_shrinks_while_threads_read_it_ends_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows, "STRIPED_BYTES", 0)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    path = tmp_path / "big.log"
    path.write_bytes(b"INFO fine\n" * 100_000)
    source = one(path, settings=Settings(whole=0, head=100, window=1000))
    lines = source.lines()
    next(lines)
    os.truncate(path, 500_000)
    assert len(list(lines)) < 1000
    assert source.bytes == 500_000


def test_threads_end_when_reading_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows, "STRIPED_BYTES", 0)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    path = tmp_path / "big.log"
    path.write_bytes(b"INFO fine\n" * 20 + b"ERROR\n" + b"INFO fine\n" * 100_000)
    before = threading.active_count()
    lines = one(path, settings=Settings(whole=0, head=100, window=1000)).lines()
    assert [next(lines).number for _ in range(30)] == list(range(1, 31))
    assert threading.active_count() > before
    lines.close()  # type: ignore[attr-defined]
    assert threading.active_count() == before


def test_of_many_files_the_heads_are_shorter(tmp_path: Path) -> None:
    for number in range(100):
        (tmp_path / f"{number}.log").write_bytes(b"INFO fine\n" * 30_000)
    sources, _ = open_sources([str(tmp_path)])
    assert sum(len(texts(source)) for source in sources) < 16 * 27_000


def test_text_of_every_form_is_a_source() -> None:
    for text in (LOG, LOG.decode(), [*TEXTS], [f"{line}\n" for line in TEXTS], iter(TEXTS)):
        assert texts(text_source(text)) == TEXTS  # type: ignore[arg-type]
    assert texts(text_source("lone \udcff and \ud800")) == ["lone ? and ?"]


def test_a_file_that_vanished_is_an_error_of_its_source(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(LOG)
    source = one(path)
    path.unlink()
    assert texts(source) == []
    assert str(source.error) == f"{path}: No such file or directory"
    assert source.notes == [f"{path}: not read: No such file or directory"]


def test_progress_is_told() -> None:
    source = text_source(b"x\n" * 1_000_000)
    told: list[int] = []
    source.progress = told.append
    texts(source)
    assert told == sorted(told)
    assert told[-1] == 2_000_000
