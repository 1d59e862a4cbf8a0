"""Undoes what terminals, web forms and mail programs do to pasted logs.

Every repair looks for the signature of its damage first, so that a healthy line stays as it is. `Repair` keeps what
it has learned about one source: a quote margin, entities, typographic quotes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from diagnoser.envelopes._unfold import HEADER
from diagnoser.lazy import lazy

_ESCAPES_AS_TEXT = ("^[[", "#033[", "\\x1b[", "\\033[", "\\u001b[", "\\e[", "\ufffd[", "\u241b[")
_COLOUR_ENDS = ("[0m", "[39m", "[0;0m", "[22m")
_DUNDERS = (
    "init|new|call|enter|exit|aenter|aexit|iter|next|aiter|anext|getattr|getitem|setattr|setitem|del|repr|str|main|post_init"
)
_PACKAGES = "vllm|torch|transformers|sglang|mooncake|lmcache|triton"
_PATTERNS = {
    "ansi": r"\x1b(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|[\]_P^][^\x07\x1b]{0,400}(?:\x07|\x1b\\)|[@-Z\\^])?",
    "escape-as-text": r"(?:\^\[|#033|\\x1[bB]|\\033|\\u001[bB]|\\e|\ufffd|\u241b)\[[\d;]{0,16}[mK]",
    "colour": r"\[\d{1,3}(?:;\d{1,3}){0,5}m",
    "blank-and-colour": r" \[\d{1,3}(?:;\d{1,3}){0,5}m",
    "zero-width": r"(?:(?<=[ -~])|^)[\u200b-\u200d\u2060\ufeff]{1,8}(?=[ -~]|$)",
    "entity": r"&(?:quot|apos|lt|gt|amp|nbsp|#\d{1,5}|#x[0-9a-fA-F]{1,4});",
    "entity-sign": (
        r"File &(?:quot|#34|#x22);|&lt;(?:module|lambda|listcomp|genexpr|frozen)|&(?:quot|#34|#x22);, line \d"
        r"|&(?:quot|#34|#x22|apos|#39|#x27);[:,)\]}]|\w&(?:apos|#39|#x27);\w"
    ),
    "curly-sign": r"File [\u201c\u201d\u201e]|[\u201c\u201d], line \d",
    "bold-dunder": rf"(?:\*\*|</?strong>|</?b>)({_DUNDERS})(?:\*\*|</strong>|</b>)",
    "eaten-dunder": (
        rf"((?:site|dist)-packages/(?:{_PACKAGES})/[^\"]{{1,300}}\", line \d{{1,7}}, in )(init|call|enter|exit|new)$"
    ),
    "bold-or-eaten-call": r"(?<=\.)(init|call|enter|exit|new)(?=\()",
    "return-as-text": (
        r"\^M(?=\([A-Z]\w{1,60} (?:rank=\d{1,6} )?pid=\d{1,10}\) |(?:INFO|WARNING|ERROR) (?:\d{4}-)?\d\d-\d\d )"
    ),
    "bracket-as-list": r"(\[[\w/]{1,80}\.py:\d{1,6})\[\] ",
    "rank": r"\[rank\d{1,6}\]: ",
    "lead": (
        r"[A-Za-z][\w -]{0,40}: (?=(?P<head>\(\w{1,60} pid=\d{1,10}\) ERROR \d\d-\d\d \d\d:\d\d:\d\d"
        r" \[[\w/]{1,80}\.py:\d{1,6}\] ))"
    ),
    "tag": r"</?(?:pre|code|details|summary|p|br|div|span)(?: [^<>]{0,200})?/?>",
}
_PLAIN_QUOTES = str.maketrans({
    "\u201c": '"', "\u201d": '"', "\u201e": '"', "\u2018": "'", "\u2019": "'", "\u201a": "'", "\u2026": "...",
})  # fmt: skip
_BLANKS = "\u00a0\u2007\u202f\u3000"
_TO_BLANK = str.maketrans(dict.fromkeys(_BLANKS, " "))
_BARS = "\u2502\u2503\u2551"
"""What stands left and right of the lines in the windows of k9s, tmux, and other programs that draw boxes."""
_TRACE_WORDS = ("Traceback", 'File "', " pid=", "ERROR", "WARNING", "INFO")


@cache
def _pattern(name: str) -> re.Pattern[str]:
    """Patterns are compiled when the first damaged line needs them."""
    return lazy(_PATTERNS[name])


def strip_ansi(text: str) -> str:
    """The text without terminal control sequences, whole or damaged."""
    if "\x1b" in text:
        text = _pattern("ansi").sub("", text)
    if "[" in text:
        for sign in _ESCAPES_AS_TEXT:
            if sign in text:
                text = _pattern("escape-as-text").sub("", text)
                break
        for sign in _COLOUR_ENDS:
            if sign in text:
                return _strip_colours(text)
    return text


def _strip_colours(text: str) -> str:
    """Take off colours that lost their escape character, or got a blank in its place."""
    count = len(_pattern("colour").findall(text))
    if count == len(_pattern("blank-and-colour").findall(text)):
        return _pattern("blank-and-colour").sub("", text)
    return _pattern("colour").sub("", text)


class Repair:
    """Mends the lines of one source."""

    def __init__(self, is_prefix: Callable[[str], bool], is_claimed: Callable[[str], bool]) -> None:
        """`is_claimed` tells whether some envelope knows a text, `is_prefix` the same or that it begins a traceback."""
        self._is_prefix, self._is_claimed = is_prefix, is_claimed
        self.watchful = False
        """True when what was learned bears on lines that show no damage themselves."""
        self._margin = ""
        self._indent = ""
        self._entities = False
        self._blanks = False
        self._curly = False
        self._box = False
        self._eaten = False

    def line(self, text: str) -> str:
        """The line without its damage; the same object when there is none."""
        text = strip_ansi(text)
        if self._box or text[:1] in _BARS:
            text = self._mend_box(text)
        if not text.isascii():
            text = self._mend_characters(text)
        if "&" in text and ";" in text:
            text = self._mend_entities(text)
        if "<" in text or "**" in text:
            text = self._mend_markup(text)
        elif self._eaten and "." in text:
            text = _pattern("bold-or-eaten-call").sub(r"__\1__", text)
        if text.endswith((", in init", ", in call", ", in enter", ", in exit", ", in new")):
            text, found = _pattern("eaten-dunder").subn(r"\1__\2__", text)
            self._eaten = self._eaten or found > 0
            self.watchful = self.watchful or self._eaten
        if "^M" in text:
            # With the line ends gone, it stands where a record ended; a blank is what other pastes have there.
            text = _pattern("return-as-text").sub(" ", text).removesuffix("^M")
        if "[] " in text:
            text = _pattern("bracket-as-list").sub(r"\1] ", text, count=1)
        if f"{HEADER} " in text:
            text = self._mend_one_line(text)
        first = text[:1]
        if self._margin or first in ">`~" or (first in " \t" and text.lstrip()[:1] in "|([DIWECT{"):
            text = self._mend_margin(text)
        return text

    def _mend_box(self, text: str) -> str:
        """A line between the bars of a window, once one between them has begun like a line of a log."""
        inner = text[1:].rstrip().removeprefix(" ")
        if text[:1] not in _BARS or inner[-1:] not in _BARS:
            self._box, self.watchful = False, self._eaten
            return text
        inner = inner[:-1].rstrip()
        if not self._box and not self._is_prefix(inner):
            return text
        self._box = self.watchful = True
        return inner

    def _mend_characters(self, text: str) -> str:
        """Zero-width characters, blanks that are none, and typographic quotes."""
        mended = _pattern("zero-width").sub("", text)
        content = mended.lstrip(_BLANKS + " ")
        if len(content) != len(mended) and not mended.isascii():
            mended = mended[: len(mended) - len(content)].translate(_TO_BLANK) + content
            self._blanks = True
        if "\u00a0" in mended:
            plain = mended.translate(_TO_BLANK)
            if self._blanks or any(word in mended for word in _TRACE_WORDS) or self._is_claimed(plain):
                mended, self._blanks = plain, True
        if not self._curly and _pattern("curly-sign").search(mended):
            self._curly = True
        if self._curly:
            mended = mended.translate(_PLAIN_QUOTES)
        return mended

    def _mend_entities(self, text: str) -> str:
        """HTML entities, once a line of the source has shown that it went through HTML."""
        if not self._entities and _pattern("entity-sign").search(text):
            self._entities = True
        if self._entities and _pattern("entity").search(text):
            import html

            return html.unescape(text).replace("\u00a0", " ")
        return text

    def _mend_one_line(self, text: str) -> str:
        """A traceback whose line ends a form turned into blanks: labels inside it, words before it."""
        if rank := _pattern("rank").match(text):
            label = rank.group()
            if f"{HEADER} {label}File " in text:
                return label + text[len(label) :].replace(f" {label}", " ")
        lead = _pattern("lead").match(text)
        if lead is not None and text.count(lead["head"]) > 2:
            return text[lead.end() :]
        return text

    def _mend_markup(self, text: str) -> str:
        """Bold dunder names, and HTML tags around a line."""
        if "**" in text or "<strong>" in text or "<b>" in text:
            text = _pattern("bold-dunder").sub(r"__\1__", text)
        if text.startswith("<") or text.endswith(("/>", "br>", "pre>", "code>")):
            tag = _pattern("tag")
            while found := tag.match(text):
                text = text[found.end() :]
            for end in ("<br>", "<br/>", "<br />", "</pre>", "</code>", "</p>", "</div>", "</span>"):
                text = text.removesuffix(end)
        return text

    def _mend_margin(self, text: str) -> str:
        """Code fences, mail quotes, and the bar of a build log."""
        if text.startswith(("```", "~~~")):
            inner = text.lstrip("`~")
            return inner if self._is_prefix(inner) else "" if inner.isalnum() or not inner else text
        if text.startswith("`") and text.endswith("`") and text.count("`") == 2 and self._is_prefix(text[1:-1]):
            return text[1:-1]
        for margin in (">", "  | "):
            if text.startswith(margin):
                return self._without_margin(text, margin)
        indent = text[: len(text) - len(text.lstrip())]
        if self._margin.isspace() and text.startswith(self._margin):
            return text[len(self._margin) :]
        if indent and (text.startswith(HEADER, len(indent)) or self._is_claimed(text[len(indent) :])):
            return self._without_indent(text, indent)
        if text.strip():
            self._margin, self.watchful = "", self._eaten
        return text

    def _without_indent(self, text: str, indent: str) -> str:
        """A log line behind blanks; the second one, or a traceback, shows that the whole log was indented."""
        if self._indent == indent or HEADER in text:
            self._margin, self.watchful = indent, True
        self._indent = indent
        return text[len(indent) :]

    def _without_margin(self, text: str, margin: str) -> str:
        inner = text[len(margin) :]
        if margin == ">":
            inner = inner.lstrip(">").removeprefix(" ") if inner.startswith((" ", ">")) or not inner else inner
        if self._margin == margin:
            return inner
        # The members of an exception group stand behind the same bar, so there a traceback proves nothing.
        if self._is_claimed(inner) if margin == "  | " else self._is_prefix(inner):
            self._margin, self.watchful = margin, True
            return inner
        return text
