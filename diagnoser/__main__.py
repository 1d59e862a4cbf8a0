"""`python -m diagnoser` and the console scripts."""

from __future__ import annotations

import gc
import sys


def main() -> None:
    """Runs the command line and exits."""
    _spare_collections()
    if sys.argv[1:] == ["--version"]:  # asked by scripts, often; needs nothing of the command line
        from diagnoser import __version__

        print(f"diagnose {__version__}")  # noqa: T201
        return
    from diagnoser.cli.main import run

    sys.exit(run(sys.argv[1:]))


def kubectl() -> None:
    """Runs the plugin of kubectl and exits."""
    _spare_collections()
    from diagnoser.cli.main import run

    sys.exit(run(["kubectl", *sys.argv[1:]]))


def _spare_collections() -> None:
    """Nothing that is made while starting is garbage; looking for it takes a twentieth of a small log's time."""
    gc.set_threshold(50_000)


if __name__ == "__main__":
    main()
