"""Puts the compact form of the rules into the wheel, so that a first run need not read TOML."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class RulesHook(BuildHookInterface):
    """Runs when a wheel is built; an editable installation reads `rules/` itself."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Makes the file and adds it to what is packed."""
        if version == "editable":
            return
        sys.path.insert(0, self.root)
        from diagnoser.catalogue.prebuilding import content

        packed = Path(self.directory) / "_rules.bin"
        packed.parent.mkdir(parents=True, exist_ok=True)
        packed.write_bytes(content(f"{self.root}/rules"))
        build_data["force_include"][str(packed)] = "diagnoser/_rules.bin"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Takes the file away again."""
        (Path(self.directory) / "_rules.bin").unlink(missing_ok=True)
