"""Skipping leaves out nothing that it promises to read, and does not depend on how the bytes arrive."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diagnoser.model import RawLine
from diagnoser.sources import triggers
from diagnoser.sources.bytestreams import ByteStream
from diagnoser.sources.limits import Limits, Settings
from diagnoser.sources.source import Source

SMALL = Settings(whole=0, head=40, tail=60, before=64, slack=32, after=120, weak_after=40, weak_lines=2, window=64)
LINE_BYTES = 48


class Chopped(ByteStream):
    """Gives its bytes in pieces of the given sizes, over and over."""

    def __init__(self, data: bytes, sizes: list[int]) -> None:
        self._data, self._sizes, self._at, self._turn = data, sizes, 0, 0

    def readinto(self, buffer: memoryview) -> int:
        size = min(self._sizes[self._turn % len(self._sizes)], len(buffer))
        self._turn += 1
        part = self._data[self._at : self._at + size]
        buffer[: len(part)] = part
        self._at += len(part)
        return len(part)


def read(
    data: bytes, *, skip: bool, sizes: list[int] | None = None, sizing: Settings = SMALL
) -> tuple[list[RawLine], Source]:
    source = Source(
        "log",
        lambda: Chopped(data, sizes or [1 << 20]),
        skip=skip,
        limits=Limits(line_bytes=LINE_BYTES),
        settings=sizing,
    )
    return list(source.lines()), source


HEALTHY = [b"INFO step %d" % number for number in range(8)] + [
    b"",
    b"GET /health 200 OK",
    b"x" * 30,
    "größer ✓".encode(),
]
BAD = [b"ERROR it broke", b"Traceback (most recent call last):", b'  File "a.py", line 3, in f', b"ValueError: no"]
WEAK_LINES = [b"Failed to do it", b"it timed out now", b"read timeout, mismatch"]
LONG = [
    b"y" * 200,
    b"z" * 100 + b"ERROR" + b"z" * 20,
    b"a" * 30 + b"ERROR" + b"b" * 90,
    b"p 1%\rp 50%\rERROR\rp 100%",
    b"q\0\0\0r",
]
lines = st.lists(
    st.one_of(*(st.sampled_from(kind) for kind in (HEALTHY, HEALTHY, HEALTHY, HEALTHY, BAD, WEAK_LINES, LONG))),
    max_size=90,
)
logs = st.builds(
    lambda parts, end, last: end.join(parts) + (end if last else b""),
    lines,
    st.sampled_from([b"\n", b"\r\n"]),
    st.booleans(),
)


@given(logs, st.lists(st.integers(1, 200), min_size=1, max_size=8))
@settings(max_examples=300, deadline=None)
def test_pieces_of_any_size_give_the_same_lines(log: bytes, sizes: list[int]) -> None:
    at_once, _ = read(log, skip=True)
    in_pieces, _ = read(log, skip=True, sizes=sizes)
    assert in_pieces == at_once


@given(logs)
@settings(max_examples=300, deadline=None)
def test_every_line_around_a_strong_trigger_is_read(log: bytes) -> None:
    everything, _ = read(log, skip=False)
    hot, _ = read(log, skip=True)
    assert set(hot) <= set(everything)
    assert hot == sorted(hot, key=lambda line: line.offset)
    assert promised(log, everything) <= set(hot)


def promised(log: bytes, everything: list[RawLine]) -> set[RawLine]:
    """The lines that begin within the stated distance of a line whose kept text holds a strong trigger."""
    strong = [literal.decode() for literal in triggers.LITERALS if literal not in triggers.WEAK]
    bad = [line for line in everything if any(text in line.text for text in strong)]
    ends = [found.end() for found in re.finditer(b"\n", log)] + [len(log)]
    wanted: set[RawLine] = set()
    for line in bad:
        end = next(end for end in ends if end > line.offset)
        first, last = line.offset - SMALL.before, end + SMALL.after
        wanted |= {other for other in everything if first <= other.offset < last}
    return wanted


@given(logs)
@settings(max_examples=100, deadline=None)
def test_every_line_is_read_or_counted_as_skipped(log: bytes) -> None:
    _, full = read(log, skip=False)
    _, skipping = read(log, skip=True)
    assert skipping.lines_skipped is not None
    assert skipping.lines_read + skipping.lines_skipped == full.lines_read
    assert skipping.bytes == full.bytes == len(log)


@given(logs, st.lists(st.integers(1, 200), min_size=1, max_size=4))
@settings(max_examples=100, deadline=None)
def test_the_plain_search_finds_what_the_native_one_finds(log: bytes, sizes: list[int]) -> None:
    views = [(memoryview(log), begin, min(begin + 7, len(log))) for begin in (0, min(sizes[0], len(log)))]
    plain, native, narrow = _finders()
    for view in views:
        assert lists(plain(*view)) == lists(native(*view)) == lists(narrow(*view))


def lists(hits: triggers.Hits) -> tuple[list[int], list[int]]:
    return list(hits[0]), list(hits[1])


def _finders() -> list[triggers.Finder]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(triggers, "_literals_per_search", lambda: 32)
        narrow = triggers.finder.__wrapped__()
    return [triggers._plain_finder(triggers.LITERALS), triggers.finder(), narrow]


def test_a_healthy_log_is_read_at_its_head_only() -> None:
    log = b"".join(b"INFO step %d\n" % number for number in range(1000))
    hot, source = read(log, skip=True)
    assert [line.text for line in hot] == ["INFO step 0", "INFO step 1", "INFO step 2", "INFO step 3"]
    assert (source.lines_read, source.lines_skipped) == (4, 996)


def test_context_and_tail_are_read_with_their_numbers() -> None:
    lines = [b"INFO %07d" % number for number in range(1, 2001)]
    lines[999] = b"ERROR 1000."
    hot, _ = read(b"\n".join(lines) + b"\n", skip=True, sizing=SMALL._replace(head=12, before=36, after=60, tail=36))
    assert [line.number for line in hot] == [1, *range(997, 1006), 1999, 2000]
    assert all(line.text in ("ERROR 1000.", f"INFO {line.number:07d}") for line in hot)
    assert all(line.offset % 13 == 0 or line.number > 1000 for line in hot)


def test_a_chatty_weak_trigger_is_read_a_few_times_only() -> None:
    log = b"".join(b"INFO step %d\n" % number * 20 + b"Failed to import that\n" for number in range(50))
    hot, source = read(log, skip=True)
    assert sum("Failed to" in line.text for line in hot) == SMALL.weak_lines
    assert source.notes == [
        "log: lines with 'Failed to' came more than 2 times: later ones were read only beside other trouble"
    ]


def test_the_literals_suit_the_searcher() -> None:
    assert len(triggers.LITERALS) == len(set(triggers.LITERALS)) <= 64
    assert min(map(len, triggers.LITERALS)) >= 4
    assert set(triggers.LITERALS) >= triggers.WEAK
