"""Colors of a terminal by meaning; without color every function returns its text unchanged."""

from __future__ import annotations

from diagnoser.model import Confidence, FindingStatus

_CODES = {
    "failure": "1;31",
    "heading": "1",
    "command": "36",
    "aside": "2",
    "good": "32",
    "doubt": "33",
    "code": "1",
}
_CONFIDENCE: dict[Confidence, str] = {"certain": "good", "likely": "doubt", "possible": "doubt"}
_STATUS: dict[FindingStatus, str] = {"ok": "good", "warning": "doubt", "error": "failure", "skipped": "aside"}


class Style:
    """Paints text by what it means: `failure`, `heading`, `command`, `aside`, `good`, `doubt`, `code`."""

    def __init__(self, color: bool) -> None:
        self.color = color

    def __call__(self, meaning: str, text: str) -> str:
        """The text in the color of its meaning."""
        return f"\x1b[{_CODES[meaning]}m{text}\x1b[0m" if self.color and text else text

    def confidence(self, confidence: Confidence, text: str) -> str:
        """The text in the color of that degree of certainty."""
        return self(_CONFIDENCE[confidence], text)

    def status(self, status: FindingStatus, text: str) -> str:
        """The text in the color of that result of a check."""
        return self(_STATUS[status], text)
