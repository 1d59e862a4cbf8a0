"""Gives each record to the stream of the process that wrote it.

A stream is what one process wrote through one channel: its log records (`log`) or its bare text (`raw`, for
example a traceback that Python printed on the way out). Two tracebacks that are interleaved line by line come
apart here. A line without any prefix continues the record before it where that record's format does not
repeat its prefix (uvicorn, SGLang, Python's own logging); otherwise it goes to the bare text of its source.
"""


from diagnoser.model import LogRecord, Process
from diagnoser.records import NamedTuple

_REPEATING = frozenset({"vllm", "json"})
"""Formats that put their prefix on every line of a record, so that a bare line can't continue one."""
_NATIVE = frozenset({"glog", "nccl", "kernel"})
"""Formats of native code, whose records have one line."""
_LONE = _REPEATING | _NATIVE
"""Formats whose records no bare line continues."""
_HEADED = frozenset({"sglang"})
"""Formats that name the writer, but no level, and only on the first line of a record."""
_MOST_USUAL = 2_048
_CALM = frozenset({"DEBUG", "INFO", "TRACE"})
_TRACEBACK = "Traceback (most recent call last)"


class StreamKey(NamedTuple):
    """Names one stream; equal for two lines that the same process wrote through the same channel."""

    source: str
    writer: object
    channel: str


class Streams:
    """Stateful: one instance for all sources of a run."""

    def __init__(self) -> None:
        self.version = 0
        """Changes whenever `usual` may no longer give what it gave before."""

        self._continues: dict[object, StreamKey | None] = {}
        """The stream that a line without a level continues, by place and, where it is named, by writer."""

        self._headed: dict[object, StreamKey] = {}
        """The same for formats that name the writer on the first line of a record only."""

        self._usual: dict[tuple[int, str, str], tuple[Process, StreamKey]] = {}
        """Keys of records with a level that change nothing here, by the identity of the writer: most lines of a log."""

    def feed(self, record: LogRecord) -> StreamKey:
        """The stream that the record belongs to."""
        process, level = record.process, record.level
        if level is not None:
            known = self._usual.get((id(process), record.source, record.format))
            if known is not None and known[0] is process and not self._opens(record):
                return known[1]
        place = (record.source, process.pod, process.container)
        writer = _writer(process)
        if level is None and record.site is None:
            if writer is None:
                return self._continues.get(place) or self._headed.get(place) or StreamKey(place[0], place[1:], "bare")
            key = StreamKey(record.source, (place[1:], writer), "raw")
            if record.format in _HEADED:
                self._headed.pop(place, None)
                if _TRACEBACK in record.body:
                    self._headed[place] = key
                return key
            return self._continues.get((place, writer)) or key
        key = StreamKey(record.source, (place[1:], writer or record.format), "log")
        if self._opens(record):
            self._continues[place] = self._continues[place, writer] = key
            self._usual.clear()
            self.version += 1
            return key
        if record.format not in _LONE:
            self._continues[place] = self._continues[place, writer] = None
        elif writer is not None:
            self._continues.pop((place, writer), None)
        if level is not None:
            if len(self._usual) >= _MOST_USUAL:
                self._usual.clear()
            self._usual[id(process), record.source, record.format] = process, key
        return key

    def usual(self, process: Process, source: str, form: str, level: str | None) -> StreamKey | None:
        """The stream of records of this very process, format and level without a traceback; None where it is not known
        that they change nothing here."""
        known = self._usual.get((id(process), source, form))
        if known is None or known[0] is not process or (form not in _LONE and level not in _CALM):
            return None
        return known[1]

    @staticmethod
    def _opens(record: LogRecord) -> bool:
        """Whether bare lines may continue the record."""
        return record.format not in _LONE and (record.level not in _CALM or _TRACEBACK in record.body)


def _writer(process: Process) -> object | None:
    if process.pid is not None:
        return (process.host, process.pid)
    if process.name or process.role or process.ranks:
        return (process.host, process.name or process.role, process.ranks)
    return None
