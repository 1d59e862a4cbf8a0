"""Every link leads somewhere: files and headings exist, addresses are well formed, rules are in the catalogue."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from markdown_blocks import ROOT, headings, links, pages

from diagnoser.catalogue import Catalogue

LONG_ADDRESS = 300


@pytest.mark.parametrize("page", pages(), ids=lambda path: str(path.relative_to(ROOT)))
def test_links_of_a_page(page: Path) -> None:
    assert [f"{page.name}:{line}: {target}" for line, target in links(page) if not leads_somewhere(page, target)] == []


def leads_somewhere(page: Path, target: str) -> bool:
    parts = urlsplit(target)
    if parts.scheme:
        return parts.scheme in ("https", "mailto") and well_formed(target)
    place = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if place.parent == ROOT / "docs" / "rules":  # made when the site is built
        return place.stem == "index" or place.stem in Catalogue.load(()).rules
    if not place.exists() or not place.is_relative_to(ROOT):
        return False
    return not parts.fragment or place.suffix != ".md" or parts.fragment in headings(place)


def well_formed(address: str) -> bool:
    host = urlsplit(address).hostname or ""
    return len(address) < LONG_ADDRESS and bool(re.fullmatch(r"[a-z0-9-]+(\.[a-z0-9-]+)+", host))


def test_addresses_in_rules_are_well_formed() -> None:
    bad = [
        (rule.id, reference.url)
        for rule in Catalogue.load(()).rules.values()
        for reference in rule.references
        if not reference.url.startswith("https://") or not well_formed(reference.url)
    ]

    assert bad == []


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("docs/glossary.md", True),
        ("docs/no-such-page.md", False),
        ("https://docs.vllm.ai/en/latest/", True),
        ("http://docs.vllm.ai/", False),
        ("https://nowhere/", False),
        ("docs/rules/parallel-kv-heads-not-divisible.md", True),
        ("docs/rules/no-such-rule.md", False),
        ("#no-such-heading", False),
    ],
)
def test_what_counts_as_leading_somewhere(target: str, expected: bool) -> None:
    assert leads_somewhere(ROOT / "README.md", target) is expected
