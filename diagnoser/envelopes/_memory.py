"""Remembers what prefixes meant, so that the next line with the same one needs no pattern.

A log repeats its prefixes: every line of a traceback carries that of its record. Looking one up costs a tenth of
parsing it.
"""

from typing import NamedTuple

from diagnoser.lazy import lazy
from diagnoser.model import LogRecord, Process

_REMEMBERED = 4096
"""Prefixes that are remembered at most; then all are forgotten."""
_REACH = 400
"""Characters in which a remembered prefix must end."""
_RECORD_FORMATS = ("vllm", "sglang")
"""Formats whose prefix ends in `] ` and comes back: glog's holds microseconds and never does."""
_TIMED = "vllm"
"""A format whose prefix means the same at any time: process and level stand before it, the site behind it."""
_TIME = lazy(r"(?:\d{4}-)?\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d{1,6})?")
_PADDED = "uvicorn"
"""A format whose level is padded with blanks to a fixed width, and whose text holds no further prefix."""
_NOT_INDENTED_TEXT = frozenset('|+>[^`<"&0123456789{(')
"""After two blanks these may begin an envelope or a margin; anything else is indented text."""
_QUOTED_HEADS = ("{", "[", '"', "'", "data: ", "Prompt: ")
"""What a prompt or an answer begins with, see `_quotation`."""

_BLANKS = " " * 10

_new = tuple.__new__


class Meaning(NamedTuple):
    """What a prefix says."""

    process: Process
    time: str | None
    level: str | None
    site: str | None
    format: str
    outer: tuple[Process, ...]
    blank: int = 0
    """Blanks after the remembered text that belong to the prefix."""


class Memory:
    """The prefixes of one source."""

    def __init__(self, plain: Process) -> None:
        """`plain` is the writer of a line without any prefix."""
        self._plain = plain
        self._records: dict[str, Meaning | None] = {}
        self._timed: dict[tuple[str, str], Meaning] = {}
        """By what stands before and behind the time."""
        self._writers: dict[str, Meaning] = {}

    def forget(self, plain: Process) -> None:
        """Start anew with another writer of plain lines."""
        self._plain = plain
        self._records.clear()
        self._timed.clear()
        self._writers.clear()

    def recall(self, text: str, source: str, number: int) -> LogRecord | None:
        """The record of a line that begins like one before, or is plain indented text; None for any other line."""
        cut = text.find("] ", 0, _REACH) + 2
        if cut > 1:
            head = text[:cut]
            known = self._records.get(head)
            if known is None and head in self._records:
                cut = text.find("] ", cut, _REACH) + 2
                head = text[:cut]
                known = self._records.get(head)
            if known is None and self._timed:
                known = self._at_another_time(head)
            if known is not None:
                body = text[cut:]
                if head in body or not is_clean(body):  # several records on one line, see `split_collapsed`
                    return None
                process, time, level, site, name, outer, _ = known
                return _new(LogRecord, (body, source, number, process, time, level, site, name, 1, True, outer))
        blanks = text.find("  ", 0, _REACH)
        if blanks < 0:
            return None
        if blanks == 0:
            if text[2:3] in _NOT_INDENTED_TEXT or ".py:" in text or not is_clean(text):
                return None
            return _new(LogRecord, (text, source, number, self._plain, None, None, None, "plain", 1, False, ()))
        written = self._writers.get(text[:blanks])
        if written is None:
            return None
        process, _, level, _, name, outer, blank = written
        body = text[blanks + blank :]
        if name == _PADDED:
            if text.find(_BLANKS[:blank], blanks, blanks + blank) < 0 or not is_clean(body):
                return None
        elif not body.startswith("  ") or body[2:3] in _NOT_INDENTED_TEXT or not is_clean(body):
            return None
        return _new(LogRecord, (body, source, number, process, None, level, None, name, 1, True, outer))

    def _at_another_time(self, head: str) -> Meaning | None:
        """What a prefix means that came before, but with another time in it; noted for the lines that follow."""
        time = _TIME.search(head)
        if time is None:
            return None
        known = self._timed.get((head[: time.start()], head[time.end() :]))
        if known is None:
            return None
        process, _, level, site, name, outer, blank = known
        if len(self._records) > _REMEMBERED:
            self._records.clear()
        found = self._records[head] = _new(Meaning, (process, time.group(), level, site, name, outer, blank))
        return found

    def remember(self, text: str, record: LogRecord) -> bool:
        """Note what the prefix of the text means; False when it is none that can come back."""
        body = record.body
        if not body or not text.endswith(body):
            return False
        head = text[: len(text) - len(body)]
        if record.site is not None or record.time is not None:
            return self._remember_record(head, text, record)
        blanks = text.find("  ", 0, _REACH)
        blank = len(head) - blanks
        if blanks <= 0 or not record.prefixed or len(head) > _REACH:
            return False
        if blank not in (0, 1) and (record.format != _PADDED or head[blanks:] != _BLANKS[:blank]):
            return False
        if len(self._writers) > _REMEMBERED:
            self._writers.clear()
        self._writers[text[:blanks]] = Meaning(
            record.process, None, record.level, None, record.format, record.outer, blank
        )
        return True

    def _remember_record(self, head: str, text: str, record: LogRecord) -> bool:
        if not head.endswith("] ") or record.format not in _RECORD_FORMATS or len(head) > _REACH:
            return False
        if len(self._records) > _REMEMBERED:
            self._records.clear()
        first = text.find("] ", 0, _REACH) + 2
        if first < len(head):
            # Another bracket comes first: note that the search goes on behind it.
            if head.find("] ", first) + 2 != len(head) or self._records.get(head[:first]) is not None:
                return False
            self._records[head[:first]] = None
        meaning = self._records[head] = Meaning(
            record.process, record.time, record.level, record.site, record.format, record.outer
        )
        time = _TIME.search(head) if record.format == _TIMED else None
        if time is not None and time.group() == record.time:
            if len(self._timed) > _REMEMBERED:
                self._timed.clear()
            self._timed[head[: time.start()], head[time.end() :]] = meaning
        return True


def is_clean(text: str) -> bool:
    """True when no repair and no unfolding can apply, and it quotes nobody: decided by what the text does not hold."""
    return (
        text.isascii()
        and "\x1b" not in text
        and "\r" not in text
        and "&" not in text
        and "Traceback" not in text
        and "\\n" not in text
        and "[0m" not in text
        and "[39m" not in text
        and "[repeated " not in text
        and ".**" not in text
        and '": "' not in text
        and not text.endswith((", in init", "**", "^M"))
        and not text.lstrip(" \t").startswith(_QUOTED_HEADS)
    )
