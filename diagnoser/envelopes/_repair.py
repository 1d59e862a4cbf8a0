"""Undoes what terminals, web forms and mail programs do to pasted logs.

Every repair looks for the signature of its damage first, so that a healthy line stays as it is. `Repair` keeps what
it learned about one source: a quote margin, a code fence, entities.
"""

from __future__ import annotations

import re
from functools import cache

_FENCE = ("```", "~~~")
_LITERAL_ESCAPES = ("^[[", "#033[", "\\x1b[", "\\033[", "\\u001b[", "\\e[", "\ufffd[", "␛[")


@cache
def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(_PATTERNS[name])


_PATTERNS = {
    "ansi": r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]{0,200}(?:\x07|\x1b\\)|[@-Z\\-_])?",
    "literal": r"(?:\^\[|#033|\\x1[bB]|\\033|\\u001[bB]|\\e|\ufffd|␛)\[[\d;]{0,16}m",
    "bare": r"\[\d{1,3}(?:;\d{1,3}){0,5}m",
    "spaced": r" \[\d{1,3}(?:;\d{1,3}){0,5}m",
    "zero-width": r"(?:(?<=[ -~])|^)[\u200b-\u200d\u2060\ufeff]{1,8}(?=[ -~]|$)",
    "entity": r"&(?:quot|apos|lt|gt|amp|nbsp|#\d{1,5}|#x[0-9a-fA-F]{1,4});",
    "entity-sign": r"File &(?:quot|#34|#x22);|&lt;\w{1,40}&gt;|&(?:quot|#34);, line \d|&(?:#39|#x27|apos);",
    "dunder-bold": r"\*\*(\w{2,20})\*\*|<strong>(\w{2,20})</strong>",
    "dunder-eaten": r"(site-packages/(?:vllm|torch|transformers|sglang|mooncake)/.{1,200}, line \d+, in )(init|call|enter|exit)$",
}
_RESETS = ("[0m", "[39m", "[0;0m", "[22m")


def strip_ansi(text: str) -> str:
    """The text without terminal control sequences, whole or damaged."""
    if "\x1b" in text:
        text = _pattern("ansi").sub("", text)
    if "[" in text:
        for sign in _LITERAL_ESCAPES:
            if sign in text:
                text = _pattern("literal").sub("", text)
                break
        if "m" in text and any(reset in text for reset in _RESETS):
            text = _strip_bare_colours(text)
    return text


def _strip_bare_colours(text: str) -> str:
    """Colour codes that lost their escape character, or got a blank for it."""
    codes = _pattern("bare").findall(text)
    spaced = _pattern("spaced")
    if len(spaced.findall(text)) == len(codes):
        return spaced.sub("", text)
    return _pattern("bare").sub("", text)
