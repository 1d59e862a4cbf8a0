"""Takes the envelopes off the lines of one source."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from diagnoser.envelopes._base import LAST, Envelope, Peeling
from diagnoser.envelopes._discovery import compiled, envelopes_for
from diagnoser.envelopes._glue import split_collapsed, split_glued
from diagnoser.envelopes._memory import Memory
from diagnoser.envelopes._repair import Repair, strip_ansi
from diagnoser.envelopes._unfold import HEADER, unfold
from diagnoser.model import UNKNOWN_PROCESS, LogRecord, Process, RawLine

_DEPTH = 12
"""More prefixes than this are not taken off one line."""
_SCAN = 400
"""Characters at the start of a line that are looked at for a needle."""
_LONGEST = 4 * 1024 * 1024
"""Characters of a cut line that are put together at most."""
_CONFIRMED = 4096
"""Different names (containers, pods) that are taken for prefixes of one source at most."""
_REDRAWN = 64
"""Of a line that was redrawn with carriage returns (a progress bar), only so many last states are read."""
_MARGINS = frozenset(" \t>")
"""What a quoted or indented paste begins with; such a line must reach the repair every time."""
_KNOWN_TEXT = (
    HEADER, '  File "', "  + Exception Group Traceback", "During handling of the above", "The above exception was",
    "usage: ", "vllm: error: ", "vllm serve: error: ",
)  # fmt: skip
_EXCEPTION = re.compile(r"(?:[A-Za-z_]\w{0,60}\.){0,8}[A-Z]\w{0,60}(?:Error|Exception|Exit|Interrupt)(?:: |$)")
_REPEATS = re.compile(
    r" \[repeated (\d{1,9})x across (?:cluster|all nodes)\](?: \(Ray deduplicates logs[^\n]{0,400}\))?\s{0,8}\Z"
)

class Peeler:
    """Takes every prefix off the lines of one source; keeps pieces of cut lines until their end comes."""

    def __init__(self, process: Process = UNKNOWN_PROCESS) -> None:
        """`process` is what the source's name already tells about the writer (its pod, its rank)."""
        self.formats: Counter[str] = Counter()
        """How many lines each format was the innermost one of."""
        self._default = process
        self._repair = Repair(self._is_prefix, self._is_claimed)
        self._memory = Memory(process)
        self._confirmed: set[tuple[str, str]] = set()
        self._candidate: tuple[tuple[str, str], int] = (("", ""), 0)
        self._pieces: dict[tuple[str | None, str | None], tuple[RawLine, list[str], Peeling, int]] = {}
        self._owed: tuple[int, Process, tuple[Process, ...]] | None = None

    def feed(self, raw: RawLine) -> Iterable[LogRecord]:
        """The records that this line completes: none for a piece of a longer line, several for some JSON objects."""
        if self._owed is not None or self._repair.watchful:
            return self._slow(raw[0], raw)
        record = self._memory.recall(raw[0], raw[1], raw[2])
        if record is None:
            return self._slow(raw[0], raw)
        self.formats[record[7]] += 1
        return (record,)

    def close(self) -> Iterable[LogRecord]:
        """What was held back: cut lines whose end never came."""
        held, self._pieces = self._pieces, {}
        records = []
        for raw, parts, first, _ in held.values():
            first.text = "".join(parts)
            records += self._records(self._peel(first, raw), raw)
        return records

    def _slow(self, text: str, raw: RawLine) -> list[LogRecord]:
        text = text.strip("\r")
        mended = self._repair.line(text)
        if mended is not text and self._owed is None:
            known = self._memory.recall(mended, raw.source, raw.number)
            if known is not None:
                self.formats[known.format] += 1
                return [known]
        owed = self._owed
        peelings = self._peel(Peeling(mended), raw)
        if len(peelings) == 1 and peelings[0].done and (parts := split_collapsed(mended, peelings[0].text)):
            peelings = [peeling for part in parts for peeling in self._peel(Peeling(part), raw)]
        records = self._records(peelings, raw)
        is_one_text = len(records) == 1 and not peelings[0].joined and owed is None and self._owed is None
        if is_one_text and (text[:1] in _MARGINS or not self._memory.remember(text, records[0])) and mended is not text:
            self._memory.remember(mended, records[0])
        return records

    def _peel(self, peeling: Peeling, raw: RawLine) -> list[Peeling]:
        """Take envelopes off until none fits."""
        for _ in range(_DEPTH):
            if peeling.done or not self._claim(peeling):
                break
            if peeling.bodies is not None:
                bodies, peeling.bodies = peeling.bodies, None
                if peeling.partial is None:
                    return self._peel_each(peeling, bodies, raw)
                peeling.text = bodies[0]
            if peeling.partial is not None:
                peeling.joined = True
                if not self._joined(peeling, raw):
                    return []
            peeling.text = strip_ansi(peeling.text)
        if "\r" in peeling.text:
            states = [state for state in peeling.text.split("\r")[-_REDRAWN:] if state.strip()]
            if len(states) != 1 or states[0] != peeling.text:
                return [deeper for state in states or [""] for deeper in self._peel(peeling.fork(state), raw)]
        if not peeling.done and (parts := split_glued(peeling.text)):
            peeling.text, second = parts
            return [peeling, *self._peel(peeling.sibling(second), raw)]
        return [peeling]

    def _peel_each(self, peeling: Peeling, bodies: list[str], raw: RawLine) -> list[Peeling]:
        forks = [peeling.fork(strip_ansi(body)) for body in bodies]
        if peeling.done:
            return forks
        return [deeper for fork in forks for deeper in self._peel(fork, raw)]

    def _joined(self, peeling: Peeling, raw: RawLine) -> bool:
        """Put the pieces of a cut line together; False while its last piece is missing."""
        key = (peeling.pod, peeling.container)
        held = self._pieces.get(key)
        more, peeling.partial = peeling.partial, None
        if held is None:
            if more:
                self._pieces[key] = (raw, [peeling.text], peeling, len(peeling.text))
            return not more
        first_raw, parts, first, size = held
        parts.append(peeling.text)
        size += len(peeling.text)
        if more and size < _LONGEST:
            self._pieces[key] = (first_raw, parts, first, size)
            return False
        del self._pieces[key]
        peeling.text, peeling.time = "".join(parts), first.time
        return True

    def _claim(self, peeling: Peeling) -> bool:
        """Take one envelope off; False when none fits."""
        text = peeling.text
        if not text or text.startswith(_KNOWN_TEXT):
            return False
        for envelope in envelopes_for(text[0]):
            if envelope.needle and text.find(envelope.needle, 0, _SCAN) < 0:
                continue
            match = compiled(envelope.pattern).match(text)
            if match is None or (envelope.confirm and not self._confirm(envelope, match)):
                continue
            if envelope.peel(match, peeling) is False:
                continue
            peeling.format = envelope.name
            return True
        return False

    def _confirm(self, envelope: Envelope, match: re.Match[str]) -> bool:
        """True when what follows the prefix shows that it is one, now or once before."""
        name = match.group("key")
        if name is None:
            return True
        key = (envelope.name, name)
        if key in self._confirmed:
            return True
        if not self._is_prefix(match.string[match.end() :]) and not self._comes_again(envelope, key):
            return False
        if len(self._confirmed) < _CONFIRMED:
            self._confirmed.add(key)
        return True

    def _comes_again(self, envelope: Envelope, key: tuple[str, str]) -> bool:
        """True when enough lines in a row have had the same prefix."""
        if not envelope.repeats:
            return False
        before, count = self._candidate
        count = count + 1 if before == key else 1
        self._candidate = (key, count)
        return count >= envelope.repeats

    def _is_prefix(self, text: str) -> bool:
        """True when the text begins like a traceback or like a line in an envelope."""
        return text.startswith(_KNOWN_TEXT) or _EXCEPTION.match(text) is not None or self._is_claimed(text)

    def _is_claimed(self, text: str) -> bool:
        """True when an envelope fits that needs no confirming."""
        for envelope in envelopes_for(text[:1]) if text else ():
            if envelope.confirm or envelope.order == LAST:
                continue
            if envelope.needle and text.find(envelope.needle, 0, _SCAN) < 0:
                continue
            match = compiled(envelope.pattern).match(text)
            if match is not None and envelope.peel(match, Peeling(text)) is not False:
                return True
        return False

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
            bodies = [body] if peeling.level in ("INFO", "DEBUG") else unfold(body)
            records += [
                LogRecord(
                    part, raw.source, raw.number, process, peeling.time, peeling.level, peeling.site, peeling.format,
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

    def _settle(
        self, peeling: Peeling, raw: RawLine, process: Process, outer: tuple[Process, ...]
    ) -> tuple[Process, tuple[Process, ...]]:
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
