"""Every error that Diagnoser raises on purpose.

DiagnoserError                exit code 2
├── UsageError                options that do not go together
├── InputError                a log, configuration or bundle that can't be read
├── RuleError                 a rule file that is wrong: path, line and key
│   └── RuleErrors            all of them, from one load
└── PreflightError            a configuration that could never work: every problem listed
"""

from __future__ import annotations

from collections.abc import Sequence


class DiagnoserError(Exception):
    """Base of all; `exit_code` is what the command line returns for it."""

    exit_code = 2


class UsageError(DiagnoserError):
    """The call makes no sense; the message says which part and what was expected."""


class InputError(DiagnoserError):
    """An input can't be read.

    `path` is its name as the user gave it; `line` (from 1) and `expected` are given where they are known.
    """

    def __init__(self, path: str, problem: str, *, line: int | None = None, expected: str | None = None) -> None:
        self.path, self.problem, self.line, self.expected = path, problem, line, expected
        place = f"{path}:{line}" if line is not None else path
        super().__init__(f"{place}: {problem}" + (f" (expected {expected})" if expected else ""))


class RuleError(DiagnoserError):
    """A rule file is wrong; `path`, `line` (from 1, if known) and `key` say where."""

    def __init__(self, path: str, problem: str, *, line: int | None = None, key: str | None = None) -> None:
        self.path, self.problem, self.line, self.key = path, problem, line, key
        place = f"{path}:{line}" if line is not None else path
        super().__init__(f"{place}: {key}: {problem}" if key else f"{place}: {problem}")


class RuleErrors(RuleError):
    """Several rule files or keys are wrong; `errors` holds each."""

    def __init__(self, errors: Sequence[RuleError]) -> None:
        self.errors = tuple(errors)
        first = self.errors[0]
        super().__init__(first.path, first.problem, line=first.line, key=first.key)
        self.args = ("\n".join(str(error) for error in self.errors),)


class PreflightError(DiagnoserError):
    """A configuration can't work; `problems` lists every reason."""

    exit_code = 1

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(self.problems))
