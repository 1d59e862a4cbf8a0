"""`python -m diagnoser` and the console scripts."""

from __future__ import annotations

import sys


def main() -> None:
    """Runs the command line and exits."""
    if sys.argv[1:] == ["--version"]:  # asked by scripts, often; needs nothing of the command line
        from diagnoser import __version__

        print(f"diagnose {__version__}")  # noqa: T201
        return
    from diagnoser.cli.main import run

    sys.exit(run(sys.argv[1:]))


def kubectl() -> None:
    """Runs the plugin of kubectl and exits."""
    from diagnoser.cli.main import run

    sys.exit(run(["kubectl", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
