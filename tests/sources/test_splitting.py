"""Bytes become the same numbered lines however they are cut up."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from diagnoser.model import RawLine
from diagnoser.sources.splitting import Splitter

LIMIT = 20


def split(data: bytes, cuts: list[int] | None = None, limit: int = LIMIT) -> tuple[list[RawLine], Splitter]:
    splitter = Splitter("log", limit)
    lines: list[RawLine] = []
    at = 0
    for cut in [*(cuts or []), len(data)]:
        if cut > at:
            lines += splitter.feed(data[at:cut])
            at = cut
    return lines + splitter.close(), splitter


def texts(data: bytes, limit: int = LIMIT) -> list[tuple[int, str]]:
    return [(line.number, line.text) for line in split(data, limit=limit)[0]]


pieces = st.lists(
    st.sampled_from([b"abc", b"\n", b"\r", b"\r\n", b"\0", b"\xff", "é✓".encode(), b"x" * 19, b" "]), max_size=40
)


@given(pieces.map(b"".join), st.lists(st.integers(0, 200), max_size=10).map(sorted))
@example(b"\xef\xbb\xbfabc", [1, 2])
@example(b"x" * 50 + b"\r", [20, 50])
def test_cuts_change_nothing(data: bytes, cuts: list[int]) -> None:
    whole, first = split(data)
    cut, second = split(data, cuts)
    assert cut == whole
    assert (second.lines_read, second.lines_cut, second.undecodable_bytes) == (
        first.lines_read,
        first.lines_cut,
        first.undecodable_bytes,
    )


@given(pieces.map(b"".join))
def test_numbers_and_offsets_point_at_the_text(data: bytes) -> None:
    lines, splitter = split(data, limit=1000)
    for line in lines:
        assert data[: line.offset].count(b"\n") + 1 == line.number
        raw = data[line.offset :].split(b"\n")[0].split(b"\r")[0].split(b"\0")[0]
        assert raw.decode("utf-8", "surrogateescape").encode("utf-8", "surrogateescape") == raw
        if "\ufffd" not in line.text:
            assert line.text.encode() == raw
    assert splitter.lines_read == data.count(b"\n") + (not data.endswith(b"\n") and bool(data))


def test_line_ends_of_every_kind() -> None:
    assert texts(b"one\ntwo\r\nthree\r\r\nfour") == [(1, "one"), (2, "two"), (3, "three"), (4, "four")]


def test_empty_lines_are_kept_and_numbered() -> None:
    assert texts(b"a\n\n\r\nb\n") == [(1, "a"), (2, ""), (3, ""), (4, "b")]


def test_a_progress_bar_is_split_but_stays_one_line() -> None:
    assert texts(b"load:  0%\rload: 50%\rload: 99%\ndone\n") == [
        (1, "load:  0%"),
        (1, "load: 50%"),
        (1, "load: 99%"),
        (2, "done"),
    ]


def test_the_hole_of_a_truncated_log_is_left_out() -> None:
    assert texts(b"old\n" + b"\0" * 100 + b"new\n") == [(1, "old"), (2, "new")]


def test_a_long_line_is_cut_and_counted() -> None:
    lines, splitter = split(b"x" * 25 + b"\n" + b"y" * 20 + b"\n" + b"z" * 1000)
    assert [(line.number, line.text) for line in lines] == [(1, "x" * 20), (2, "y" * 20), (3, "z" * 20)]
    assert splitter.lines_cut == 2
    assert splitter.lines_read == 3


def test_a_cut_does_not_break_a_character() -> None:
    lines, splitter = split(b"x" * 19 + "é".encode() + b"yy\n")
    assert [line.text for line in lines] == ["x" * 19]
    assert splitter.undecodable_bytes == 0


def test_damaged_bytes_are_replaced_and_counted() -> None:
    lines, splitter = split(b"ok\nb\xffd \xe2\x82 end\n")
    assert [line.text for line in lines] == ["ok", "b\ufffdd \ufffd\ufffd end"]
    assert splitter.undecodable_bytes == 3


def test_a_byte_order_mark_is_not_text() -> None:
    lines, _ = split(b"\xef\xbb\xbfhello\nworld\n")
    assert lines == [RawLine("hello", "log", 1, 3), RawLine("world", "log", 2, 9)]
