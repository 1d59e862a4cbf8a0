"""`python -m diagnoser` and the console scripts."""

from __future__ import annotations

import sys


def main() -> None:
    """Runs the command line and exits."""
    from diagnoser.cli.main import run

    sys.exit(run(sys.argv[1:]))


def kubectl() -> None:
    """Runs the plugin of kubectl and exits."""
    from diagnoser.cli.main import run

    sys.exit(run(["kubectl", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
