"""Nothing that stands in a log, in a rule or in a name does anything in any format but be shown."""

import json
import re
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from functools import cache
from typing import Any

import html5lib
import pytest
from attacks import ATTACKS
from hypothesis import given, settings
from hypothesis import strategies as st
from report_samples import diagnosed, findings, incomplete, requests, two_incidents, unknown

from diagnoser.model import Remedy, Report
from diagnoser.render import FORMATS, RenderOptions, render
from diagnoser.render._plain import one_line, printable
from diagnoser.render.github import command, summary

WORDS_OF_THE_MODEL = ("kind", "link", "verdict", "impact", "confidence", "severity", "status", "role")


def several() -> Report:
    """Incidents of every kind in one report."""
    return diagnosed()._replace(incidents=(*diagnosed().incidents, *unknown().incidents, *requests().incidents))


BASES: dict[str, Callable[[], Report]] = {"several": several, "incomplete": incomplete, "findings": findings}


def everywhere(value: Any, text: str) -> Any:
    """The report with that text in every place that can hold any text."""
    if isinstance(value, str):
        return text
    if not isinstance(value, tuple):
        return value
    if hasattr(value, "_replace"):
        return value._replace(
            **{
                name: everywhere(part, text)
                for name, part in zip(value._fields, value, strict=True)
                if name not in WORDS_OF_THE_MODEL
            }
        )
    return tuple(everywhere(part, text) for part in value)


@cache
def benign(base: str) -> Report:
    result: Report = everywhere(BASES[base](), "text")
    return result


def attacked(base: str, attack: str) -> Report:
    result: Report = everywhere(BASES[base](), ATTACKS[attack])
    return result


def test_the_list_is_long_enough() -> None:
    assert len(ATTACKS) >= 60


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("attack", ATTACKS)
def test_text_holds_no_character_a_terminal_acts_upon(attack: str, base: str) -> None:
    for options in (RenderOptions(), RenderOptions(width=60, verbosity=1), RenderOptions(verbosity=-1)):
        text = render(attacked(base, attack), "text", options)

        assert bad_characters(text) == []
        assert text.encode("utf-8")
    colored = render(attacked(base, attack), "text", RenderOptions(color=True))
    assert bad_characters(re.sub(r"\x1b\[[0-9;]+m", "", colored)) == []


def bad_characters(text: str) -> list[str]:
    return [
        char
        for char in text
        if (ord(char) < 32 and char != "\n")
        or 0x7F <= ord(char) < 0xA0
        or char in "\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2028\u2029\u2066\u2067\u2068\u2069\ufeff"
        or 0xD800 <= ord(char) <= 0xDFFF
        or 0xE0000 <= ord(char) < 0xE1000
    ]


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("attack", ATTACKS)
def test_json_gives_every_text_back(attack: str, base: str) -> None:
    text = render(attacked(base, attack), "json")
    report = json.loads(text)

    assert report["tool"]["version"] == ATTACKS[attack]
    assert bad_characters(text) == []


def elements(page: str) -> dict[str, int]:
    parser = html5lib.HTMLParser(tree=html5lib.getTreeBuilder("etree"), namespaceHTMLElements=False)
    tree = parser.parse(page)
    assert [error for error in parser.errors if error[1] != "non-void-element-with-trailing-solidus"] == []
    counts: dict[str, int] = {}
    for element in tree.iter():
        if isinstance(element.tag, str):
            counts[element.tag] = counts.get(element.tag, 0) + 1
            for name, value in element.attrib.items():
                assert not name.startswith("on")
                assert name != "style"
                assert name not in ("href", "src") or value.startswith(("#", "https://", "http://"))
    return counts


@cache
def benign_elements(base: str) -> dict[str, int]:
    return elements(render(benign(base), "html"))


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("attack", ATTACKS)
def test_html_gets_no_element_from_a_text(attack: str, base: str) -> None:
    page = render(attacked(base, attack), "html")
    found, expected = elements(page), benign_elements(base)
    texts = {"p", "code", "br"}  # a rule's text may have paragraphs and inline code

    assert set(found) - texts <= set(expected)
    assert [found.get(tag, 0) for tag in ("script", "style", "meta", "title")] == [1, 1, 5, expected["title"]]
    assert bad_characters(page) == []
    assert len(page.encode("utf-8")) < 1_000_000
    if "7*7" in ATTACKS[attack]:
        assert "{{ 7*7 }}" in page


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("format_name", ["markdown", "issue"])
def test_markdown_gets_no_markup_from_a_text(format_name: str, attack: str, base: str) -> None:
    MarkdownIt = pytest.importorskip("markdown_it", reason="no markdown-it-py").MarkdownIt  # noqa: N806
    page = render(attacked(base, attack), format_name)
    tokens = MarkdownIt("commonmark", {"linkify": False}).enable("table").enable("strikethrough").parse(page)
    inner = [child for token in tokens for child in token.children or ()]
    kinds = {token.type for token in tokens} | {token.type for token in inner}
    expected = [
        token.tag
        for token in MarkdownIt("commonmark").parse(render(benign(base), format_name))
        if token.type == "heading_open"
    ]

    assert (
        kinds & {"html_block", "html_inline", "image", "link_open", "table_open", "s_open", "em_open", "code_block"}
        == set()
    )
    assert [token.tag for token in tokens if token.type == "heading_open"] == expected
    assert bad_characters(page) == []
    assert re.findall(r"(?<![\w`])[@#]\w", outside_code(tokens)) == []


def outside_code(tokens: Any) -> str:
    """The text of the page that is not code, as it is shown."""
    return " ".join(child.content for token in tokens for child in token.children or () if child.type == "text")


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("attack", ATTACKS)
def test_junit_is_the_same_tree_of_elements(attack: str, base: str) -> None:
    def tags(text: str) -> list[str]:
        return [element.tag for element in ElementTree.fromstring(text.encode("utf-8")).iter()]

    assert tags(render(attacked(base, attack), "junit")) == tags(render(benign(base), "junit"))


def commands(text: str) -> list[str]:
    """What the runner of GitHub Actions would obey, by its own rules: leading space does not count."""
    obeyed, mark = [], None
    for line in re.split(r"[\r\n]+", text):
        found = re.match(r"\s*::([\w-]+)[^:]*::(.*)", line)
        if mark is not None:
            if found and found.group(1) == mark:
                mark = None
            continue
        if found:
            obeyed.append(found.group(1))
            if found.group(1) == "stop-commands":
                mark = found.group(2).strip()
        elif "##[" in line or "##vso[" in line:
            obeyed.append(line)
    assert mark is None
    return obeyed


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("attack", [name for name, text in ATTACKS.items() if "##" not in text])
def test_github_obeys_no_text(attack: str, base: str) -> None:
    assert commands(render(attacked(base, attack), "github")) == commands(render(benign(base), "github"))


@pytest.mark.parametrize("attack", [name for name, text in ATTACKS.items() if "##" in text])
def test_github_obeys_no_command_of_the_old_form_in_an_annotation(attack: str) -> None:
    first = render(attacked("several", attack), "github").split("\n")[0]

    assert first.startswith("::error file=")
    assert "##[" not in first
    assert "##vso[" not in first


def test_github_properties_and_values_are_encoded() -> None:
    assert (
        command("error", {"file": "a,b:c%", "line": 3}, "50%\nnext: a,b")
        == "::error file=a%2Cb%3Ac%25,line=3::50%25%0Anext: a,b"
    )


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("attack", ATTACKS)
def test_termination_fits_and_is_clean(attack: str, base: str) -> None:
    data = render(attacked(base, attack), "termination").encode("utf-8")

    assert len(data) <= 4096
    assert bad_characters(data.decode("utf-8")) == []


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=3000), st.sampled_from(sorted(BASES)))
def test_termination_fits_whatever_the_texts_are(text: str, base: str) -> None:
    shown = render(everywhere(BASES[base](), text), "termination")

    assert len(shown.encode("utf-8")) <= 4096


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=600).filter(lambda text: printable(text).strip()))
def test_termination_always_has_the_failure_and_the_first_step(text: str) -> None:
    report = diagnosed()
    incident = report.incidents[0]
    first, *others = incident.diagnoses
    step = first.remedies[0]._replace(do=f"STEP {text}", run=f"COMMAND {text[:200]}")
    changed = incident._replace(
        root=incident.root._replace(exceptions=(incident.root.exceptions[0]._replace(message=text * 20),)),
        diagnoses=(first._replace(title=text, cause=text * 20, remedies=(step,)), *others),
    )
    shown = render(report._replace(incidents=(changed,)), "termination")

    assert shown.startswith("AssertionError in Worker_TP1")
    assert "STEP " in shown
    assert f"  $ {one_line(f'COMMAND {text[:200]}')}\n" in shown


def test_termination_leaves_a_long_command_out_instead_of_cutting_it() -> None:
    report = diagnosed()
    incident = report.incidents[0]
    steps = (Remedy("Do this.", run="x" * 1000), Remedy("Do that.", run="y" * 100))
    changed = incident._replace(diagnoses=(incident.diagnoses[0]._replace(remedies=steps),))
    shown = render(report._replace(incidents=(changed,)), "termination")

    assert "xxx" not in shown
    assert f"  $ {'y' * 100}\n" in shown


@pytest.mark.parametrize("format_name", FORMATS)
def test_a_message_of_ten_million_characters(format_name: str) -> None:
    report = two_incidents()
    incident = report.incidents[0]
    message = "a lot of text " * 700_000
    root = incident.root._replace(exceptions=(incident.root.exceptions[0]._replace(message=message, notes=(message,)),))
    started = time.perf_counter()
    shown = render(report._replace(incidents=(incident._replace(root=root),)), format_name)
    took = time.perf_counter() - started

    assert took < 5
    assert format_name == "json" or len(shown.encode("utf-8")) < 100_000


@pytest.mark.parametrize("format_name", FORMATS)
@settings(max_examples=25, deadline=None)
@given(text=st.text(max_size=200), base=st.sampled_from(sorted(BASES)), width=st.integers(1, 300))
def test_every_format_takes_every_text_and_says_the_same_twice(
    format_name: str, text: str, base: str, width: int
) -> None:
    report = everywhere(BASES[base](), text)
    options = RenderOptions(width=width)
    shown = render(report, format_name, options)

    assert shown.endswith("\n")
    assert shown == render(report, format_name, options)


@pytest.mark.parametrize("attack", ATTACKS)
def test_the_job_summary_is_short_enough(attack: str) -> None:
    assert len(summary(attacked("several", attack), RenderOptions()).encode("utf-8")) <= 1_000_000
