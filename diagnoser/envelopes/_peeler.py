"""Takes the envelopes off the lines of one source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from diagnoser.envelopes._base import Envelope, Peeling
from diagnoser.envelopes._claims import Claims
from diagnoser.envelopes._discovery import compiled
from diagnoser.envelopes._glue import split_collapsed, split_glued
from diagnoser.envelopes._memory import Known, Memory
from diagnoser.envelopes._pieces import Pieces
from diagnoser.envelopes._quotation import is_quotation
from diagnoser.envelopes._repair import Repair, strip_ansi
from diagnoser.envelopes._unfold import unfold
from diagnoser.envelopes._wraps import Wraps
from diagnoser.lazy import lazy
from diagnoser.model import UNKNOWN_PROCESS, LogRecord, Process, RawLine

_DEPTH = 12
"""More prefixes than this are not taken off one line."""
_REDRAWN = 64
"""Of a line that was redrawn with carriage returns (a progress bar), only so many last states are read."""
_MARGINS = frozenset(" \t>")
"""What a quoted or indented paste begins with; such a line must reach the repair every time."""
_REPEATS = lazy(
    r" \[repeated (\d{1,9})x across (?:cluster|all nodes)\](?: \(Ray deduplicates logs[^\n]{0,400}\))?\s{0,8}\Z"
)
_Writers = tuple[Process, tuple[Process, ...]]


class Peeler:
    """Takes every prefix off the lines of one source; keeps pieces of cut lines until their end comes."""

    def __init__(self, process: Process = UNKNOWN_PROCESS) -> None:
        """`process` is what the source's name already tells about the writer (its pod, its rank)."""
        self.formats: Counter[str] = Counter()
        """How many lines each format was the innermost one of."""
        self._default = process
        self._claims = Claims()
        self._repair = Repair(self._claims.is_prefix, self._claims.is_claimed)
        self._memory = Memory(process)
        self._pieces = Pieces()
        self._wraps = Wraps(self._claims.is_prefix)
        self._collector: Envelope | None = None
        self._owed: tuple[int, Process, tuple[Process, ...]] | None = None

    def feed(self, raw: RawLine) -> Sequence[LogRecord]:
        """The records that this line completes: none for a piece of a longer line, several for some JSON objects."""
        found = self.look(raw)
        return found if isinstance(found, list) else [found.record(raw.source, raw.number)]

    def look(self, raw: RawLine) -> Known | list[LogRecord]:
        """The same; only what the line says, not yet as a record, when it begins like one before."""
        if len(raw[0]) >= self._wraps.width or self._wraps.held is not None:
            whole = self._wraps.feed(raw)
            if len(whole) != 1 or whole[0] is not raw:
                return [record for line in whole for record in self._line(line)]
        if self._owed is None and not self._repair.watchful:
            known = self._memory.recall(raw[0])
            if known is not None:
                self.formats[known[0].format] += 1
                return known
        return self._unknown(raw)

    def _line(self, raw: RawLine) -> Sequence[LogRecord]:
        if self._owed is None and not self._repair.watchful and (known := self._memory.recall(raw.text)):
            self.formats[known.meaning.format] += 1
            return [known.record(raw.source, raw.number)]
        return self._unknown(raw)

    def _unknown(self, raw: RawLine) -> list[LogRecord]:
        if self._collector is not None and self._owed is None and not self._repair.watchful:
            record = self._behind_collector(raw, self._collector)
            if record is not None:
                self.formats[record.format] += 1
                return [record]
        return self._slow(raw)

    def close(self) -> Iterable[LogRecord]:
        """What was held back: cut lines whose end never came."""
        records = [record for whole in self._wraps.close() for record in self._line(whole)]
        for held, raw in self._pieces.drain():
            records += self._records(self._peel(held, raw), raw)
        return records

    def _slow(self, raw: RawLine) -> list[LogRecord]:
        text = raw.text.strip("\r")
        mended = self._repair.line(text)
        owed = self._owed
        if mended is not text and owed is None and (known := self._memory.recall(mended)):
            self.formats[known.meaning.format] += 1
            return [known.record(raw.source, raw.number)]
        peelings = self._peel(Peeling(mended), raw)
        if len(peelings) == 1 and peelings[0].done and (parts := split_collapsed(mended, peelings[0].text)):
            peelings = [peeling for part in parts for peeling in self._peel(Peeling(part), raw)]
        records = self._records(peelings, raw)
        if len(records) == 1 and owed is None and self._owed is None:
            self._remember(text, mended, peelings[0], records[0])
        return records

    def _peel(self, peeling: Peeling, raw: RawLine) -> list[Peeling]:
        """Take envelopes off until none fits; several texts when the line holds several."""
        for depth in range(_DEPTH):
            envelope = None if peeling.done else self._claims.claim(peeling)
            if envelope is None:
                break
            if peeling.bodies is not None:
                bodies, peeling.bodies = peeling.bodies, None
                if peeling.partial is None:
                    return self._peel_each(peeling, bodies, raw)
                peeling.text = bodies[0]
            if peeling.partial is not None and not self._pieces.add(peeling, raw):
                return []
            peeling.text = strip_ansi(peeling.text)
            if peeling.time is not None and not peeling.prefixed and not peeling.done:
                peeling.inner = peeling.text
                peeling.collector = envelope if depth == 0 else None
                if self._is_known(peeling):
                    return [peeling]
        if "\r" in peeling.text:
            return self._peel_states(peeling, raw)
        if not peeling.done and (parts := split_glued(peeling.text)):
            peeling.text, second = parts
            return [peeling, *self._peel(peeling.sibling(second), raw)]
        return [peeling]

    def _peel_each(self, peeling: Peeling, bodies: list[str], raw: RawLine) -> list[Peeling]:
        forks = [peeling.fork(strip_ansi(body)) for body in bodies]
        if peeling.done:
            return forks
        return [deeper for fork in forks for deeper in self._peel(fork, raw)]

    def _peel_states(self, peeling: Peeling, raw: RawLine) -> list[Peeling]:
        """The states of a line that was redrawn, without the empty ones."""
        states = [state for state in peeling.text.split("\r")[-_REDRAWN:] if state.strip()]
        return [deeper for state in states or [""] for deeper in self._peel(peeling.fork(state), raw)]

    def _remember(self, text: str, mended: str, peeling: Peeling, record: LogRecord) -> None:
        """Note what the prefix meant, so that the next line with the same one is read at once."""
        if peeling.inner is None:
            if (text[:1] in _MARGINS or not self._memory.remember(text, record)) and mended is not text:
                self._memory.remember(mended, record)
        elif peeling.pod or peeling.container or peeling.host:
            self._memory.remember(text, record)
        else:
            # The time before it never comes again, but the text behind does.
            own_time = record if peeling.level is not None else record._replace(time=None)
            if self._memory.remember(peeling.inner, own_time):
                self._collector = peeling.collector

    def _behind_collector(self, raw: RawLine, collector: Envelope) -> LogRecord | None:
        """The record of a line in the collector of the line before, if the rest begins like one before."""
        match = compiled(collector.pattern).match(raw[0])
        if match is None or self._pieces.waiting:
            return None
        peeling = Peeling(raw[0])
        if collector.peel(match, peeling) is False or peeling.partial:
            return None
        if peeling.pod or peeling.container or peeling.host:
            return None
        known = self._memory.recall(peeling.text)
        if known is None:
            return None
        record = known.record(raw[1], raw[2])
        if record.time is not None:
            return record
        return record._replace(time=peeling.time, format=record.format if record.prefixed else collector.name)

    def _is_known(self, peeling: Peeling) -> bool:
        """Read the rest behind a collector's prefix at once, if it begins like one before."""
        known = self._memory.recall(peeling.text)
        if known is None or not known.meaning.prefixed:
            return False
        meaning = known.meaning
        peeling.text, peeling.process, peeling.outer = known.body, meaning.process, meaning.outer
        peeling.time, peeling.level, peeling.site = known.time or peeling.time, meaning.level, meaning.site
        peeling.format, peeling.prefixed, peeling.done = meaning.format, True, True
        return True

    def _records(self, peelings: list[Peeling], raw: RawLine) -> list[LogRecord]:
        records = []
        for peeling in peelings:
            if peeling.section is not None or peeling.writer is not None:
                self._turn(peeling)
            process, outer = self._writer(peeling), peeling.outer
            if self._owed is not None:
                process, outer = self._settle(peeling, raw, process, outer)
            if peeling.owed is not None:
                self._owed = (raw.number + 1, self._placed(peeling.owed, peeling), outer)
            self.formats[peeling.format] += 1
            body, repeated = peeling.text, 1
            if "[repeated " in body and (found := _REPEATS.search(body, max(0, len(body) - 600))):
                body, repeated = body[: found.start()], int(found.group(1))
            # A request that quotes a traceback is logged at INFO; it is no failure and stays as it is.
            bodies = [body] if peeling.level in ("INFO", "DEBUG") else [] if is_quotation(body) else unfold(body)
            number = peeling.number or raw.number
            records += [
                LogRecord(
                    part, raw.source, number, process, peeling.time, peeling.level, peeling.site, peeling.format,
                    repeated, peeling.prefixed, outer,
                )
                for part in bodies
            ]  # fmt: skip
        return records

    def _turn(self, peeling: Peeling) -> None:
        """From here on the lines come from another file or from the writer that a marker names."""
        default = self._default
        if peeling.section is not None:
            default = default._replace(container=peeling.section)
        if peeling.writer is not None and default.name is None:
            default = default._replace(name=peeling.writer.name, role=peeling.writer.role)
        self._default = default
        self._memory.forget(default)

    def _settle(self, peeling: Peeling, raw: RawLine, process: Process, outer: tuple[Process, ...]) -> _Writers:
        """Give the line after two met prefixes to the writer whose text was still to come, if it names none itself."""
        owed, self._owed = self._owed, None
        if owed is None or raw.number != owed[0] or peeling.process.known:
            return process, outer
        return owed[1], owed[2]

    def _writer(self, peeling: Peeling) -> Process:
        """The line's own writer, completed by what collectors and the path know."""
        process = peeling.process
        return self._placed(process if process.known else self._default, peeling)

    def _placed(self, process: Process, peeling: Peeling) -> Process:
        default = self._default
        host = process.host or peeling.host or default.host
        pod, container = peeling.pod or default.pod, peeling.container or default.container
        ranks = process.ranks
        if not ranks and default.ranks and process.role in (None, "Worker", "launcher"):
            ranks = default.ranks
        if (host, pod, container, ranks) != (process.host, process.pod, process.container, process.ranks):
            process = process._replace(host=host, pod=pod, container=container, ranks=ranks)
        return process
