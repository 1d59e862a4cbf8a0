"""What MkDocs builds beside the files in this folder: the front page, the pages of the repository's root, all rules.

Called by MkDocs (`hooks` in mkdocs.yml). Nothing is written to this folder.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from diagnoser.catalogue import Catalogue
from diagnoser.catalogue.export import families, fence, index, markdown
from diagnoser.catalogue.runbook import page as runbook
from diagnoser.model import Rule

ROOT = Path(__file__).parents[1]
FROM_ROOT = {"index.md": "README.md", "contributing.md": "CONTRIBUTING.md", "changelog.md": "CHANGELOG.md"}
"""Pages of the site that are files of the repository's root."""
ELSEWHERE = {"LICENSE": "https://www.apache.org/licenses/LICENSE-2.0", "SECURITY.md": "threat-model.md"}


def on_files(files: Files, config: MkDocsConfig, **_: Any) -> Files:
    """Adds the pages that no file in this folder holds."""
    for target, source in FROM_ROOT.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, target, content=from_root(text)))
    rules = Catalogue.load(()).rules
    files.append(File.generated(config, "rules/index.md", content=index(rules)))
    for rule in rules.values():
        content = markdown(runbook(rule, rules)) + more_samples(rule)
        files.append(File.generated(config, f"rules/{rule.id}.md", content=content))
    _add_to_navigation(config, rules)
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Links to the repository's root lead to its pages; a search shows rules first, and leaves out reports."""
    if page.file.src_uri.startswith("rules/"):
        page.meta["search"] = {"boost": 4}
    if page.file.src_uri in ("samples/report.md", "samples/issue.md", "changelog.md"):
        page.meta["search"] = {"exclude": True}
    for target, source in FROM_ROOT.items():
        markdown = markdown.replace(f"](../{source}", f"]({target}")
    return markdown


def from_root(text: str) -> str:
    """A page of the root with its links as they are from within this folder."""
    text = text.replace("](docs/", "](")
    places = {source: target for target, source in FROM_ROOT.items()} | ELSEWHERE
    for name, target in places.items():
        text = text.replace(f"]({name}", f"]({target}")
    return text


def more_samples(rule: Rule) -> str:
    """The logs that the rule is tested with, so that a search for any of their texts finds the page."""
    logs = [sample.log.strip("\n") for sample in rule.samples if sample.expect == "match"][1:]
    if not logs:
        return ""
    blocks = "\n\n".join(fence(log) for log in logs)
    return f'\n??? note "More logs that it holds for"\n\n{re.sub("(?m)^(?=.)", "    ", blocks)}\n'


def _add_to_navigation(config: MkDocsConfig, rules: dict[str, Rule]) -> None:
    section = next(entry["Rules"] for entry in config.nav or () if isinstance(entry, dict) and "Rules" in entry)
    for family, members in families(rules.values()):
        section.append({family: [f"rules/{rule.id}.md" for rule in members]})
