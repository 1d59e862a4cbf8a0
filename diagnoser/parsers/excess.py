"""Counts what was left out because a limit was hit, so that no limit is ever silent.

Tracebacks of 400 or more frames: 1; only both ends of each are shown.
"""

from __future__ import annotations

from collections.abc import Sequence

from diagnoser.model import Failure
from diagnoser.parsers.blocks import Block
from diagnoser.parsers.frames import MAX_FRAMES
from diagnoser.parsers.lines import MAX_CHAIN, MAX_MESSAGE


class Excess:
    """What one run left out."""

    def __init__(self) -> None:
        self._lines = self._chains = self._frames = self._messages = 0

    def block(self, block: Block, found: Sequence[Failure]) -> None:
        """Looks at a block and at the failures that were read from it; cheap for all that hit no limit."""
        self._lines += block.cut
        for failure in found:
            self._chains += len(failure.exceptions) >= MAX_CHAIN
            for info in failure.exceptions:
                self._frames += len(info.frames) >= MAX_FRAMES
                self._messages += len(info.message) >= MAX_MESSAGE - 1

    def notes(self) -> list[str]:
        """One sentence for each limit that was hit."""
        said = []
        if self._lines:
            said.append(
                f"{self._lines} lines were left out of the middle of blocks that were too long to be kept whole."
            )
        if self._chains:
            said.append(f"Chains of {MAX_CHAIN} or more exceptions: {self._chains}; only both ends of each are shown.")
        if self._frames:
            said.append(f"Tracebacks of {MAX_FRAMES} or more frames: {self._frames}; only both ends of each are shown.")
        if self._messages:
            said.append(
                f"Messages of {MAX_MESSAGE} or more characters: {self._messages}; only the beginning of each is kept."
            )
        return said
