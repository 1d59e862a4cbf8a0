"""Takes the envelopes off the lines of one source."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from diagnoser.envelopes._base import Envelope, Peeling
from diagnoser.envelopes._discovery import compiled, envelopes_for
from diagnoser.envelopes._repair import strip_ansi
from diagnoser.model import UNKNOWN_PROCESS, LogRecord, Process, RawLine

_DEPTH = 12
"""More prefixes than this are not taken off one line."""
_SCAN = 400
"""Characters at the start of a line that are looked at for a needle."""
_KNOWN_TEXT = ("Traceback (most recent call last):", '  File "', "  + Exception Group Traceback", "During handling of the above", "The above exception was")
_REPEATED = " [repeated "
_REPEATS = re.compile(r" \[repeated (\d{1,9})x across (?:cluster|all nodes)\](?: \(Ray deduplicates logs[^\n]{0,400}\))?\s{0,8}\Z")
_LONGEST = 4 * 1024 * 1024
"""Characters of a cut line that are put together at most."""
_CONFIRMED = 1024
"""Different prefixes (container names) that are remembered for one source at most."""


class Peeler:
    """Takes every prefix off the lines of one source; keeps pieces of cut lines until their end comes."""

    def __init__(self, process: Process = UNKNOWN_PROCESS) -> None:
        self.formats: Counter[str] = Counter()
        """How many lines each format was the innermost one of."""
        self._default = process
        self._confirmed: set[tuple[str, str]] = set()
        self._pieces: dict[tuple[str | None, str | None], tuple[RawLine, list[str], Peeling, int]] = {}
        self._owed: tuple[int, Process, tuple[Process, ...]] | None = None

    def feed(self, raw: RawLine) -> Iterable[LogRecord]:
        """The records that this line completes: none for a piece of a longer line, several for some JSON objects."""
        text = raw.text
        if text.endswith("\r"):
            text = text.rstrip("\r")
        return [self._record(peeling, raw) for peeling in self._peel(Peeling(strip_ansi(text)), raw)]

    def close(self) -> Iterable[LogRecord]:
        """What was held back: cut lines whose end never came."""
        held, self._pieces = self._pieces, {}
        records = []
        for raw, parts, first, _ in held.values():
            first.text = "".join(parts)
            records += [self._record(peeling, raw) for peeling in self._peel(first, raw)]
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
                peeling.text = strip_ansi(bodies[0])
            if peeling.partial is not None and not self._joined(peeling, raw):
                return []
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
        if not text:
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
        key = (envelope.name, match.group("key"))
        if key in self._confirmed:
            return True
        rest = match.string[match.end() :]
        if rest.startswith(_KNOWN_TEXT) or self._is_claimed(rest):
            if len(self._confirmed) < _CONFIRMED:
                self._confirmed.add(key)
            return True
        return False

    def _is_claimed(self, text: str) -> bool:
        """True when an envelope that needs no confirming fits."""
        for envelope in envelopes_for(text[:1]) if text else ():
            if envelope.confirm or (envelope.needle and text.find(envelope.needle, 0, _SCAN) < 0):
                continue
            match = compiled(envelope.pattern).match(text)
            if match is not None and envelope.peel(match, Peeling(text)) is not False:
                return True
        return False

    def _record(self, peeling: Peeling, raw: RawLine) -> LogRecord:
        body, repeated = peeling.text, 1
        if _REPEATED in body and (found := _REPEATS.search(body)):
            body, repeated = body[: found.start()], int(found.group(1))
        self.formats[peeling.format] += 1
        return LogRecord(
            body, raw.source, raw.number, self._writer(peeling), peeling.time, peeling.level, peeling.site, peeling.format,
            repeated, peeling.prefixed, peeling.outer,
        )  # fmt: skip

    def _writer(self, peeling: Peeling) -> Process:
        """The line's own writer, completed by what collectors and the path know."""
        process, default = peeling.process, self._default
        if not process.known:
            process = default
        host = process.host or peeling.host or default.host
        pod, container = peeling.pod or default.pod, peeling.container or default.container
        if (host, pod, container) != (process.host, process.pod, process.container):
            process = process._replace(host=host, pod=pod, container=container)
        return process
