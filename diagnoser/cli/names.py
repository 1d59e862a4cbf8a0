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

SUMMARIES = {
    "run": "Run a command, and say why it died.",
    "follow": "Watch growing logs and tell of each new incident once.",
    "check": "Check a vLLM deployment before it is launched.",
    "explain": "Show what a rule knows.",
    "rules": "List, test, check, draft and export rules.",
    "diff": "Compare two logs, or two reports in JSON.",
    "kubectl": "Diagnose pods by their logs, events and ends.",
    "completion": "Print the completion script of a shell.",
}
"""What `diagnose --help` says of each; to ask the commands themselves would load them all."""
