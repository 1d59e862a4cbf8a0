"""Remembers what prefixes meant, so that the next line with the same one needs no pattern.

A log repeats its prefixes: every line of a traceback carries that of its record. Looking one up costs a tenth of
parsing it.
"""

from typing import NamedTuple

from diagnoser.model import LogRecord, Process

_REMEMBERED = 4096
"""Prefixes that are remembered at most; then all are forgotten."""
_REACH = 400
"""Characters in which a remembered prefix must end."""
_RECORD_FORMATS = ("vllm", "sglang")
"""Formats whose prefix ends in `] ` and comes back: glog's holds microseconds and never does."""
_NOT_INDENTED_TEXT = frozenset('|+>[^`<"&0123456789{(')
"""After two blanks these may begin an envelope or a margin; anything else is indented text."""

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
        self._writers: dict[str, Meaning] = {}

    def forget(self, plain: Process) -> None:
        """Start anew with another writer of plain lines."""
        self._plain = plain
        self._records.clear()
        self._writers.clear()

    def recall(self, text: str, source: str, number: int) -> LogRecord | None:
        """The record of a line that begins like one before, or is plain indented text; None for any other line."""
        cut = text.find("] ", 0, _REACH) + 2
        if cut > 1:
            head = text[:cut]
            known = self._records.get(head)
            if known is None and head in self._records:
                cut = text.find("] ", cut, _REACH) + 2
                known = self._records.get(text[:cut])
            if known is not None:
                body = text[cut:]
                if not is_clean(body):
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
        if not body.startswith("  ") or body[2:3] in _NOT_INDENTED_TEXT or not is_clean(body):
            return None
        return _new(LogRecord, (body, source, number, process, None, level, None, name, 1, True, outer))

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
        if blanks <= 0 or blank not in (0, 1) or not record.prefixed or len(head) > _REACH:
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
        self._records[head] = Meaning(
            record.process, record.time, record.level, record.site, record.format, record.outer
        )
        return True


def is_clean(text: str) -> bool:
    """True when no repair and no unfolding can apply: decided by what the text does not hold."""
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
    )
