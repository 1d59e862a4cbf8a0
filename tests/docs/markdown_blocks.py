"""Code blocks and links of the Markdown files that people read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
LEFT_OUT = {"docs/samples/report.md", "docs/samples/issue.md"}
"""Reports, which are output and not documentation."""
_TITLE = re.compile(r'title="([^"]+)"')
_MADE_BY = re.compile(r"<!--\s*made by:\s*(?P<command>.+?)\s*-->", re.DOTALL)


class Block(NamedTuple):
    """A fenced code block."""

    path: Path
    line: int
    """Of its first content line, from 1."""
    language: str
    text: str
    title: str | None = None
    """Name of the file that it shows (`title="…"` behind the language)."""
    made_by: str | None = None
    """The command of a `<!-- made by: … -->` comment before it, whose output it shows."""

    @property
    def name(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line}"


def pages() -> list[Path]:
    """Every Markdown file that people read, README first."""
    top = [
        path
        for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")
        if (path := ROOT / name).exists()
    ]
    below = sorted((ROOT / "docs").rglob("*.md"))
    return [path for path in (*top, *below) if str(path.relative_to(ROOT)) not in LEFT_OUT]


def blocks(path: Path) -> Iterator[Block]:
    """The code blocks of a page, also those inside lists and quotes."""
    made_by = None
    for token in MarkdownIt("commonmark").parse(path.read_text(encoding="utf-8")):
        if token.type == "html_block":
            found = _MADE_BY.search(token.content)
            made_by = found["command"] if found else made_by
        elif token.type == "fence" and token.map is not None:
            language = (token.info.split() or [""])[0]
            title = _TITLE.search(token.info)
            yield Block(path, token.map[0] + 2, language, token.content, title and title[1], made_by)
            made_by = None
        elif token.type in ("paragraph_open", "heading_open"):
            made_by = None


def links(path: Path) -> Iterator[tuple[int, str]]:
    """Line and target of every link and picture of a page."""
    for token in MarkdownIt("commonmark").enable("table").parse(path.read_text(encoding="utf-8")):
        for child in token.children or ():
            target = child.attrGet("href") or child.attrGet("src")
            if target is not None:
                yield (token.map or [0])[0] + 1, str(target)


def headings(path: Path) -> set[str]:
    """The anchors of a page, as GitHub and MkDocs make them."""
    tokens = MarkdownIt("commonmark").parse(path.read_text(encoding="utf-8"))
    titles = [tokens[at + 1].content for at, token in enumerate(tokens) if token.type == "heading_open"]
    return {re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", title.lower()).strip()) for title in titles}


def spans(path: Path) -> Iterator[tuple[int, str]]:
    """Line and text of every code span of a page, tables included."""
    for token in MarkdownIt("commonmark").enable("table").parse(path.read_text(encoding="utf-8")):
        for child in token.children or ():
            if child.type == "code_inline":
                yield (token.map or [0])[0] + 1, child.content
