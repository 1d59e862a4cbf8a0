"""Text of a log made harmless and fitted to a line: nothing in it can move a cursor, set a title or turn text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from diagnoser.lazy import lazy

_ESCAPES = lazy(
    # Strings that a terminal swallows (titles, OSC 8 links, device control), only when they end; then cursor and
    # color sequences; then an escape with its intermediate and final characters. Each part stops at the next escape,
    # so that the whole is linear.
    "(?:\x1b[]PX^_]|[\x90\x98\x9d-\x9f])(?:[^\x07\x1b\x9c\n]{0,2048}(?:\x07|\x1b\\\\|\x9c))?"
    "|(?:\x1b\\[|\x9b)[0-?]{0,64}[ -/]{0,8}[@-~]?"
    "|\x1b[ -/]{0,8}[0-~]?"
)
_LINE_ENDS = lazy("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_INVISIBLE = lazy(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff"
    "\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
"""Control characters, bidirectional overrides, zero-width and tag characters: nothing a reader would miss."""
_NOT_TEXT = lazy(
    "[\ud800-\udfff\ufdd0-\ufdef"
    + "".join(chr(plane + last) for plane in range(0, 0x110000, 0x10000) for last in (0xFFFE, 0xFFFF))
    + "]"
)
"""Lone surrogates and code points that are no characters: no encoding and no page may hold them."""
_LINK = lazy(r"[a-z]{2,10}://", re.IGNORECASE)


def printable(text: str) -> str:
    """The text without anything a terminal or browser would act upon; line ends become `\\n`, tabs four spaces."""
    if text.isascii() and text.isprintable():
        return text
    if "\x1b" in text or not text.isascii():
        text = _ESCAPES.sub("", text)
    text = _INVISIBLE.sub("", _LINE_ENDS.sub("\n", text)).expandtabs(4)
    return text if text.isascii() else _NOT_TEXT.sub("\ufffd", text)


def one_line(text: str) -> str:
    """The text on a single line, runs of white space as one space."""
    return " ".join(printable(text).split())


def cut_middle(text: str, limit: int) -> str:
    """The text, or its beginning and end around a note of how many characters were left out.

    Both ends are kept because messages say what happened first and quote what they wrap last.
    """
    if len(text) <= limit:
        return text
    head = limit * 2 // 3
    tail = limit - head
    note = f" [... {len(text) - limit:,} characters left out ...] "
    return text[:head] + note + text[len(text) - tail :]


def cut_end(text: str, limit: int) -> str:
    """The text, or its first `limit` characters with three dots at the end."""
    return text if len(text) <= limit else text[: max(limit - 3, 1)].rstrip() + "..."


def excerpt(text: str, limit: int) -> str:
    """`printable` and `cut_middle` in one, at a cost that the limit bounds and not the text."""
    if len(text) > 8 * limit:
        left_out = len(text) - 8 * limit
        head, tail = printable(text[: 4 * limit]), printable(text[-4 * limit :])
        keep = limit * 2 // 3
        head, tail = head[:keep], tail[-(limit - keep) :]
        return f"{head} [... {left_out + 8 * limit - len(head) - len(tail):,} characters left out ...] {tail}"
    return cut_middle(printable(text), limit)


def columns(text: str) -> int:
    """How many columns of a terminal the text takes: wide characters two, combining ones none."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)


def wrap(text: str, width: int, indent: str = "", hanging: str | None = None) -> Iterator[str]:
    """The text in lines of at most `width` columns, indented; its own line breaks and indentation stay.

    Links are never broken, other words only where they are longer than a line. `hanging` is the indent of the lines
    after the first one, `indent` when not given.
    """
    follow = indent if hanging is None else hanging
    prefix = indent
    for line in text.split("\n"):
        body = line.lstrip(" ")
        margin = " " * min(len(line) - len(body), width // 3)
        yield from _wrap_line(body, width, prefix + margin, follow + margin)
        prefix = follow


def _wrap_line(line: str, width: int, indent: str, hanging: str) -> Iterator[str]:
    current, used = indent, len(indent)
    empty = True
    for word in line.split():
        size = columns(word)
        if not empty and used + 1 + size <= width:
            current, used = f"{current} {word}", used + 1 + size
            continue
        if not empty:
            yield current
            current, used = hanging, len(hanging)
        if used + size > width and not _LINK.match(word):
            *full, word = _pieces(word, max(width - len(hanging), 8), max(width - used, 8))
            for piece in full:
                yield current + piece
                current, used = hanging, len(hanging)
        current, used, empty = current + word, used + columns(word), False
    yield current.rstrip() if empty else current


def _pieces(word: str, width: int, first: int) -> list[str]:
    """A word that is longer than a line in pieces of at most `width` columns, the first one of `first`.

    A path is broken behind a slash where one is near, so that the name of its file stays whole.
    """
    pieces, start, used, room = [], 0, 0, first
    for index, char in enumerate(word):
        size = columns(char)
        if used + size > room:
            slash = word.rfind("/", start + (index - start) // 2, index) + 1
            end = slash or index
            pieces.append(word[start:end])
            start, used, room = end, columns(word[end:index]), width
        used += size
    return [*pieces, word[start:]]
