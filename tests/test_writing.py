"""Files are written whole or not at all."""

import errno
import os
import stat
import threading
from pathlib import Path

import pytest

from diagnoser import writing
from diagnoser.errors import InputError, UsageError
from diagnoser.writing import pair_outputs, write_atomically


def test_a_new_file_follows_the_umask(tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        write_atomically(str(tmp_path / "new.txt"), "é\n")
    finally:
        os.umask(old)

    assert (tmp_path / "new.txt").read_bytes() == "é\n".encode()
    assert stat.S_IMODE((tmp_path / "new.txt").stat().st_mode) == 0o640
    assert [path.name for path in tmp_path.iterdir()] == ["new.txt"]


def test_an_existing_file_keeps_its_mode_and_a_link_stays_one(tmp_path: Path) -> None:
    real, link = tmp_path / "real.txt", tmp_path / "link.txt"
    real.write_text("old and longer than the new text")
    real.chmod(0o604)
    link.symlink_to(real)

    write_atomically(str(link), "new")

    assert link.is_symlink()
    assert (real.read_text(), stat.S_IMODE(real.stat().st_mode)) == ("new", 0o604)


def test_lone_surrogates_do_not_stop_it(tmp_path: Path) -> None:
    write_atomically(str(tmp_path / "x"), "a\udc80b")

    assert (tmp_path / "x").read_bytes() == b"a?b"


def test_a_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a directory"):
        write_atomically(str(tmp_path), "text")


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    path = str(tmp_path / "no" / "file")

    with pytest.raises(InputError, match="can't be written: No such file or directory") as caught:
        write_atomically(path, "text")
    assert caught.value.path == path


def test_a_full_disk_leaves_the_old_file_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    real_write = os.write

    def half_then_full(handle: int, data: memoryview) -> int:
        if len(data) > 4:
            return real_write(handle, data[:4])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(writing.os, "write", half_then_full)
    with pytest.raises(InputError, match="No space left on device"):
        write_atomically(str(path), "new text")
    monkeypatch.undo()

    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["report.html"]


def test_a_mounted_file_is_written_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "termination-log"
    path.write_text("old and longer")

    def busy(source: str, target: str) -> None:
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))

    monkeypatch.setattr(writing.os, "replace", busy)
    write_atomically(str(path), "new")

    assert path.read_text() == "new"
    assert [entry.name for entry in tmp_path.iterdir()] == ["termination-log"]


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    received: list[str] = []
    reader = threading.Thread(target=lambda: received.append(path.read_text()))
    reader.start()
    write_atomically(str(path), "text")
    reader.join(10)

    assert received == ["text"]


@pytest.mark.parametrize(
    ("formats", "outputs", "expected"),
    [
        ([], [], [("text", "-")]),
        (["json"], [], [("json", "-")]),
        (["json"], ["-"], [("json", "-")]),
        (["json", "html"], ["a", "b"], [("json", "a"), ("html", "b")]),
        (["html", "text"], ["a.html"], [("html", "a.html"), ("text", "-")]),
        (
            [],
            ["a.json", "b.md", "c.html", "d.xml", "e"],
            [
                ("json", "a.json"),
                ("markdown", "b.md"),
                ("html", "c.html"),
                ("junit", "d.xml"),
                ("text", "e"),
            ],
        ),
    ],
)
def test_formats_and_outputs_pair_in_order(
    formats: list[str], outputs: list[str], expected: list[tuple[str, str]]
) -> None:
    assert pair_outputs(formats, outputs) == expected


@pytest.mark.parametrize(
    ("formats", "outputs", "message"),
    [
        (["json"], ["a", "b"], "-o is given 2 times, --format 1: give one format per output"),
        (["json", "html"], [], "--format is given 2 times, -o 0: only one can go to the screen"),
        (["json", "html"], ["a", "a"], "two formats would be written to a: name another output (-o)"),
        (["json", "html"], ["-"], "two formats would be written to standard output: name another output (-o)"),
    ],
)
def test_formats_and_outputs_that_do_not_go_together(formats: list[str], outputs: list[str], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        pair_outputs(formats, outputs)
    assert str(caught.value) == message
