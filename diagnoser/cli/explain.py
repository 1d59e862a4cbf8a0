"""`diagnose explain RULE`: the runbook page of a rule on the terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from diagnoser.errors import UsageError

if TYPE_CHECKING:
    from diagnoser.catalogue.runbook import Page


@click.command()
@click.option("--rules", "directories", multiple=True, metavar="DIR", help="Also use the rules of DIR.")
@click.option("--format", "-f", "form", type=click.Choice(["text", "markdown", "json"]), default="text")
@click.option("--width", type=click.IntRange(40, 200), help="Columns of text output.")
@click.argument("rule_id", metavar="RULE")
def explain(directories: Sequence[str], form: str, width: int | None, rule_id: str) -> None:
    """Show what a rule knows: the cause, what to do, how it is recognized, an example."""
    from diagnoser.catalogue import Catalogue
    from diagnoser.catalogue.runbook import page

    catalogue = Catalogue.load(directories, packs=True)
    for error in catalogue.errors:
        print(f"diagnose: rule skipped: {error}", file=sys.stderr)
    if rule_id not in catalogue.rules:
        from diagnoser.cli.rules import unknown_rule

        raise UsageError(unknown_rule(rule_id, catalogue.rules))
    shown = page(catalogue.rules[rule_id], catalogue.rules)
    if form == "markdown":
        from diagnoser.catalogue.export import markdown

        sys.stdout.write(markdown(shown))
    elif form == "json":
        sys.stdout.write(_json(shown))
    else:
        sys.stdout.write(text(shown, width or _columns()))


def text(shown: Page, width: int = 80) -> str:
    """The page as plain text."""
    return "\n".join(_printable(line) for line in _lines(shown, width)).rstrip("\n") + "\n"


def _lines(shown: Page, width: int) -> Iterator[str]:
    from diagnoser.catalogue.runbook import POINTERS, ROLES

    rule = shown.rule
    yield rule.id
    yield from _wrapped(rule.title, width)
    yield ""
    marks = [rule.family, rule.role, *([f"{rule.severity} ({shown.source})"] if rule.severity else []), rule.status]
    yield from _wrapped(" | ".join([*marks, *shown.versions]), width)
    if rule.role != "cause":
        yield from _wrapped(ROLES[rule.role], width)
    for number, cause in enumerate(shown.causes):
        heading = "WHY" if rule.role == "cause" else "WHAT IT MEANS"
        yield from ("", heading if number == 0 else "  Or, depending on the log:")
        yield from _wrapped(cause, width, "  ")
    if shown.steps:
        yield from ("", "WHAT TO DO")
    for number, step in enumerate(shown.steps, 1):
        yield from _wrapped(step.do, width, f"  {number}. ", "     ")
        if step.run:
            yield from (f"       {line}" for line in step.run.strip("\n").split("\n"))
        for word, words in (("why", step.why), ("verify", step.verify)):
            if words:
                yield from _wrapped(f"{word}: {words}", width, "     ")
    if rule.points_to:
        yield from ("", "WHERE TO LOOK", f"  In {POINTERS[rule.points_to]}.")
    if rule.fetch:
        yield from ("", "WHAT TO COLLECT", *_wrapped(rule.fetch, width, "  "))
    yield from ("", "RECOGNIZED BY")
    for signature in shown.signatures:
        yield f"  {signature.confidence}"
        yield from (f"    {name}: {pattern}" for name, pattern in signature.parts)
    yield from _more(shown, width)


def _more(shown: Page, width: int) -> Iterator[str]:
    """Relations, example and references."""
    for words, ids in (("Goes before", shown.before), ("Comes after", shown.after)):
        if ids:
            yield from ("", *_wrapped(f"{words} {', '.join(ids)} where both hold.", width))
    if shown.rule.check:
        yield from ("", f"`diagnose check` would have found it before launch ({shown.rule.check}).")
    if shown.example:
        yield from ("", "EXAMPLE", *(f"  {line}" for line in shown.example.split("\n")))
    if shown.rule.references:
        yield from ("", "REFERENCES")
    for reference in shown.rule.references:
        yield from _wrapped(reference.title, width, "  ")
        if reference.url != reference.title:
            yield f"    {reference.url}"


def _wrapped(words: str, width: int, first: str = "", later: str | None = None) -> list[str]:
    import textwrap

    indent = later if later is not None else first
    lines: list[str] = []
    for paragraph in words.strip().split("\n"):
        lines += textwrap.wrap(
            paragraph, width, initial_indent=indent if lines else first, subsequent_indent=indent,
            break_long_words=False, break_on_hyphens=False,
        ) or [""]  # fmt: skip
    return lines


def _printable(line: str) -> str:
    """Without control characters: rules may come from anybody."""
    return "".join(character for character in line if character == "\t" or character.isprintable())


def _json(shown: Page) -> str:
    import json

    rule = shown.rule
    return (
        json.dumps(
            {
                "id": rule.id,
                "title": rule.title,
                "role": rule.role,
                "family": rule.family,
                "severity": rule.severity,
                "status": rule.status,
                "applies": dict(rule.applies),
                "fixed_in": rule.fixed_in,
                "causes": list(shown.causes),
                "remedies": [step._asdict() for step in shown.steps],
                "points_to": rule.points_to,
                "fetch": rule.fetch,
                "recognized_by": [
                    {"confidence": signature.confidence, "parts": [list(part) for part in signature.parts]}
                    for signature in shown.signatures
                ],
                "goes_before": list(shown.before),
                "comes_after": list(shown.after),
                "check": rule.check,
                "example": shown.example,
                "references": [reference._asdict() for reference in rule.references],
            },
            indent=2,
            ensure_ascii=False,
        )
        + "\n"
    )


def _columns() -> int:
    if not sys.stdout.isatty():
        return 80
    try:
        return max(40, min(os.get_terminal_size(sys.stdout.fileno()).columns, 100))
    except OSError:
        return 80
