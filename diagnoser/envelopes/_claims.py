"""Finds the envelope that a text stands in, and learns which ambiguous prefixes one source has."""

from __future__ import annotations

import re

from diagnoser.digits import zeroed
from diagnoser.envelopes._base import LAST, Envelope, Peeling
from diagnoser.envelopes._discovery import compiled, envelopes_for
from diagnoser.envelopes._unfold import HEADER
from diagnoser.lazy import lazy

_SCAN = 400
"""Characters at the start of a text that are looked at for a needle."""
_CONFIRMED = 4096
"""Different names (containers, pods) that are taken for prefixes of one source at most."""
_RECORD_FORMAT = "vllm"
"""A format whose pattern asks for no certain digits, so that its prefixes are told again without it."""
_KNOWN_TEXT = (
    HEADER, '  File "', "  + Exception Group Traceback", "During handling of the above", "The above exception was",
    "usage: ", "vllm: error: ", "vllm serve: error: ",
)  # fmt: skip
_EXCEPTION = lazy(r"(?:[A-Za-z_]\w{0,60}\.){0,8}[A-Z]\w{0,60}(?:Error|Exception|Exit|Interrupt)(?:: |$)")


class Claims:
    """The envelopes of one source."""

    def __init__(self) -> None:
        self._confirmed: set[tuple[str, str]] = set()
        self._candidate: tuple[tuple[str, str], int] = (("", ""), 0)
        self._records: set[bytes] = set()

    def claim(self, peeling: Peeling) -> Envelope | None:
        """Take one envelope off and return it; None when none fits."""
        text = peeling.text
        if not text or text.startswith(_KNOWN_TEXT):
            return None
        for envelope in envelopes_for(text[0]):
            if envelope.needle and text.find(envelope.needle, 0, _SCAN) < 0:
                continue
            match = compiled(envelope.pattern).match(text)
            if match is None or (envelope.confirm and not self.confirm(envelope, match)):
                continue
            if envelope.peel(match, peeling) is False:
                continue
            peeling.format = envelope.name
            return envelope
        return None

    def is_prefix(self, text: str) -> bool:
        """True when the text begins like a traceback or like a line in an envelope."""
        return self.is_claimed(text) or text.startswith(_KNOWN_TEXT) or _EXCEPTION.match(text) is not None

    def is_claimed(self, text: str) -> bool:
        """True when an envelope fits that needs no confirming."""
        cut = text.find("] ", 0, _SCAN) + 2
        head = zeroed(text[:cut])
        if head in self._records:
            return True
        for envelope in envelopes_for(text[:1]) if text else ():
            if envelope.confirm or envelope.order == LAST:
                continue
            if envelope.needle and text.find(envelope.needle, 0, _SCAN) < 0:
                continue
            match = compiled(envelope.pattern).match(text)
            if match is not None and envelope.peel(match, Peeling(text)) is not False:
                if envelope.name == _RECORD_FORMAT and match.end() == cut and len(self._records) < _CONFIRMED:
                    self._records.add(head)
                return True
        return False

    def confirm(self, envelope: Envelope, match: re.Match[str]) -> bool:
        """True when what follows the prefix shows that it is one, now or once before."""
        name = match.group("key")
        if name is None:
            return True
        key = (envelope.name, name)
        if key in self._confirmed:
            return True
        if not self._is_shown(envelope, match) and not self._comes_again(envelope, key):
            return False
        if len(self._confirmed) < _CONFIRMED:
            self._confirmed.add(key)
        return True

    def _is_shown(self, envelope: Envelope, match: re.Match[str]) -> bool:
        """True when the text behind the prefix is one that confirms it."""
        if envelope.shown_by:
            return compiled(envelope.shown_by).match(match.string, match.end()) is not None
        return self.is_prefix(match.string[match.end() :])

    def _comes_again(self, envelope: Envelope, key: tuple[str, str]) -> bool:
        """True when enough lines in a row have had the same prefix."""
        if not envelope.repeats:
            return False
        before, count = self._candidate
        count = count + 1 if before == key else 1
        self._candidate = (key, count)
        return count >= envelope.repeats
