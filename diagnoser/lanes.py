"""The short way of lines that are like many before them.

A log of a hundred thousand lines has a few hundred kinds. Once blocks of a line's shape are only counted (see
`repeats`), all that a further one does is to end the block before it and to be counted when the next one comes. So it
is held back as it is, without being made a record, a block and a shape first. Whatever else comes through the same
stream finds it as if it had gone the long way: reports are the same with and without (`tests/test_lanes.py`).
"""

from collections.abc import Sequence

from diagnoser.digits import zeroed
from diagnoser.envelopes import Known, Meaning
from diagnoser.model import LogRecord, RawLine
from diagnoser.parsers import Assembler, Block
from diagnoser.records import NamedTuple, new
from diagnoser.repeats import Shape, Shapes, without_numbers
from diagnoser.streams import StreamKey

MOST_LANES = 512
"""Lanes of one source that are kept."""
_MOST_SHAPES = 64
_LONGEST = 1024
"""Characters of a text whose shape is kept in a lane."""
_JOINED = "vllm"
"""A format whose lines may belong to the record before them."""


class Held(NamedTuple):
    """A line that is held back: the open block of its stream."""

    lane: "Lane"
    shape: Shape
    version: int
    """That of the shapes when the line came."""
    order: int
    time: str | None
    body: str
    source: str
    number: int

    def record(self) -> LogRecord:
        """The line as a record."""
        return Known(self.lane.meaning, self.time, self.body).record(self.source, self.number)


class OpenStream:
    """A stream that is open: what builds its blocks, and the line that is held back of it."""

    __slots__ = ("_assembler", "closed", "held", "key", "latest")

    def __init__(self, key: StreamKey) -> None:
        self.key = key
        self.latest = 0
        """Reading order of its last line."""
        self.closed = False
        self.held: Held | None = None
        """While there is one, the assembler has no open block."""
        self._assembler = Assembler()

    def feed(self, record: LogRecord, order: int) -> list[Block]:
        """Takes the next line; returns the blocks that it completed."""
        if self.held is not None:
            self._let_in()
        self.latest = order
        return self._assembler.feed(record, order)

    def hold(self, held: Held, shapes: Shapes) -> Sequence[Block] | None:
        """Takes the next line, if it begins a block; returns the block before it unless that was only counted.

        None when it may go on with the line before it: then nothing was done, and the line belongs into `feed`. So do
        those that `may_take` tells.
        """
        before = self.held
        done: Sequence[Block] = ()
        if before is None:
            done = self._assembler.close()
        else:
            if held.time == before.time and not _is_another(held, before):
                return None
            shape, version, order, body = before.shape, before.version, before.order, before.body
            if version == shapes.version and shapes.marks_nothing(shape, body, order):
                shape.again(1, order)
            else:
                done = (new(Block, ((before.record(),), order, 0)),)
        self.held = held
        self.latest = held.order
        return done

    def may_take(self, meaning: Meaning, time: str | None, body: str) -> bool:
        """Whether a line may go on with the open block, where that is not held back."""
        return self.held is None and self._assembler.may_take(meaning.level, meaning.site, time, meaning.process, body)

    def close(self) -> list[Block]:
        """Returns what is still open."""
        self.closed = True
        if self.held is not None:
            self._let_in()
        return self._assembler.close()

    @property
    def unfinished(self) -> bool:
        """See `Assembler.unfinished`."""
        return self._assembler.unfinished

    def _let_in(self) -> None:
        """The line that was held back goes the long way after all."""
        held, self.held = self.held, None
        assert held is not None
        self._assembler.feed(held.record(), held.order)


class Lane:
    """Lines of one stream with one prefix, but for its time."""

    __slots__ = ("_shapes", "_version", "meaning", "stream", "streams_version")

    def __init__(self, meaning: Meaning, stream: OpenStream, streams_version: int) -> None:
        self.meaning = meaning
        self.stream = stream
        self.streams_version = streams_version
        """That of the streams when this was the stream of such lines."""
        self._version = -1
        self._shapes: dict[bytes, Shape] = {}

    def held(self, raw: RawLine, time: str | None, body: str, order: int, shapes: Shapes) -> Held | None:
        """The line to hold back, if blocks of its shape are only counted; `body` is neither empty nor indented."""
        level = self.meaning.level
        key = without_numbers(body, level)
        if self._version != shapes.version:
            self._version = shapes.version
            self._shapes.clear()
        shape = self._shapes.get(key)
        if shape is None:
            if len(key) > _LONGEST:
                return None
            shape = shapes.settled(raw.source, self.meaning.process, level, body, order)
            if shape is None:
                return None
            if len(self._shapes) >= _MOST_SHAPES:
                self._shapes.clear()
            self._shapes[key] = shape
        return new(Held, (self, shape, shapes.version, order, time, body, raw[1], raw[2]))


def _is_another(held: Held, before: Held) -> bool:
    """Whether a line of the same time as the one before it begins a record of its own; when unsure, False."""
    one, other = held.lane.meaning, before.lane.meaning
    if one.format != _JOINED:
        return True
    if (one.level, one.site, one.process) != (other.level, other.site, other.process):
        return True
    return zeroed(held.body) == zeroed(before.body)
