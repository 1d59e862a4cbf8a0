"""What is known so far of a deployment whose logs are still being written.

A pipeline that is fed as the bytes come, and the streams that feed it. Failures are kept until there are too many;
then what the log told of the deployment stays and the failures are forgotten, so that weeks of output cost no memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from diagnoser.model import Process, RawLine, Report
from diagnoser.sources.pushing import PushReader

if TYPE_CHECKING:
    from diagnoser.catalogue import Catalogue
    from diagnoser.pipeline import Analysis, Pipeline

MAX_KEPT = 1_000
"""Different failures that are kept at once."""
MAX_WAITING = 20_000
"""Lines that may wait until the catalogue is loaded."""


class Session:
    """Feed it the bytes of streams, by name; ask for the analysis at any time.

    The catalogue is loaded when there is time, so that a command that prints much at once is not lost sight of.
    """

    def __init__(self, load: Callable[[], Catalogue], *, skip: bool = True) -> None:
        self.streams: dict[str, PushReader] = {}
        self._load = load
        self._pipeline: Pipeline | None = None
        self._waiting: list[tuple[RawLine | str, Process | None]] = []
        self._processes: dict[str, Process | None] = {}
        self._skip = skip

    @property
    def pipeline(self) -> Pipeline:
        """What the lines go to; loads the catalogue when it is asked for first."""
        if self._pipeline is None:
            from diagnoser.pipeline import Pipeline

            self._pipeline = Pipeline(self._load(), arrival=True)
            waiting, self._waiting = self._waiting, []
            for item, process in waiting:
                if isinstance(item, str):
                    self._pipeline.end_source(item)
                else:
                    self._pipeline.feed(item, process)
        return self._pipeline

    def prepare(self) -> None:
        """Loads the catalogue now, because there is time."""
        _ = self.pipeline

    def stream(self, name: str, process: Process | None = None) -> PushReader:
        """The stream of that name, opened when it is asked for first; `process` is its writer, where that is known."""
        if name not in self.streams:
            self.streams[name] = PushReader(name, skip=self._skip)
            self._processes[name] = process
        return self.streams[name]

    def feed(self, name: str, data: bytes | memoryview) -> None:
        """The next bytes of a stream."""
        self._lines(name, self.stream(name).feed(data))

    def take(self, name: str, size: int, read_into: Callable[[memoryview], int]) -> None:
        """The next `size` bytes of a stream, read straight to where they are searched."""
        stream = self.stream(name)
        while size:
            room = stream.room()
            read = read_into(room[:size])
            if not read:
                return
            self._lines(name, stream.advance(read))
            size -= read

    def gap(self, name: str, size: int, newlines: int) -> None:
        """Bytes of a stream that are left out."""
        stream = self.stream(name)
        self._lines(name, stream.gap(size, newlines))
        self._end(name)

    def say(self, name: str, lines: Iterable[str], process: Process | None = None) -> None:
        """Lines that the command did not print."""
        text = "".join(f"{line}\n" for line in lines)
        if text:
            self.stream(name, process)
            self.feed(name, text.encode("utf-8", "replace"))

    def restart(self, name: str) -> None:
        """The stream begins anew: its file was rotated or truncated."""
        if name not in self.streams:
            return
        self._lines(name, self.streams[name].close())
        self._end(name)
        self.streams[name] = PushReader(name, skip=self._skip)
        self.streams[name].notes.append("the file was rotated or truncated while it was followed")

    def end(self, name: str, *, tail: bool = False) -> None:
        """The end of a stream; with `tail` its last lines are read even if nothing in them looks like a failure."""
        stream = self.stream(name)
        self._lines(name, stream.close(tail=tail))
        self._end(name)
        if stream.left_out:
            lag = "the analysis lagged behind the output, of which it left out"
            stream.notes.append(f"{lag} {stream.left_out} of {stream.bytes} bytes")

    def report(self, analysis: Analysis, *, runbook_url: str | None = None, notes: Sequence[str] = ()) -> Report:
        """The report of an analysis."""
        from diagnoser.pipeline import report_of

        streams = list(self.streams.values())
        return report_of(analysis, streams, self.pipeline.catalogue, runbook_url=runbook_url, notes=notes)

    def _end(self, name: str) -> None:
        if self._pipeline is None:
            self._waiting.append((name, None))
        else:
            self._pipeline.end_source(name)

    def _lines(self, name: str, lines: Iterable[RawLine]) -> None:
        process = self._processes[name]
        if self._pipeline is None:
            self._waiting += [(line, process) for line in lines]
            if len(self._waiting) < MAX_WAITING:
                return
            lines = ()
        pipeline = self.pipeline
        for line in lines:
            pipeline.feed(line, process)
        if pipeline.kept > MAX_KEPT:
            pipeline.forget()
