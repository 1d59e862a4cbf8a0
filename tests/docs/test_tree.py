"""The tree that CONTRIBUTING draws, and the files that pages name, are those of the repository."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from markdown_blocks import ROOT, blocks, pages, spans

DRAWN = next(block.text for block in blocks(ROOT / "CONTRIBUTING.md") if block.text.startswith("README.md"))
NAME = re.compile(r"[\w.-]+/(?:[\w.-]+/?)*(?:<[\w-]+>/?)*|[\w-]+\.(?:py|md|yml)")
PLACES = (ROOT, ROOT / "diagnoser", ROOT / "tests", ROOT / "docs")
ELSEWHERE = re.compile(
    r"^(?:/|~|[A-Z]\w*/|\.venv/|vllm/|torch/|mooncake/|my-rules|runbooks|logs/|share/|session|dist/)"
)


def test_what_the_tree_names_exists() -> None:
    missing = []
    for line in DRAWN.split("\n"):
        base = ROOT / "diagnoser" if line.startswith("  ") else ROOT
        named = re.split(r"\s{3,}|[┐│┘]", line.strip())[0]
        missing += [name for name in NAME.findall(named) if not (base / name.split("<")[0]).exists()]

    assert missing == []


def test_every_part_of_the_package_is_in_the_tree_or_beside_a_stage() -> None:
    """A folder is a part that people look for; single modules are found by their names."""
    folders = {path.name for path in (ROOT / "diagnoser").iterdir() if (path / "__init__.py").exists()}

    assert {name for name in folders if f"  {name}/" not in DRAWN} == set()


@pytest.mark.parametrize("page", pages(), ids=lambda path: str(path.relative_to(ROOT)))
def test_files_that_a_page_names_exist(page: Path) -> None:
    named = [
        (line, text) for line, text in spans(page) if re.fullmatch(r"[\w.-]+(?:/[\w.-]+)+\.(?:py|toml|md|json)", text)
    ]

    assert [
        (line, text)
        for line, text in named
        if not ELSEWHERE.match(text) and not any((place / text).exists() for place in (*PLACES, page.parent))
    ] == []
