"""Remembers what prefixes meant, so that the next line with the same one needs no pattern.

A log repeats its prefixes: every line of a traceback carries that of its record. Looking one up costs a tenth of
parsing it.
"""


from diagnoser.digits import zeroed
from diagnoser.lazy import lazy
from diagnoser.model import LogRecord, Process
from diagnoser.records import NamedTuple, new

_REMEMBERED = 4096
"""Prefixes that are remembered at most; then all are forgotten."""
_REACH = 400
"""Characters in which a remembered prefix must end."""
_TIMED = {
    "vllm": lazy(r"((?:\d{4}-)?\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d{1,6})?)"),
    "sglang": lazy(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d{1,6})?)"),
    "glog": lazy(r"(?<=[DIWEF])((?:\d{4})?\d{4} \d\d:\d\d:\d{2,10}(?:\.\d{1,9})?) +\d{1,20}(?= )"),
}
"""Formats whose prefix ends in `] ` and means the same at any time, with what may differ: glog's thread id too."""
_UNTIMED = "nccl"
"""A format whose prefix ends in `] ` and has no time; the level is a word of the text behind it."""
_CALM_TEXT = "NCCL INFO "
_BRACKETED = "sglang"
_LEVELS = ("DEBUG ", "INFO ", "WARNING ", "ERROR ", "CRITICAL ")
_PADDED = "uvicorn"
"""A format whose level is padded with blanks to a fixed width, and whose text holds no further prefix."""
_NOT_INDENTED_TEXT = frozenset('|+>[^`<"&0123456789{(')
"""After two blanks these may begin an envelope or a margin; anything else is indented text."""
_QUOTED_HEADS = ("{", "[", '"', "'", "data: ", "Prompt: ")
"""What a prompt or an answer begins with, see `_quotation`."""

_BLANKS = " " * 10



class Meaning(NamedTuple):
    """What a prefix says at any time; the same object as long as it is remembered."""

    process: Process
    level: str | None
    site: str | None
    format: str
    outer: tuple[Process, ...]
    prefixed: bool = True
    blank: int = 0
    """Blanks after the remembered text that belong to the prefix."""


class Known(NamedTuple):
    """What a line says that begins like one before."""

    meaning: Meaning
    time: str | None
    body: str

    def record(self, source: str, number: int) -> LogRecord:
        """The line's record."""
        (process, level, site, name, outer, prefixed, _), time, body = self
        return new(LogRecord, (body, source, number, process, time, level, site, name, 1, prefixed, outer))


class _Layout(NamedTuple):
    """Where the time stands in prefixes that are equal but for their digits; `end` is that of all that may differ."""

    start: int
    time_end: int
    end: int


class Memory:
    """The prefixes of one source."""

    def __init__(self, plain: Process) -> None:
        """`plain` is the writer of a line without any prefix."""
        self._plain = _plain(plain)
        self._records: dict[str, tuple[Meaning, str | None] | None] = {}
        """Meaning and time; None where the prefix does not end at its first bracket."""
        self._layouts: dict[bytes, _Layout] = {}
        """By the prefix with zeros for digits."""
        self._timed: dict[tuple[str, str], Meaning] = {}
        """By what stands before and behind that which may differ."""
        self._writers: dict[str, Meaning] = {}

    def forget(self, plain: Process) -> None:
        """Start anew with another writer of plain lines."""
        self._plain = _plain(plain)
        self._records.clear()
        self._layouts.clear()
        self._timed.clear()
        self._writers.clear()

    def recall(self, text: str) -> Known | None:
        """What a line says that begins like one before, or is plain indented text; None for any other line."""
        cut = text.find("] ", 0, _REACH) + 2
        if cut > 1:
            head = text[:cut]
            known = self._records.get(head)
            if known is None and head in self._records:
                cut = text.find("] ", cut, _REACH) + 2
                head = text[:cut]
                known = self._records.get(head)
            if known is None and self._layouts:
                known = self._at_another_time(head)
            if known is not None:
                body = text[cut:]
                if head in body or not is_clean(body):  # several records on one line, see `split_collapsed`
                    return None
                meaning, time = known
                if meaning.format == _UNTIMED and not body.startswith(_CALM_TEXT):
                    return None
                if meaning.format == _BRACKETED and body.startswith(_LEVELS):  # before these it is vLLM's custom prefix
                    return None
                return new(Known, (meaning, time, body))
        blanks = text.find("  ", 0, _REACH)
        if blanks < 0:
            return None
        if blanks == 0:
            if text[2:3] in _NOT_INDENTED_TEXT or ".py:" in text or not is_clean(text):
                return None
            if text.lstrip(" ")[:1].isdigit():  # it may be a line number
                return None
            return new(Known, (self._plain, None, text))
        written = self._writers.get(text[:blanks])
        if written is None:
            return None
        blank = written.blank
        body = text[blanks + blank :]
        if written.format == _PADDED:
            if text.find(_BLANKS[:blank], blanks, blanks + blank) < 0 or not is_clean(body):
                return None
        elif not body.startswith("  ") or body[2:3] in _NOT_INDENTED_TEXT or not is_clean(body):
            return None
        return new(Known, (written, None, body))

    def _at_another_time(self, head: str) -> tuple[Meaning, str | None] | None:
        """What a prefix means that came before, but with another time in it; noted for the lines that follow."""
        layout = self._layouts.get(zeroed(head))
        if layout is None:
            return None
        start, time_end, end = layout
        meaning = self._timed.get((head[:start], head[end:]))
        if meaning is None:
            return None
        known = meaning, head[start:time_end]
        if end == time_end:
            if len(self._records) > _REMEMBERED:
                self._records.clear()
            self._records[head] = known
        return known

    def remember(self, text: str, record: LogRecord) -> bool:
        """Note what the prefix of the text means; False when it is none that can come back."""
        body = record.body
        if not body or not text.endswith(body):
            return False
        head = text[: len(text) - len(body)]
        if record.site is not None or record.time is not None:
            return self._remember_record(head, text, record)
        if record.format == _UNTIMED:
            return self._remember_untimed(head, record)
        blanks = text.find("  ", 0, _REACH)
        blank = len(head) - blanks
        if blanks <= 0 or not record.prefixed or len(head) > _REACH:
            return False
        if blank not in (0, 1) and (record.format != _PADDED or head[blanks:] != _BLANKS[:blank]):
            return False
        if len(self._writers) > _REMEMBERED:
            self._writers.clear()
        self._writers[text[:blanks]] = _meaning(record)._replace(blank=blank)
        return True

    def _remember_record(self, head: str, text: str, record: LogRecord) -> bool:
        if not head.endswith("] ") or len(head) > _REACH:
            return False
        pattern = _TIMED.get(record.format)
        if pattern is None:
            return False
        if len(self._records) > _REMEMBERED:
            self._records.clear()
        first = text.find("] ", 0, _REACH) + 2
        if first < len(head):
            # Another bracket comes first: note that the search goes on behind it.
            if head.find("] ", first) + 2 != len(head) or self._records.get(head[:first]) is not None:
                return False
            self._records[head[:first]] = None
        meaning = _meaning(record)
        time = pattern.search(head)
        if time is None and record.format == "glog":  # in brackets, where it may also be a custom prefix of vLLM
            return False
        if time is not None and time.group(1) == record.time:
            if len(self._timed) > _REMEMBERED:
                self._layouts.clear()
                self._timed.clear()
            self._layouts[zeroed(head)] = _Layout(time.start(), time.end(1), time.end())
            key = head[: time.start()], head[time.end() :]
            if self._timed.get(key) == meaning:
                meaning = self._timed[key]
            self._timed[key] = meaning
            if time.end() != time.end(1):  # it never comes again as it is
                return True
        self._records[head] = meaning, record.time
        return True

    def _remember_untimed(self, head: str, record: LogRecord) -> bool:
        if not head.endswith("] ") or not record.body.startswith(_CALM_TEXT) or head.find("] ") + 2 != len(head):
            return False
        if len(self._records) > _REMEMBERED:
            self._records.clear()
        self._records[head] = _meaning(record), None
        return True


def _meaning(record: LogRecord) -> Meaning:
    return Meaning(record.process, record.level, record.site, record.format, record.outer)


def _plain(process: Process) -> Meaning:
    return Meaning(process, None, None, "plain", (), prefixed=False)


def is_clean(text: str) -> bool:
    """True when no repair and no unfolding can apply, and it quotes nobody: decided by what the text does not hold."""
    return (
        text.isascii()
        and "\x1b" not in text
        and "\r" not in text
        and "&" not in text
        and "Traceback" not in text
        and ("\\" not in text or "\\n" not in text)  # one character is found sooner than two
        and ("[" not in text or not ("[0m" in text or "[39m" in text or "[repeated " in text))
        and ("*" not in text or not (".**" in text or text.endswith("**")))
        and ('"' not in text or '": "' not in text)
        and not text.endswith((", in init", "^M"))
        and not text.lstrip(" \t").startswith(_QUOTED_HEADS)
    )
