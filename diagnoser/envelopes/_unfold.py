"""Splits a body that holds several lines: a traceback whose line ends were lost or written as `\\n`."""

from __future__ import annotations

import re
from functools import cache

from diagnoser.precompiled import compile_pattern

HEADER = "Traceback (most recent call last):"
_PATTERNS = {
    "literal": r"\\n {0,12}(?:File \\{0,3}[\"']|\^|\.\.\.)|call last\):\\n|\\n[\w.]{1,80}(?:Error|Exception)\b",
    "newline": r"(?:\\r)?\\{1,3}n",
    "header-and-frame": r"Traceback \(most recent call last\):[ \t]{1,16}File \"",
    "link": r"[ \t](?=During handling of the above exception, another|The above exception was the direct cause of)",
    "link-end": r"((?:another exception occurred|of the following exception):)[ \t]",
    "frame-start": r"[ \t]{1,16}(?=File \"[^\"]{1,400}\", line \d)",
    "frame": r"(File \"[^\"]{1,400}\", line \d{1,7}, in (?:<\w{1,20}>|[\w.<>]{1,120}))[ \t]{1,16}(?=\S)",
    "exception": (
        r"(?<=[ \t])(?=(?:[A-Za-z_]\w{0,60}\.){0,8}"
        r"[A-Z]\w{0,60}(?:Error|Exception|Exit|Interrupt|Timeout|Warning|Expired|Died)\b(?:: |$))"
    ),
}  # fmt: skip


@cache
def _pattern(name: str) -> re.Pattern[str]:
    return compile_pattern(_PATTERNS[name])


def unfold(body: str) -> list[str]:
    """The lines that the body stands for; the body alone when it is one line."""
    if "\\n" in body and HEADER in body and _pattern("literal").search(body):  # without a header it may be source text
        lines = [_unquoted(line) for line in _pattern("newline").split(body)]
        while len(lines) > 1 and not lines[-1].strip("'\") }]"):
            lines.pop()
        return lines
    if _pattern("header-and-frame").search(body):
        return [line for block in _pattern("link").split(body) for line in _block(block)]
    return [body]


def _unquoted(line: str) -> str:
    return line.replace('\\\\"', '"').replace('\\"', '"').replace("\\'", "'").replace("\\t", "\t")


def _block(block: str) -> list[str]:
    """The lines of one traceback that stands on one line, with whatever stood before it."""
    ended = _pattern("link-end").search(block)
    if ended and HEADER in block[ended.end() :]:
        return [block[: ended.end(1)], *_block(block[ended.end() :])]
    head, header, rest = block.partition(HEADER)
    if not header or not rest.lstrip().startswith('File "'):
        return [block]
    lines = [head + header]
    entries = _pattern("frame-start").split(rest)
    for number, entry in enumerate(entry for entry in entries if entry):
        lines += _entry(entry, last=number == len(entries) - (1 if entries[0] else 2))
    return lines


def _entry(entry: str, *, last: bool) -> list[str]:
    """A frame, its source line, and after the last frame the exception."""
    frame = _pattern("frame").match(entry)
    if frame is None:
        return [f"  {entry}"]
    lines, code = [f"  {frame.group(1)}"], entry[frame.end() :]
    found = _pattern("exception").search(f" {code}") if last else None
    if found is None:
        return [*lines, f"    {code}"]
    source, exception = code[: found.start() - 1].rstrip(), code[found.start() - 1 :]
    return [*lines, f"    {source}", exception] if source else [*lines, exception]
