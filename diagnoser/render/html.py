"""The report as one HTML file that needs nothing else: no font, script, style or image from anywhere.

A Content-Security-Policy in the page allows the page's own style and script by their hashes and nothing else, so that
even markup that slipped through could do nothing. Every text is escaped by the template engine after `printable`.
"""

from __future__ import annotations

import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from diagnoser.model import Report
from diagnoser.render import RenderOptions
from diagnoser.render._about import (
    coverage_words,
    fact_words,
    finding_counts,
    finding_order,
    nothing_words,
    redaction_words,
)
from diagnoser.render._html_view import CODE_LENGTH, MOST, TEXT_LENGTH, brief, cut, incident_view
from diagnoser.render._plain import cut_end, excerpt, one_line, printable
from diagnoser.render._prepare import prepared
from diagnoser.render._words import (
    NOT_IN_THIS_LOG,
    frame_place,
    headline,
    place,
    plural,
    process_label,
    process_list,
    process_with_pid,
    type_label,
)

_WEB = re.compile(r"https?://[^\s<>\"'`\\]+")
_BACKTICKS = re.compile(r"(`[^`\n]+`)")


def render(report: Report, options: RenderOptions) -> str:
    """The page; equal reports give equal bytes."""
    report = prepared(report)
    engine = _engine()
    style, script = _asset("style.css"), _asset("script.js")
    shown = report.incidents[: MOST["incidents"]]
    page: str = engine.get_template("report.html.j2").render(
        report=report,
        title=options.title or _title(report),
        style=Markup(style),
        script=Markup(script),
        policy=_policy(style, script),
        incidents=[incident_view(incident, report, number) for number, incident in enumerate(shown, 1)],
        brief=brief(report.incidents[len(shown) :]),
        findings=cut(finding_order(report.findings), "findings"),
        facts=cut(report.facts, "facts"),
        sources=cut(report.sources, "sources"),
        notes=cut(report.coverage.notes, "notes"),
    )
    return page


def _title(report: Report) -> str:
    if report.findings:
        return finding_counts(report.findings)
    if not report.incidents:
        return nothing_words(report)
    first = report.incidents[0]
    return f"{NOT_IN_THIS_LOG}: {headline(first)}" if first.incomplete else headline(first)


def _policy(style: str, script: str) -> str:
    """Nothing may be loaded, sent or framed; only this style and this script may be used."""
    return (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return "sha256-" + b64encode(sha256(text.encode("utf-8")).digest()).decode("ascii")


@cache
def _asset(name: str) -> str:
    """The text of a file of the templates folder that goes into the page as it is."""
    loader = _engine().loader
    assert loader is not None
    return loader.get_source(_engine(), name)[0]


@cache
def _engine() -> Environment:
    engine = Environment(
        loader=PackageLoader("diagnoser.render", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_finalize,
    )
    engine.filters.update(
        prose=_prose,
        line=one_line,
        brief=lambda text: cut_end(one_line(excerpt(text or "", TEXT_LENGTH)), TEXT_LENGTH),
        code=lambda text: excerpt(text or "", CODE_LENGTH),
        number=lambda value: f"{value:,}",
    )
    words = (
        coverage_words,
        fact_words,
        finding_counts,
        frame_place,
        nothing_words,
        place,
        plural,
        process_label,
        process_list,
        process_with_pid,
        redaction_words,
        type_label,
    )
    engine.globals.update({word.__name__: word for word in words})
    engine.tests["web"] = lambda url: bool(_WEB.fullmatch(url))
    return engine


def _finalize(value: Any) -> Any:
    """Everything a template prints goes through here before it is escaped."""
    if isinstance(value, Markup):
        return value
    return printable(value) if isinstance(value, str) else value


def _prose(text: str) -> Markup:
    """A rule's text: paragraphs at empty lines, `code` in backticks, all else escaped."""
    paragraphs = []
    for paragraph in re.split(r"\n[ \t]*\n", printable(excerpt(text, 4 * TEXT_LENGTH)).strip()):
        parts = _BACKTICKS.split(paragraph)
        marked = (
            Markup("<code>{}</code>").format(part[1:-1]) if index % 2 else Markup.escape(part)  # type: ignore[no-untyped-call,unused-ignore]
            for index, part in enumerate(parts)
        )
        paragraphs.append(Markup("<p>{}</p>").format(Markup("").join(marked)))
    return Markup("\n").join(paragraphs)
