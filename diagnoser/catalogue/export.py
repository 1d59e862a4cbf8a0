"""Runbook pages as Markdown: one file per rule and an index, plain or as an MkDocs project.

Rule texts are plain text; whatever Markdown or HTML would make of their characters is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from diagnoser.catalogue.runbook import POINTERS, ROLES, Page, page
from diagnoser.model import Rule

_SPECIAL = re.compile(r"[\\`*_\[\]<>#|~!&{}]")
_AS_ENTITY = {"<": "&lt;", "&": "&amp;", "|": "&#124;", "~": "&#126;"}
"""Characters before which Python's Markdown, which MkDocs uses, shows a backslash instead of obeying it."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def documents(rules: Mapping[str, Rule], *, mkdocs: bool = False) -> dict[str, str]:
    """Every file of an export, path to content. With `mkdocs`, pages lie in `docs/` beside an `mkdocs.yml`."""
    folder = "docs/" if mkdocs else ""
    files = {f"{folder}{rule.id}.md": markdown(page(rule, rules)) for rule in rules.values()}
    files[f"{folder}index.md"] = index(rules)
    if mkdocs:
        files["mkdocs.yml"] = mkdocs_configuration(rules)
    return dict(sorted(files.items()))


def markdown(shown: Page) -> str:
    """The page of one rule."""
    rule = shown.rule
    lines = [f"# {escape(rule.title)}", "", _facts_line(shown), ""]
    if rule.role != "cause":
        lines += [ROLES[rule.role], ""]
    for number, cause in enumerate(shown.causes):
        heading = "## Why" if rule.role == "cause" else "## What it means"
        lines += ([heading, ""] if number == 0 else ["Or, depending on the log:", ""]) + [escape(cause), ""]
    lines += _steps(shown)
    if rule.points_to:
        lines += ["## Where to look", "", f"In {POINTERS[rule.points_to]}.", ""]
    if rule.fetch:
        lines += ["## What to collect", "", escape(rule.fetch.strip()), ""]
    lines += ["## Recognized by", ""]
    for signature in shown.signatures:
        parts = ", ".join(f"{name} {code(pattern)}" for name, pattern in signature.parts)
        lines.append(f"- {signature.confidence}: {parts}")
    lines += ["", *_related(shown)]
    if shown.example:
        lines += ["## Example", "", fence(shown.example), ""]
    if rule.references:
        lines += ["## References", ""]
        lines += [f"- [{escape(reference.title)}]({_address(reference.url)})" for reference in rule.references]
        lines.append("")
    return "\n".join(lines).rstrip("\n") + "\n"


def index(rules: Mapping[str, Rule]) -> str:
    """The page that lists all rules by family."""
    lines = ["# Runbooks", "", f"{len(rules)} rules.", ""]
    for family, members in families(rules.values()):
        lines += [f"## {escape(family)}", "", "| Rule | What happened | Whose problem |", "| --- | --- | --- |"]
        for rule in members:
            whose = rule.severity or ("" if rule.role == "cause" else rule.role)
            lines.append(f"| [{rule.id}]({rule.id}.md) | {escape(rule.title)} | {whose} |")
        lines.append("")
    return "\n".join(lines).rstrip("\n") + "\n"


def mkdocs_configuration(rules: Mapping[str, Rule]) -> str:
    """A complete `mkdocs.yml` with one section per family."""
    lines = ["site_name: Runbooks", "theme:", "  name: readthedocs", "nav:", "  - index.md"]
    for family, members in families(rules.values()):
        lines.append(f"  - {family}:")
        lines += [f"      - {rule.id}.md" for rule in members]
    return "\n".join(lines) + "\n"


def families(rules: Iterable[Rule]) -> Iterator[tuple[str, list[Rule]]]:
    """Rules by family, both in the order of their names."""
    grouped: dict[str, list[Rule]] = {}
    for rule in rules:
        grouped.setdefault(rule.family, []).append(rule)
    for family in sorted(grouped):
        yield family, sorted(grouped[family], key=lambda rule: rule.id)


def escape(text: str) -> str:
    """Plain text for Markdown: no character has a meaning, no line starts a block."""
    plain = _CONTROL.sub("", text).strip()
    cleaned = _SPECIAL.sub(lambda found: _AS_ENTITY.get(found[0], f"\\{found[0]}"), plain)
    return re.sub(r"(?m)^(\s*)([-+=:]|\d+[.)])(?=\s|$)", r"\1\\\2", cleaned)


def code(text: str) -> str:
    """A code span, with as many backticks as it takes.

    As an element where `<!` stands in it (a negative look-behind): MkDocs 1.6 reads that as a declaration of HTML,
    inside code spans too, and fails.
    """
    cleaned = _CONTROL.sub("", text).replace("\n", " ")
    if "<!" in cleaned:
        return f"<code>{_SPECIAL.sub(lambda found: f'&#{ord(found[0])};', cleaned)}</code>"
    ticks = "`" * (max(map(len, re.findall(r"`+", cleaned)), default=0) + 1)
    space = " " if cleaned.startswith("`") or cleaned.endswith("`") else ""
    return f"{ticks}{space}{cleaned}{space}{ticks}"


def fence(text: str, language: str = "text") -> str:
    """A code block, with as many backticks as it takes."""
    cleaned = _CONTROL.sub("", text)
    ticks = "`" * max(3, max(map(len, re.findall(r"`+", cleaned)), default=0) + 1)
    return f"{ticks}{language}\n{cleaned}\n{ticks}"


def _facts_line(shown: Page) -> str:
    rule = shown.rule
    parts = [code(rule.id), f"family {escape(rule.family)}"]
    if rule.severity:
        parts.append(f"{rule.severity} ({shown.source})")
    parts += [escape(text) for text in shown.versions]
    return " · ".join([*parts, rule.status])


def _steps(shown: Page) -> list[str]:
    if not shown.steps:
        return []
    lines = ["## What to do", ""]
    for number, step in enumerate(shown.steps, 1):
        lines.append(f"{number}. {escape(step.do)}")
        indent = "    "  # Python's Markdown, which MkDocs uses, ends the list at less
        if step.why:
            lines += ["", f"{indent}Why: {escape(step.why)}"]
        if step.run:
            lines += ["", *(indent + line for line in fence(step.run.strip("\n"), "sh").split("\n"))]
        if step.verify:
            lines += ["", f"{indent}Verify: {escape(step.verify)}"]
        lines.append("")
    return lines


def _related(shown: Page) -> list[str]:
    lines = []
    for words, ids in (("Goes before", shown.before), ("Comes after", shown.after)):
        if ids:
            lines += [f"{words} {', '.join(f'[{other}]({other}.md)' for other in ids)} where both hold.", ""]
    if shown.rule.check:
        lines += [f"`diagnose check` would have found it before launch ({escape(shown.rule.check)}).", ""]
    return lines


def _address(url: str) -> str:
    """An address that can't end the link it stands in."""
    return "".join(f"%{ord(c):02X}" if c in " ()<>\"'`\\[]" or ord(c) < 33 else c for c in url)
