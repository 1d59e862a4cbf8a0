"""A growing file gives each byte once, whatever is done to it meanwhile."""

from __future__ import annotations

import os

from diagnoser.live.following import MAX_TURN_BYTES, GrowingFile


def news(file: GrowingFile) -> list[bytes | str]:
    return ["anew" if item.anew else item.data for item in file.news()]


def add(path, data: bytes) -> None:
    with open(path, "ab") as file:
        file.write(data)


def test_what_is_there_and_what_is_added_in_parts_of_lines(tmp_path):
    path = tmp_path / "a.log"
    add(path, b"one\n")
    file = GrowingFile(str(path))

    assert news(file) == [b"one\n"]
    assert news(file) == []
    add(path, b"tw")
    assert news(file) == [b"tw"]
    add(path, b"o\n")
    assert news(file) == [b"o\n"]


def test_a_file_that_appears_later(tmp_path):
    path = tmp_path / "later" / "a.log"
    file = GrowingFile(str(path))

    assert news(file) == []
    path.parent.mkdir()
    assert news(file) == []
    add(path, b"here\n")
    assert news(file) == [b"here\n"]


def test_rotation_gives_the_rest_of_the_old_file_first(tmp_path):
    path = tmp_path / "a.log"
    add(path, b"one\n")
    file = GrowingFile(str(path))
    assert news(file) == [b"one\n"]
    add(path, b"two\n")
    path.rename(tmp_path / "a.log.1")
    add(tmp_path / "a.log.1", b"three\n")
    add(path, b"four\n")

    assert news(file) == [b"two\nthree\n", "anew", b"four\n"]


def test_a_deleted_file_is_read_until_another_has_its_name(tmp_path):
    path = tmp_path / "a.log"
    with open(path, "ab") as writer:
        writer.write(b"one\n")
        writer.flush()
        file = GrowingFile(str(path))
        assert news(file) == [b"one\n"]
        path.unlink()
        writer.write(b"two\n")
        writer.flush()
        assert news(file) == [b"two\n"]
        add(path, b"three\n")
        assert news(file) == ["anew", b"three\n"]


def test_truncation_in_place_begins_anew(tmp_path):
    path = tmp_path / "a.log"
    add(path, b"one\ntwo\n")
    file = GrowingFile(str(path))
    assert news(file) == [b"one\ntwo\n"]
    os.truncate(path, 0)
    assert news(file) == ["anew"]
    add(path, b"three\n")
    assert news(file) == [b"three\n"]


def test_a_file_that_grows_faster_than_it_is_read_lets_others_have_their_turn(tmp_path):
    path = tmp_path / "a.log"
    add(path, b"x" * (MAX_TURN_BYTES + 5))
    file = GrowingFile(str(path))

    assert sum(len(item) for item in news(file)) == MAX_TURN_BYTES
    assert news(file) == [b"xxxxx"]


def test_a_folder_in_place_of_the_file_is_no_file_yet(tmp_path):
    path = tmp_path / "a.log"
    path.mkdir()
    file = GrowingFile(str(path))
    assert news(file) == []
    path.rmdir()
    add(path, b"now\n")
    assert news(file) == [b"now\n"]
