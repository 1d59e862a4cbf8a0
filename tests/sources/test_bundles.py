"""Bundles are read member by member; what is hostile in them is left out and said."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
import zipfile
from pathlib import Path

import pytest

from diagnoser.sources import Limits, Source, open_sources
from diagnoser.sources.bytestreams import MemoryStream
from diagnoser.sources.tar import TarError, TarReader

Files = dict[str, bytes]


def tar(path: Path, files: Files, mode: str = "w", form: int = tarfile.PAX_FORMAT) -> Path:
    with tarfile.open(path, mode, format=form) as archive:  # type: ignore[call-overload]
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


def opened(path: Path, **options: object) -> list[Source]:
    sources, errors = open_sources([str(path)], **options)  # type: ignore[arg-type]
    assert errors == []
    return sources


def contents(path: Path) -> dict[str, list[str]]:
    return {source.name.removeprefix(f"{path}!"): [line.text for line in source.lines()] for source in opened(path)}


FILES = {
    "logs/worker-1.log": b"one\n" * 400,
    "logs/worker-1.log.1.gz": gzip.compress(b"older\n"),
    "logs/config.json": b"{}",
    "deep/" * 40 + "rank0.log": b"long name\n",
    "logs/blob": b"\0\1\2\3" * 200,
    "logs/console": b"plain\n",
}
EXPECTED = {
    "logs/worker-1.log.1.gz": ["older"],
    "logs/worker-1.log": ["one"] * 400,
    "deep/" * 40 + "rank0.log": ["long name"],
    "logs/console": ["plain"],
}


@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
@pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz", "w:bz2"])
def test_tar_archives(tmp_path: Path, mode: str, form: int) -> None:
    path = tar(tmp_path / "bundle", FILES, mode, form)
    assert contents(path) == EXPECTED


def test_zip_archives(tmp_path: Path) -> None:
    path = tmp_path / "bundle.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in FILES.items():
            archive.writestr(name, data)
    assert contents(path) == EXPECTED


def test_members_may_be_read_in_any_order_and_at_once(tmp_path: Path) -> None:
    path = tar(tmp_path / "b.tgz", {f"{number}.log": b"%d\n" % number * 3 for number in range(5)}, "w:gz")
    sources = opened(path)
    assert [[line.text for line in source.lines()] for source in reversed(sources)] == [
        [str(number)] * 3 for number in (4, 3, 2, 1, 0)
    ]
    mixed = zip(*(source.lines() for source in opened(path)), strict=True)
    assert [[line.text for line in row] for row in mixed] == [["0", "1", "2", "3", "4"]] * 3


def test_links_devices_and_archives_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "b.tar"
    with tarfile.open(path, "w") as archive:
        for name, kind in (("a.log", tarfile.SYMTYPE), ("b.log", tarfile.LNKTYPE), ("c.log", tarfile.CHRTYPE)):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/passwd"
            archive.addfile(info)
        for name in ("inner.tar.gz", "/etc/absolute.log", "../../up.log", "same.log", "same.log"):
            info = tarfile.TarInfo(name)
            info.size = 3
            archive.addfile(info, io.BytesIO(b"ok\n"))
    assert contents(path) == {"etc/absolute.log": ["ok"], "up.log": ["ok"], "same.log": ["ok"], "same.log#2": ["ok"]}
    assert opened(path)[0].notes == [
        f"{path}: not read: a link (2)",
        f"{path}: not read: a device or pipe",
        f"{path}: not read: an archive inside the archive",
    ]


def test_encrypted_zip_entries_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "b.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.log", "ok\n")
        archive.writestr("secret.log", "hidden\n")
    data = bytearray(path.read_bytes())
    at = data.rfind(b"PK\x01\x02")
    data[at + 8] |= 1
    path.write_bytes(data)
    assert contents(path) == {"a.log": ["ok"]}
    assert opened(path)[0].notes == [f"{path}: not read: an encrypted entry"]


def test_too_many_entries_are_cut_off(tmp_path: Path) -> None:
    path = tar(tmp_path / "b.tar", {f"{number}.log": b"x\n" for number in range(20)})
    sources = opened(path, limits=Limits(archive_entries=5))
    assert len(sources) == 5
    assert sources[0].notes == [f"{path}: not read: what follows the first 5 entries (limit)"]


def test_a_zip_bomb_is_stopped(tmp_path: Path) -> None:
    path = tmp_path / "b.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(3):
            archive.writestr(f"{number}.log", b"x\n" * 1_000_000)
    sources = opened(path, limits=Limits(expanded_bytes=3_000_000))
    read = sum(len(list(source.lines())) for source in sources)
    assert read <= 1_500_000
    assert [len(source.notes) for source in sources] == [0, 1, 1]


def test_damaged_archives_are_read_as_far_as_they_go(tmp_path: Path) -> None:
    path = tar(tmp_path / "b.tar", {f"{number}.log": b"%d\n" % number * 500 for number in range(5)})
    path.write_bytes(path.read_bytes()[:5000])
    sources = opened(path)
    assert [source.name.rpartition("!")[2] for source in sources] == ["0.log", "1.log", "2.log"]
    assert [len(list(source.lines())) for source in sources][:2] == [500, 500]
    assert any("too early" in note for note in sources[0].notes)


def test_what_only_begins_like_an_archive_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "b.zip"
    path.write_bytes(b"PK\x03\x04 no archive at all")
    sources, errors = open_sources([str(path)])
    assert sources == []
    assert "damaged" in errors[0].problem


def test_an_archive_without_logs_is_an_error(tmp_path: Path) -> None:
    path = tar(tmp_path / "b.tar", {"weights.bin": b"\0"})
    _, errors = open_sources([str(path)])
    assert [error.problem for error in errors] == ["the archive holds no logs"]


def test_a_huge_extended_header_is_not_taken_into_memory() -> None:
    info = tarfile.TarInfo("x")
    info.type, info.size = tarfile.XHDTYPE, 1 << 40
    reader = TarReader(MemoryStream(info.tobuf(tarfile.GNU_FORMAT) + b"x" * 1000))
    with pytest.raises(TarError, match="too early"):
        reader.next()


def test_an_archive_on_standard_input_is_noted(tmp_path: Path) -> None:
    path = tar(tmp_path / "b.tar", {"a.log": b"ERROR inside\n"})
    sources, _ = open_sources([], stdin=io.BytesIO(path.read_bytes()))
    assert "ERROR inside" in [line.text for line in sources[0].lines()]
    assert sources[0].notes == ["<stdin>: a tar archive, read as one text; save it and give its path instead"]


def test_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tar(tmp_path / "b.tgz", FILES, "w:gz")
    monkeypatch.chdir(tmp_path)
    contents(path)
    assert os.listdir(tmp_path) == ["b.tgz"]
