"""What waits for the analysis: nothing is lost uncounted, and what is left out is the middle."""

from __future__ import annotations

import json
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from diagnoser.live.backlog import ENDED, GAP, PASSED_ON, STDERR, STDOUT, Backlog, Frame

SIZE = 40
OUTPUT = st.tuples(st.sampled_from([STDOUT, STDERR]), st.text("a\n", max_size=30).map(str.encode))
TOLD = st.just((PASSED_ON, b'{"signal": "SIGHUP"}'))
TAKEN = st.just(None)


def add(backlog: Backlog, frame: Frame) -> None:
    kind, data = frame
    if kind in (STDOUT, STDERR):
        backlog.put(kind, data)
    else:
        backlog.tell(kind, json.loads(data))


def taken(backlog: Backlog) -> Frame | None:
    frame = backlog.next()
    if frame is not None:
        backlog.sent(frame)
    return frame


def rest(backlog: Backlog) -> list[Frame]:
    return list(iter(lambda: taken(backlog), None))


def counted(frames: list[Frame]) -> Counter[tuple[int, str]]:
    """Bytes and newlines of each stream, left out ones included."""
    found: Counter[tuple[int, str]] = Counter()
    for kind, data in frames:
        if kind == GAP:
            gap = json.loads(data)
            found += Counter({(gap["stream"], name): gap[name] for name in ("size", "newlines")})
        elif kind in (STDOUT, STDERR):
            found += Counter({(kind, "size"): len(data), (kind, "newlines"): data.count(b"\n")})
    return found


@given(st.lists(st.one_of(OUTPUT, TOLD, TAKEN), max_size=40))
def test_everything_comes_out_or_is_counted_and_little_waits(steps: list[Frame | None]) -> None:
    backlog, came, went = Backlog(SIZE), [], []
    for step in steps:
        if step is not None:
            add(backlog, step)
            came.append(step)
        elif (frame := taken(backlog)) is not None:
            went.append(frame)
    waiting = rest(backlog)

    assert counted(went + waiting) == counted(came)
    assert sum(len(data) for kind, data in waiting if kind in (STDOUT, STDERR)) <= SIZE
    assert [frame for frame in went + waiting if frame[0] == PASSED_ON] == [f for f in came if f[0] == PASSED_ON]


@given(st.lists(OUTPUT, max_size=40))
def test_what_is_left_out_is_the_middle(came: list[Frame]) -> None:
    backlog = Backlog(SIZE)
    for frame in came:
        add(backlog, frame)
    went = rest(backlog)
    gaps = [at for at, (kind, _) in enumerate(went) if kind == GAP]
    first, last = (went[: gaps[0]], went[gaps[-1] + 1 :]) if gaps else (went, [])

    assert came[: len(first)] == first
    assert came[len(came) - len(last) :] == last
    assert bool(gaps) <= (sum(len(data) for _, data in came) > SIZE // 2)


def test_a_flood_keeps_its_beginning_and_the_end_of_the_command() -> None:
    backlog = Backlog(SIZE)
    add(backlog, (STDOUT, b"the first error\n"))
    for number in range(100):
        add(backlog, (STDOUT, b"and another %2d\n" % number))
    add(backlog, (ENDED, b'{"status": 1}'))

    assert rest(backlog) == [
        (STDOUT, b"the first error\n"),
        (GAP, b'{"stream": 1, "size": 1485, "newlines": 99}'),
        (STDOUT, b"and another 99\n"),
        (ENDED, b'{"status": 1}'),
    ]


def test_there_is_room_again_for_what_was_taken() -> None:
    backlog = Backlog(SIZE)
    for number in range(100):
        add(backlog, (STDERR, b"line number %2d\n" % number))
        assert taken(backlog) == (STDERR, b"line number %2d\n" % number)
