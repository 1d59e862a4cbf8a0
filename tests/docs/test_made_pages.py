"""Pages that scripts in docs/ make from the code; `UPDATE_GOLDEN=1 pytest tests/docs` makes them anew."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest
from markdown_blocks import ROOT
from render.golden import check


@pytest.mark.parametrize(
    ("script", "page"), [("command_page.py", "command-line.md"), ("schema_page.py", "json-report.md")]
)
def test_a_page_is_as_its_script_makes_it(script: str, page: str) -> None:
    made = subprocess.run(
        [sys.executable, ROOT / "docs" / script], capture_output=True, text=True, check=True, encoding="utf-8"
    )

    check(ROOT / "docs" / page, made.stdout)


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_the_manual_page_is_valid() -> None:
    done = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww", "-z", ROOT / "docs" / "diagnose.1"], capture_output=True, text=True
    )

    assert (done.returncode, done.stderr) == (0, "")
