"""Markdown that says what was meant: nothing in a log's text can become markup, a mention or a reference."""

from __future__ import annotations

import re
from collections.abc import Iterable

from diagnoser.render._plain import excerpt, one_line, printable

_MARKUP = re.compile(r"([\\`*\[\]<>|~$]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9]))")
_MENTION = re.compile(r"(?<![\w])([@#])(?=\w)")
"""`@name` would call somebody and `#12` refer to a discussion on GitHub and elsewhere."""
_BLOCK = re.compile(r"^[ \t]*([-+#=]+(?=\s|$)|\d{1,9}(?=[.)](?:\s|$)))", re.MULTILINE)
"""Marks that begin a heading, a list or a rule, or underline a heading, when they stand first in a line."""
_ENTITY = re.compile(r"&(?=#?\w+;)")
_TICKS = re.compile("`+")
_ZERO_WIDTH = "&#8203;"


def prose(text: str) -> str:
    """Text of our own words with values in it: inline code in backticks stays, other markup does not.

    Backticks only count in pairs on one line, as in the texts of rules.
    """
    lines = "\n".join(line.strip() for line in printable(text).strip().split("\n"))
    parts = re.split(r"(`[^`\n]+`)", lines)
    return "".join(code(part[1:-1]) if index % 2 else _escaped(part) for index, part in enumerate(parts))


def plain(text: str) -> str:
    """Text of a log or a title on one line, without any markup."""
    return _escaped(one_line(text))


def _escaped(text: str) -> str:
    text = _ENTITY.sub("&amp;", text)
    text = _MARKUP.sub(r"\\\1", text)
    text = _BLOCK.sub(lambda found: found[1] + "\\" if found[1].isdigit() else "\\" + found[1], text)
    return _MENTION.sub(rf"\1{_ZERO_WIDTH}", text)


def code(text: str) -> str:
    """Text of a log as inline code; backticks in it can't end it."""
    shown = one_line(text) or " "
    ticks = "`" * (max((len(run) for run in _TICKS.findall(shown)), default=0) + 1)
    pad = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{ticks}{pad}{shown}{pad}{ticks}"


def fence(text: str, language: str = "text", indent: str = "", limit: int = 8_000) -> str:
    """Text of a log as a block of code; a fence in the text can't close it."""
    body = excerpt(text, limit).strip("\n")
    ticks = "`" * max(3, max((len(run) for run in _TICKS.findall(body)), default=0) + 1)
    return "\n".join(f"{indent}{line}".rstrip() for line in (f"{ticks}{language}", *body.split("\n"), ticks))


def joined(blocks: Iterable[str]) -> str:
    """The blocks in lines; of several empty ones in a row one stays."""
    kept: list[str] = []
    for block in blocks:
        if block or (kept and kept[-1]):
            kept.append(block)
    return "\n".join(kept).rstrip("\n") + "\n"


def link(title: str, url: str) -> str:
    """A link, if its address is one of the web; its title and address as text otherwise."""
    address = one_line(url)
    if re.fullmatch(r"https?://[^\s<>()\[\]\\`\"']+", address):
        return f"[{plain(title) or address}]({address})"
    return f"{plain(title)} {code(address)}" if address else plain(title)
