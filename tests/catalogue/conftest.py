"""Makes `catalogue_helpers` importable by the tests of this folder, and builds catalogues from rule bodies."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from diagnoser.catalogue import Catalogue

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def make_catalogue(tmp_path: Path) -> Callable[..., Catalogue]:
    """Builds a catalogue from rule bodies by id; nothing built in, nothing cached."""
    from catalogue_helpers import rule_text

    def build(
        bodies: dict[str, str], *, roles: dict[str, str] | None = None, extra: dict[str, str] | None = None
    ) -> Catalogue:
        folder = tmp_path / "rules"
        folder.mkdir(exist_ok=True)
        for identifier, body in bodies.items():
            role = (roles or {}).get(identifier, "cause")
            text = rule_text(identifier, body, role, (extra or {}).get(identifier, ""))
            (folder / f"{identifier}.toml").write_text(text, encoding="utf-8")
        catalogue = Catalogue.of_directory(str(folder))
        assert catalogue.errors == ()
        return catalogue

    return build
