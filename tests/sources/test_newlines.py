"""Newlines are counted right, however they are counted."""

from __future__ import annotations

import os
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from diagnoser.sources.newlines import PIECE_BYTES, in_buffer, in_file


@given(st.lists(st.sampled_from([b"\n", b"x" * 10, b"x" * 200, b"\n" * 5000, b"y" * 50_000]), max_size=30), st.data())
def test_every_newline_is_counted(parts: list[bytes], data: st.DataObject) -> None:
    text = b"".join(parts)
    begin = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(begin, len(text)))
    assert in_buffer(bytearray(text), begin, end) == text.count(b"\n", begin, end)


def test_a_file_is_counted_as_far_as_it_goes(tmp_path: Path) -> None:
    text = (b"line\n" * 9 + b"\n" + b"x" * 300 + b"\n") * (3 * PIECE_BYTES // 300)
    path = tmp_path / "log"
    path.write_bytes(text)
    descriptor = os.open(path, os.O_RDONLY)
    try:
        assert in_file(descriptor, 7, len(text) - 5) == text.count(b"\n", 7, len(text) - 5)
        assert in_file(descriptor, 0, len(text) * 2) == text.count(b"\n")
        assert os.lseek(descriptor, 0, os.SEEK_CUR) == 0
    finally:
        os.close(descriptor)
