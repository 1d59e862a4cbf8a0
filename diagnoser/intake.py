"""The first half of the flow: raw lines of any number of sources in, blocks out.

Holds what is kept per source (its prefixes, its streams, its open blocks, the last time it printed), so that the
sources of a run can be taken in one after the other or side by side.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from diagnoser.envelopes import Known, Meaning, Peeler
from diagnoser.lanes import MOST_LANES, Lane, OpenStream
from diagnoser.model import LogRecord, Process, RawLine
from diagnoser.own_reports import OwnReports
from diagnoser.parsers import Block
from diagnoser.peers import own_host
from diagnoser.repeats import Shapes
from diagnoser.streams import StreamKey, Streams

MAX_STREAMS = 512
"""Streams kept open at once; the one that was silent longest is closed when there are more."""

_INDENTED = " \t"
"""What lines within a record begin with, and (as all texts hold it) nothing: an empty line."""

Accepts = Callable[[LogRecord, str | None], bool]
"""Whether a record is wanted, given the last time that its source printed."""


class Counted(Protocol):
    """What a report tells of an input: a `Source`, or a live stream."""

    name: str
    notes: list[str]
    bytes: int

    @property
    def lines_read(self) -> int:
        """Physical lines that were looked at."""

    @property
    def lines_skipped(self) -> int | None:
        """Healthy lines that were not; None when they were not counted."""

    @property
    def lines_cut(self) -> int:
        """Lines that were too long to be kept whole."""

    @property
    def undecodable_bytes(self) -> int:
        """Bytes that were no text."""


class _Place:
    """What is kept of one source while it is read."""

    __slots__ = ("before", "hosts", "lanes", "peeler", "process", "time")

    def __init__(self) -> None:
        self.peeler: Peeler | None = None
        """None once the source has ended: of thousands of files only little is kept."""
        self.time: str | None = None
        """The last time that it printed."""
        self.before: str | None = None
        """The same before its newest line, which completes what stands above it."""
        self.hosts: set[str] = set()
        """Hosts that it says it is from."""
        self.process: Process | None = None
        """The writer of its newest line."""
        self.lanes: dict[int, Lane] = {}
        """By the identity of what a prefix means."""


class Intake:
    """Feed lines, take blocks. `aside` gets the records that `accepts` refuses.

    Blocks of one record whose shape is settled in `shapes` are not given but counted there.
    """

    def __init__(
        self, shapes: Shapes, accepts: Accepts | None = None, aside: Callable[[LogRecord], object] | None = None
    ) -> None:
        self.order = 0
        """Reading order of the last record."""
        self._accepts = accepts
        self._aside = aside
        self._shapes = shapes
        self._streams = Streams()
        self._open_streams: OrderedDict[StreamKey, OpenStream] = OrderedDict()
        """Open streams, the longest silent first (a plain dict would look for its first key among the deleted)."""
        self._last: StreamKey | None = None
        self._places: dict[str, _Place] = {}
        self._formats: dict[str, Counter[str]] = {}
        self._own = OwnReports()
        self._cut_short = 0

    def feed(self, raw: RawLine, process: Process | None = None) -> Sequence[Block]:
        """Takes the next line of a source; `process` is what the source's path tells about the writer."""
        place = self._places.get(raw[1])
        if place is None or place.peeler is None:
            place = self._open(raw[1], process)
        found = place.peeler.look(raw)  # type: ignore[union-attr]  # opened above
        if not isinstance(found, list):
            if found[2][:1] not in _INDENTED and (counted := self._held(found, place, raw)) is not None:
                return counted
            found = [found.record(raw[1], raw[2])]
        done: list[Block] = []
        for record in found:
            if record[5] is not None or record[6] is not None:  # its level or its site: no part of a report
                self._record(record, place, done)
            else:
                for kept in self._own.feed(record):
                    self._record(kept, place, done)
        return done

    def end_source(self, name: str) -> list[Block]:
        """Says that a source has ended: gives what was held back of it."""
        done: list[Block] = []
        place = self._places.get(name)
        if place is not None and place.peeler is not None:
            peeler, place.peeler = place.peeler, None
            place.lanes.clear()
            for record in (*peeler.close(), *self._own.close(name)):
                self._record(record, place, done)
        for key in [key for key in self._open_streams if key.source == name]:
            done += self._close(key)
        return done

    def flush(self, quiet: int | None = None, unfinished: int | None = None) -> Iterator[Block]:
        """Closes open blocks, for a source that has gone quiet.

        With `quiet`, only those without a record after that reading order, and of those that look as if they go on
        (a traceback whose exception has not come) only those without one after `unfinished`.
        """
        done: list[Block] = []
        for source in self._own.waiting:
            for record in self._own.close(source):
                self._record(record, self._places[source], done)
        yield from done
        for key in list(self._open_streams):
            if quiet is not None:
                limit = unfinished if unfinished is not None and self._open_streams[key].unfinished else quiet
                if self._open_streams[key].latest > limit:
                    continue
            yield from self._close(key)

    @property
    def notes(self) -> list[str]:
        """What was left out."""
        crowd = f"More than {MAX_STREAMS} processes wrote at the same time; tracebacks that were taken for ended: "
        return [*self._own.notes(), *([f"{crowd}{self._cut_short}."] if self._cut_short else [])]

    @property
    def formats(self) -> dict[str, tuple[str, ...]]:
        """Names of the line formats met in each source."""
        return {name: tuple(sorted(found)) for name, found in self._formats.items()}

    @property
    def hosts(self) -> dict[str, set[str]]:
        """Hosts that each source says it is from."""
        return {name: place.hosts for name, place in self._places.items() if place.hosts}

    def time_before(self, source: str) -> str:
        """The last time that a source printed above its newest line; of its first line, that line's own."""
        place = self._places.get(source)
        return "" if place is None else place.before or place.time or ""

    def _open(self, name: str, process: Process | None) -> _Place:
        place = self._places.setdefault(name, _Place())
        peeler = place.peeler = Peeler(process) if process is not None else Peeler()
        peeler.formats = self._formats.setdefault(name, peeler.formats)
        return place

    def _record(self, record: LogRecord, place: _Place, done: list[Block]) -> None:
        self.order += 1
        place.before = place.time
        if record.time is not None:
            place.time = record.time
        if record.process is not place.process:
            process = place.process = record.process
            if process.host is not None:
                place.hosts.add(process.host)
            if process.pod is not None:
                place.hosts.add(process.pod)
        if (host := own_host(record.body)) is not None:
            place.hosts.add(host)
        if self._accepts is not None and not self._accepts(record, place.time):
            if self._aside is not None:
                self._aside(record)
            return
        key = self._streams.feed(record)
        stream = self._open_streams.get(key)
        if stream is not None:
            if self._last is not key:
                self._open_streams.move_to_end(key)
            done += stream.feed(record, self.order)
        else:
            stream = self._open_streams[key] = OpenStream(key)
            done += stream.feed(record, self.order)
            if len(self._open_streams) > MAX_STREAMS:
                oldest = next(iter(self._open_streams))
                self._cut_short += self._open_streams[oldest].unfinished
                done += self._close(oldest)
        self._last = key

    def _held(self, known: Known, place: _Place, raw: RawLine) -> Sequence[Block] | None:
        """Takes a line the short way, see `lanes`; returns the block that it completed. None: it must go the long way.

        Does all that `_record` does, for lines of which it is known what that is.
        """
        meaning, time, body = known
        lane = place.lanes.get(id(meaning))
        if lane is None or lane.stream.closed or lane.streams_version != self._streams.version:
            lane = self._lane(meaning, place, raw[1])
            if lane is None:
                return None
        if lane.stream.may_take(meaning, time, body):
            return None
        held = lane.held(raw, time, body, self.order + 1, self._shapes)
        if held is None or own_host(body) is not None:
            return None
        stream = lane.stream
        done = stream.hold(held, self._shapes)
        if done is None:
            return None
        self.order += 1
        place.before = place.time
        if time is not None:
            place.time = time
        place.process = meaning.process
        if self._last is not stream.key:
            self._open_streams.move_to_end(stream.key)
            self._last = stream.key
        return done

    def _lane(self, meaning: Meaning, place: _Place, source: str) -> Lane | None:
        """A lane for lines with this prefix, if it is known which stream they belong to."""
        if self._accepts is not None:
            return None
        key = self._streams.usual(meaning.process, source, meaning.format, meaning.level)
        stream = self._open_streams.get(key) if key is not None else None
        if stream is None:
            return None
        if len(place.lanes) >= MOST_LANES:
            place.lanes.clear()
        lane = place.lanes[id(meaning)] = Lane(meaning, stream, self._streams.version)
        return lane

    def _close(self, key: StreamKey) -> list[Block]:
        return self._open_streams.pop(key).close()
