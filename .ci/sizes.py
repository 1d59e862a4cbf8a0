"""Prints how long the modules are: how many, the middle one, the longest."""

from __future__ import annotations

from pathlib import Path
from statistics import median

LONGEST = 5


def main() -> None:
    """Prints three lines."""
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in Path("diagnoser").rglob("*.py")}
    longest = sorted(lengths, key=lambda path: -lengths[path])[:LONGEST]
    print(f"{len(lengths)} modules, {sum(lengths.values())} lines, median {median(lengths.values()):.0f}")
    print("longest:", ", ".join(f"{path} {lengths[path]}" for path in longest))


if __name__ == "__main__":
    main()
