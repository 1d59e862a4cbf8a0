"""Puts lines together that a container runtime cut: Kubernetes at 8 or 16 KiB, docker at 16 KiB."""

from __future__ import annotations

from collections.abc import Iterator

from diagnoser.envelopes._base import Peeling
from diagnoser.model import RawLine

_LONGEST = 4 * 1024 * 1024
"""Characters that are put together at most; a longer line is given in parts."""

Key = tuple[str | None, str | None, str | None]


class Pieces:
    """The cut lines of one source whose end has not come yet, one for each container and stream."""

    def __init__(self) -> None:
        self._held: dict[Key, tuple[Peeling, RawLine, list[str], int]] = {}

    @property
    def waiting(self) -> bool:
        """True when some line's end has not come yet."""
        return bool(self._held)

    def add(self, peeling: Peeling, raw: RawLine) -> bool:
        """Take a piece; True when it ended the line, which the peeling then holds whole, from the first piece on."""
        key = (peeling.pod, peeling.container, peeling.stream)
        more, peeling.partial = peeling.partial, None
        held = self._held.pop(key, None)
        if held is None:
            if more:
                peeling.number = raw.number
                self._held[key] = (peeling, raw, [peeling.text], len(peeling.text))
            return not more
        first, first_raw, texts, size = held
        texts.append(peeling.text)
        size += len(peeling.text)
        if more and size < _LONGEST:
            self._held[key] = (first, first_raw, texts, size)
            return False
        peeling.text, peeling.time, peeling.number = "".join(texts), first.time, first.number
        return True

    def drain(self) -> Iterator[tuple[Peeling, RawLine]]:
        """What was held back, when the source has ended."""
        held, self._held = self._held, {}
        for first, raw, texts, _ in held.values():
            first.text = "".join(texts)
            yield first, raw
