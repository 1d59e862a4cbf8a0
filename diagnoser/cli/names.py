"""What commands there are."""

from __future__ import annotations

COMMANDS = {
    "run": "diagnoser.cli.run:run",
    "follow": "diagnoser.cli.follow:follow",
    "check": "diagnoser.cli.check:check",
    "explain": "diagnoser.cli.explain:explain",
    "rules": "diagnoser.cli.rules:rules",
    "diff": "diagnoser.cli.diff:diff",
    "kubectl": "diagnoser.cli.kubectl:kubectl",
    "completion": "diagnoser.cli.completion:completion",
}
"""Commands by name; anything else on the command line is a log to diagnose."""
