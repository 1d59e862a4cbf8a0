"""A page of a terminal: lines of text, wrapped and colored, written from top to bottom."""

from __future__ import annotations

from collections.abc import Iterable

from diagnoser.model import Remedy
from diagnoser.render import RenderOptions
from diagnoser.render._plain import columns, excerpt, one_line, printable, wrap
from diagnoser.render._style import Style

PROSE_WIDTH = 100
"""Longer lines of prose are hard to read, however wide the terminal is."""


class Page:
    """Lines as they are written; every text that is handed in is made harmless here."""

    def __init__(self, options: RenderOptions) -> None:
        self.lines: list[str] = []
        self.width = options.width
        self.prose_width = min(options.width, PROSE_WIDTH)
        self.style = Style(options.color)
        self.verbose = options.verbosity > 0
        self.bullet = "•" if options.unicode else "-"
        self.message_limit = 20_000 if self.verbose else 1_200

    def text(self) -> str:
        """What was written."""
        return "\n".join(self.lines) + "\n"

    def gap(self) -> None:
        """One empty line, unless there is one already."""
        if self.lines and self.lines[-1]:
            self.lines.append("")

    def section(self, title: str, meaning: str = "heading") -> None:
        """A heading after an empty line."""
        self.gap()
        self.prose(title, "", "  ", meaning)

    def prose(self, text: str, indent: str = "", hanging: str | None = None, meaning: str = "") -> None:
        """Wrapped text; `meaning` colors it."""
        for line in wrap(printable(text), self.prose_width, indent, hanging):
            self.lines.append(self.style(meaning, line) if meaning else line)

    def item(self, text: str) -> None:
        """An entry of a list."""
        self.prose(text, f"  {self.bullet} ", "    ")

    def log(self, text: str, indent: str, meaning: str = "") -> None:
        """Text of the log at the full width, with its own line breaks; long text is cut in the middle."""
        for line in wrap(excerpt(text, self.message_limit), self.width, indent, " " * len(indent) + "  "):
            self.lines.append(self.style(meaning, line) if meaning else line)

    def table(self, entries: Iterable[tuple[str, str]]) -> None:
        """Pairs of a place and a text, the texts aligned where the places are short enough."""
        rows = [(one_line(left), one_line(excerpt(right, self.message_limit // 2))) for left, right in entries]
        widest = max((columns(left) for left, _ in rows), default=0)
        for left, right in rows:
            if widest > self.width // 4:
                self.prose(left, "  ", "    ", "aside")
                self.lines.extend(wrap(right, self.width, "    "))
                continue
            first, *rest = wrap(right, self.width, " " * (widest + 4))
            space = " " * (widest - columns(left) + 2)
            self.lines.append(f"  {self.style('aside', left)}{space}{first.lstrip(' ')}")
            self.lines.extend(rest)

    def steps(self, remedies: Iterable[Remedy], indent: str = "  ") -> None:
        """Numbered steps with their commands."""
        for number, remedy in enumerate(remedies, 1):
            start = f"{indent}{number}. "
            space = " " * len(start)
            self.prose(remedy.do.strip(), start, space)
            if remedy.run:
                self.command(remedy.run, space + "  ")
            if remedy.why:
                self.prose(f"Why: {remedy.why.strip()}", space, meaning="aside")
            if remedy.verify:
                self.prose(f"Verify: {remedy.verify.strip()}", space)

    def command(self, text: str, space: str) -> None:
        """A command on lines of its own, never wrapped, so that it can be copied."""
        first, *rest = printable(text).strip().split("\n")
        self.lines.append(f"{space}{self.style('command', f'$ {first}')}")
        self.lines.extend(f"{space}  {self.style('command', line)}" for line in rest)
