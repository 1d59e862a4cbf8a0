"""Every command in the README and the docs runs, and every output shown there is what the tool prints today.

`UPDATE_GOLDEN=1 pytest tests/docs` writes the shown outputs anew; look at the difference before it is committed.

A page is run from top to bottom in one folder (see `sandbox`). Its blocks:

- `sh`: a script. No command in it may be called wrongly or be missing. `python`: likewise, without an exception.
- `console`: commands behind `$ `, each followed by its exact output.
- any block behind `<!-- made by: COMMAND -->`: the output of that command.
- `yaml` and `ini`: what workflows, manifests and unit files run is run too. `toml` and `json` must be valid.
- a block with `title="NAME"` is written to that file, for the commands that come after it.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import sandbox
from markdown_blocks import ROOT, Block, blocks, pages
from scripts_in_pages import scripts, session


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return sandbox.make(tmp_path)


@pytest.mark.parametrize("page", pages(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_page_runs(page: Path, folder: Path) -> None:
    wrong: list[str] = []
    fresh: list[tuple[Block, str]] = []
    for block in blocks(page):
        text = block.text
        if block.title:
            _write(folder, block)
        if block.made_by:
            outcome = sandbox.run(block.made_by, folder)
            wrong += [f"{block.name}: {problem}" for problem in outcome.wrong]
            text = outcome.stdout
        elif block.language == "console":
            text, problems = _replayed(block, folder)
            wrong += problems
        else:
            for script in scripts(block):
                wrong += [f"{block.name}: {problem}" for problem in sandbox.run(script, folder).wrong]
        if text.rstrip("\n") != block.text.rstrip("\n"):
            fresh.append((block, text))
    if os.environ.get("UPDATE_GOLDEN") and not wrong:
        _rewrite(page, fresh)
        fresh = []

    assert wrong == []
    assert [(block.name, block.text) for block, _ in fresh] == [(block.name, text) for block, text in fresh]


def test_the_readme_shows_what_it_promises() -> None:
    """A log before, a diagnosis after, installation, five recipes."""
    found = [block.language for block in blocks(ROOT / "README.md")]

    assert found.count("console") >= 1
    assert found.count("sh") >= 6


def _replayed(block: Block, folder: Path) -> tuple[str, list[str]]:
    """The block with the output that its commands print now, and what went wrong."""
    lines: list[str] = []
    wrong: list[str] = []
    for shown in session(block):
        outcome = sandbox.run(shown.command, folder)
        wrong += [f"{block.name}: {problem}" for problem in outcome.wrong]
        printed = outcome.stdout.replace(str(folder), "~")
        lines.append(f"$ {shown.command}\n{printed}" + ("\n" if shown.output.endswith("\n\n") else ""))
    return "".join(lines), wrong


def _write(folder: Path, block: Block) -> None:
    target = (folder / str(block.title)).resolve()
    assert target.is_relative_to(folder), f"{block.name}: {block.title} leads out of the folder"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(block.text, encoding="utf-8")


def _rewrite(page: Path, fresh: list[tuple[Block, str]]) -> None:
    lines = page.read_text(encoding="utf-8").split("\n")
    for block, text in sorted(fresh, key=lambda item: -item[0].line):
        start, end = block.line - 1, block.line - 1 + block.text.count("\n")
        lines[start:end] = text.rstrip("\n").split("\n")
    page.write_text("\n".join(lines), encoding="utf-8")
