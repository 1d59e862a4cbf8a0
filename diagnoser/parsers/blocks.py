"""Joins the lines of one stream into blocks: one log record with all its lines, one traceback, one native dump.

Log records whose format repeats its prefix belong together while level, site and time stay the same. Bare text
has no such marks; there a small state machine follows the shape of tracebacks, so that a foreign line between
two frames does not end the traceback, and a line after the message does not become part of it.
"""


from diagnoser.digits import zeroed
from diagnoser.lazy import lazy
from diagnoser.model import LogRecord, Process
from diagnoser.parsers.frames import FRAME, IPYTHON_CELL, IPYTHON_FRAME
from diagnoser.parsers.lines import CAUSE_SENTENCE, CONTEXT_SENTENCE, EXCEPTION_LINE, HEADER, is_exception_line
from diagnoser.parsers.python import looks_like_traceback
from diagnoser.parsers.ray import RAY_HEADER
from diagnoser.parsers.shapes import Shape, dump_of
from diagnoser.records import NamedTuple, new

MAX_LINES = 20_000
"""Lines kept of one block: its first and its last halves stay when there are more."""
_MAX_LOOSE = 200
"""Unindented message lines that a bare traceback may take."""

_PROCESS_LINE = lazy(r"^Process (?P<name>[\w.:\- ]{1,80}):\s*$")
_SHAPE = lazy(r"\d+|'[^']*'|\"[^\"]*\"|0x[0-9a-f]+")
_OPEN_MESSAGE = lazy(
    r":\s*$|validation errors? for |CUDA error|HIP error|CUDA driver error|NCCL error|raised:\s*$|RuntimeError: \s*$"
    r"|^(?:AcceleratorError|torch\.\w*Error)|ncclUnhandled|DistBackendError|following operation failed"
    r"|died because|ray::|ACL stream|(?:OPS|HCCL|NPU) function error"
)
_MESSAGE_LINE = lazy(
    r"^(?:(?:CUDA|HIP) kernel errors might|For debugging consider passing|Compile with `TORCH_USE_\w+_DSA`"
    r"|Search for `cuda|Last error:|`ptxas` stderr:|ptxas (?:fatal|error|/\S+, line)|Repro command: "
    r"|nccl\w+: |Set TORCH|You can suppress this exception|Exception raised from |frame #\d+:"
    r"|C\+\+ CapturedTraceback|Device-side assert|The actor (?:is dead|died)|Worker exit type"
    r"|(?:Repository|Entry|Revision) Not Found|Access to model|Cannot access (?:gated|the)|If you are trying to access"
    r"|E[A-Z]\d{4}: |\[ERROR\] \d{4}-"
    r"|\(\w+ pid=\d+\)|The above exception was|During handling of the above|\[Original exception|Note: |Please )"
)
_NOT_A_TYPE = frozenset(
    {"INFO", "WARNING", "ERROR", "DEBUG", "CRITICAL", "FATAL", "NOTE", "TRACE", "WARN", "Note", "Warning"}
)


class Block(NamedTuple):
    """Consecutive lines of one stream that belong together; `order` is the first line's reading order."""

    records: tuple[LogRecord, ...]
    order: int
    cut: int = 0
    """Lines dropped from the middle."""




class Assembler:
    """Builds the blocks of one stream."""

    def __init__(self) -> None:
        self._records: list[LogRecord] = []
        self._order = 0
        self._cut = 0
        self._key: object = None
        self._shape: tuple[bytes, str] | None = None
        """The first line with zeros for digits, and with a mark for all that differs between records of a kind."""
        self._state = ""
        self._blanks: list[LogRecord] = []
        self._loose = 0
        self._adjacent = True
        """False for a line of unknown writer that other lines part from the block: it may be anybody's."""
        self._dump: Shape | None = None

    def feed(self, record: LogRecord, order: int) -> list[Block]:
        """Takes the next line; returns the blocks that it completed."""
        if record.level is not None or record.site is not None:
            return self._feed_record(record, order)
        return self._feed_text(record, order)

    def may_take(self, level: str | None, site: str | None, time: str | None, process: Process, body: str) -> bool:
        """Whether a line with these marks may go on with the open block; when unsure, True."""
        if self._key != (level, site, time, process):
            return False
        first = self._records[0].body
        return len(first) != len(body) or zeroed(first) != zeroed(body)

    @property
    def unfinished(self) -> bool:
        """True while the open block ends in the middle of a traceback, so that more of it is to be expected."""
        if self._state not in ("frames", "chain", "process", "group"):
            return False
        last = self._records[-1].body
        return last.startswith((" ", "\t")) or HEADER in last or self._state in ("chain", "process")

    def close(self) -> list[Block]:
        """Returns what is still open."""
        return self._flush()

    def _feed_record(self, record: LogRecord, order: int) -> list[Block]:
        key = (record.level, record.site, record.time, record.process)
        if key == self._key and self._same_record(record) and not self._repeats(record.body):
            self._add(record)
            done = []
        else:
            done = self._start(record, order, key)
        if HEADER in record.body:
            self._state = "frames"
        return done

    def _same_record(self, record: LogRecord) -> bool:
        """True for formats that repeat their prefix on each line, so that equal prefixes mean one record."""
        return record.format == "vllm" or (record.format == "json" and record.line == self._records[-1].line)

    def _repeats(self, body: str) -> bool:
        """True when the line opens the same kind of record again (a flood of one message)."""
        if not body.strip() or body[0] in " \t" or HEADER in body[:40]:
            return False
        if self._shape is None:
            first = self._records[0].body
            self._shape = zeroed(first), _SHAPE.sub("#", first)
        return zeroed(body) == self._shape[0] or _SHAPE.sub("#", body) == self._shape[1]

    def _feed_text(self, record: LogRecord, order: int) -> list[Block]:
        body = record.body
        self._adjacent = bool(self._records) and (record.process.known or record.line <= self._records[-1].line + 1)
        if self._records and self._takes(body):
            self._records.extend(self._blanks)
            self._blanks = []
            self._add(record)
            return []
        if self._records and not body.strip():
            if len(self._blanks) < 3 and (self._state in ("after", "chain", "frames", "process") or self._introduces()):
                self._blanks.append(record)
                return []
            return self._flush()
        if self._state == "frames" and not self._opens(body):
            return [Block((record,), order)]
        if not body.strip():
            return self._flush()
        done = self._start(record, order)
        self._enter(body)
        if not self._state:
            done.extend(self._flush())
        return done

    def _introduces(self) -> bool:
        """True while the block is a record that a traceback may follow."""
        return self._key is not None and not self._state

    def _opens(self, body: str) -> bool:
        return looks_like_traceback(body) or bool(_PROCESS_LINE.match(body)) or dump_of(body) is not None

    def _enter(self, body: str) -> None:
        """Sets the state for a block that starts with this bare line."""
        if looks_like_traceback(body) or FRAME.match(body):
            self._state = "frames"
        elif _PROCESS_LINE.match(body):
            self._state = "process"
        elif is_exception_line(body.strip()):
            self._after(body)
        else:
            self._dump = dump_of(body)
            self._state = "native" if self._dump else ""

    def _after(self, body: str) -> None:
        self._state = "after"
        self._loose = _MAX_LOOSE if _OPEN_MESSAGE.search(body) else 0

    def _takes(self, body: str) -> bool:
        """True when the open block goes on with this bare line; moves the state on."""
        state = self._state
        if state == "native":
            again = not self._adjacent and dump_of(body) is not None
            return self._dump is not None and self._dump.takes(body) and not again
        if not body.strip():
            return False
        if HEADER in body:
            if state in ("chain", "process", "group") or FRAME.match(body) or body[:1] in " |+":
                self._state = "group" if "Exception Group" in body else "frames"
                return True
            if self._key is not None and not self._state:
                self._state = "frames"
                return True
            return False
        if state == "group" or (state == "frames" and body.lstrip().startswith(("| ", "+-", "+ "))):
            self._state = "group"
            return body[:1] in " |+"
        if CAUSE_SENTENCE in body or CONTEXT_SENTENCE in body:
            self._state = "chain"
            return state in ("after", "frames")
        if state == "frames":
            return self._takes_frame(body)
        if state == "after":
            return self._takes_message(body)
        return state == "" and self._key is not None and body[:1] in " \t"

    def _takes_frame(self, body: str) -> bool:
        if body[:1] in " \t" or FRAME.match(body) or body.startswith(("~", "^", "-->", "---")):
            return True
        last = self._records[-1].body
        if FRAME.match(last) and not last[:1].isspace():
            return True
        if IPYTHON_FRAME.match(body) or IPYTHON_CELL.match(body):
            return True
        found = EXCEPTION_LINE.match(body)
        if found and self._frames_seen() and _plausible(found["type"], found["message"]):
            self._after(body)
            return True
        return bool(RAY_HEADER.match(body))

    def _frames_seen(self) -> bool:
        bodies = [record.body for record in self._records[-8:]]
        return any(FRAME.match(body) or body[:1] in " \t" or IPYTHON_CELL.match(body) for body in bodies)

    def _takes_message(self, body: str) -> bool:
        if body[:1] in " \t" and (not self._blanks or self._loose):
            return not (self._blanks and FRAME.match(body))
        if _MESSAGE_LINE.match(body):
            return True
        if self._blanks and not self._loose:
            return False
        if (
            self._loose
            and self._adjacent
            and not self._blanks
            and not _PROCESS_LINE.match(body)
            and dump_of(body) is None
        ):
            self._loose -= 1
            return not body.startswith(("[rank", "Traceback"))
        return False

    def _start(self, record: LogRecord, order: int, key: object = None) -> list[Block]:
        """Closes the open block, which is returned, and opens one with this record."""
        done = self._flush()
        self._records, self._order, self._key = [record], order, key
        return done

    def _add(self, record: LogRecord) -> None:
        self._records.append(record)
        if len(self._records) > 2 * MAX_LINES:
            del self._records[MAX_LINES // 2 : -MAX_LINES // 2]
            self._cut += MAX_LINES

    def _flush(self) -> list[Block]:
        self._blanks = []
        if not self._records:
            return []
        done = [new(Block, (tuple(self._records), self._order, self._cut))]
        self._records, self._cut, self._key, self._shape, self._state, self._dump = [], 0, None, None, "", None
        return done


def _plausible(name: str, message: str | None) -> bool:
    short = name.split("(", 1)[0].rsplit(".", 1)[-1]
    if short in _NOT_A_TYPE:
        return False
    if short.endswith(("Error", "Exception")):
        return True
    return "." in name or short[:1].isupper() or (short[:1].islower() and message is None) or short[:1] == "_"
