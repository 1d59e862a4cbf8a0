"""`python -m diagnoser` and the console scripts."""

from __future__ import annotations

import gc
import sys


def main() -> None:
    """Runs the command line and exits."""
    if sys.argv[1:] == ["--version"]:  # asked by scripts, often; needs nothing of the command line
        from diagnoser import __version__

        print(f"diagnose {__version__}")  # noqa: T201
        return
    _run(sys.argv[1:])


def kubectl() -> None:
    """Runs the plugin of kubectl and exits."""
    _run(["kubectl", *sys.argv[1:]])


def _run(arguments: list[str]) -> None:
    """Runs the command line and exits.

    Nothing that is made while starting is garbage, and what is left at the end goes with the process: looking for
    garbage then would take a sixth of a small log's time.
    """
    gc.set_threshold(50_000)
    from diagnoser.cli.main import run

    status = run(arguments)
    gc.freeze()
    sys.exit(status)


if __name__ == "__main__":
    main()
