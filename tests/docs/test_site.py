"""The documentation builds as a site, with warnings as errors, and a search in it finds the error texts people paste."""

from __future__ import annotations

import html
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

import pytest
from markdown_blocks import ROOT
from render.browser import CHROMIUM, browser

from diagnoser.catalogue import Catalogue
from diagnoser.model import Rule

MISSING = [name for name in ("mkdocs", "material") if find_spec(name) is None]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)} (pip install '.[docs]')")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT, capture_output=True, text=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def texts(site: Path) -> dict[str, str]:
    """What the search knows of each page, by the page's address without its anchor."""
    entries = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))["docs"]
    found: dict[str, str] = {}
    for entry in entries:
        page = entry["location"].split("#")[0]
        found[page] = f"{found.get(page, '')} {entry['title']} {entry['text']}"
    return found


def test_every_rule_has_a_page(site: Path) -> None:
    without = [rule for rule in Catalogue.load(()).rules if not (site / "rules" / rule / "index.html").is_file()]

    assert without == []


def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    """The site can be read where there is no network."""
    pages = [site / "index.html", site / "rules" / "index.html", site / "getting-started" / "index.html"]
    loaded = [
        address
        for page in pages
        for address in re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="(https?:[^"]+)"', page.read_text())
        if 'rel="canonical"' not in address
    ]

    assert loaded == []


def last_lines(rule: Rule) -> Iterator[str]:
    """The last line of each sample that must match: mostly the error as people paste it."""
    for sample in rule.samples:
        if sample.expect == "match":
            yield sample.log.strip().split("\n")[-1]


def test_an_error_text_is_found_on_the_page_of_its_rule(texts: dict[str, str]) -> None:
    without = []
    for rule in Catalogue.load(()).rules.values():
        known = words(texts.get(f"rules/{rule.id}/", ""))
        without += [(rule.id, line) for line in last_lines(rule) if not words(line) <= known]

    assert without == []


def words(text: str) -> set[str]:
    return set(re.findall(r"\w{3,}", html.unescape(re.sub(r"<[^>]+>", " ", text))))


class Quiet(SimpleHTTPRequestHandler):
    """Serves the site without telling of each request."""

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


FIRST = 3
"""How many results a person looks at."""
TITLES = (
    "[...document.querySelectorAll('.md-search-result__item')].map(item => item.querySelector('h1, h2').textContent)"
)


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: apt-get install chromium")
@pytest.mark.parametrize(
    ("pasted", "rule"),
    [
        ("self.total_num_kv_heads % tp_size == 0", "parallel-kv-heads-not-divisible"),
        ("AssertionError: expert_id < num_experts", "moe-expert-id-out-of-range"),
        ("mooncake connector metadata size mismatch", "mooncake-metadata-size-mismatch"),
    ],
)
def test_a_search_for_an_error_shows_its_rule_first(address: str, pasted: str, rule: str) -> None:
    title = Catalogue.load(()).rules[rule].title
    with browser() as page:
        page.show(f"{address}?q={quote(pasted)}", width=1100)
        deadline = time.monotonic() + 60
        while not (found := page.evaluate(TITLES)) and time.monotonic() < deadline:
            time.sleep(0.2)

    assert title in found[:FIRST]
