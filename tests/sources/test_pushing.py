"""A stream that is handed in piece by piece gives the lines that the same bytes in a file give."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from diagnoser.model import RawLine
from diagnoser.sources.limits import Limits
from diagnoser.sources.pushing import PushReader

_SPEC = importlib.util.spec_from_file_location("skipping_logs", Path(__file__).parent / "test_skipping.py")
assert _SPEC is not None
assert _SPEC.loader is not None
skipping = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(skipping)


def reader(*, skip: bool = True) -> PushReader:
    return PushReader("log", settings=skipping.SMALL, limits=Limits(line_bytes=skipping.LINE_BYTES), skip=skip)


def pushed(log: bytes, sizes: list[int], *, skip: bool = True) -> tuple[list[RawLine], PushReader]:
    push = reader(skip=skip)
    lines: list[RawLine] = []
    at = turn = 0
    while at < len(log):
        size = sizes[turn % len(sizes)]
        lines += push.feed(log[at : at + size])
        at, turn = at + size, turn + 1
    lines += push.close()
    return lines, push


@given(skipping.logs, st.lists(st.integers(1, 400), min_size=1, max_size=8))
@settings(max_examples=300, deadline=None)
def test_pieces_of_any_size_give_the_lines_of_the_file(log: bytes, sizes: list[int]) -> None:
    from_file, source = skipping.read(log, skip=True)
    from_pieces, push = pushed(log, sizes)

    assert from_pieces == from_file
    assert (push.bytes, push.lines_read, push.lines_skipped) == (source.bytes, source.lines_read, source.lines_skipped)
    assert (push.lines_cut, push.undecodable_bytes) == (source.lines_cut, source.undecodable_bytes)


@given(skipping.logs, st.lists(st.integers(1, 400), min_size=1, max_size=8))
@settings(max_examples=100, deadline=None)
def test_without_skipping_every_line_comes(log: bytes, sizes: list[int]) -> None:
    assert pushed(log, sizes, skip=False)[0] == skipping.read(log, skip=False)[0]


def test_a_line_comes_as_soon_as_its_end_does() -> None:
    push = reader()
    healthy = b"INFO step 1\n" * 100

    assert len(list(push.feed(healthy))) == 4
    assert [line.number for line in push.feed(b"ERROR it ")] == [95, 96, 97, 98, 99, 100]
    assert [line.text for line in push.feed(b"broke\n")] == ["ERROR it broke"]
    assert [line.text for line in push.feed(b"and more\n")] == ["and more"]


@given(skipping.logs, skipping.logs, st.integers(1, 500), st.integers(0, 20), st.booleans())
@settings(max_examples=200, deadline=None)
def test_what_is_left_out_keeps_numbers_and_places_right(
    before: bytes, after: bytes, more: int, newlines: int, skip: bool
) -> None:
    size = newlines + more
    after = b"\nERROR after it\n" + after
    push = reader(skip=skip)
    lines = list(push.feed(before))
    lines += push.gap(size, newlines)
    lines += push.feed(after)
    lines += push.close()
    marked = next(line for line in lines if line.text == "ERROR after it" and line.offset == len(before) + size + 1)

    assert marked.number == before.count(b"\n") + newlines + 2
    assert push.bytes == len(before) + size + len(after)


def test_the_tail_is_read_when_it_is_asked_for() -> None:
    log = b"".join(b"INFO step %04d\n" % number for number in range(1000))
    push = reader()
    lines = list(push.feed(log)) + list(push.close(tail=True))

    assert [line.number for line in lines[-3:]] == [998, 999, 1000]
    assert (push.lines_read, push.lines_skipped) == (7, 993)
