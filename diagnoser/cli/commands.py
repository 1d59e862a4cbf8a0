"""The command line as click reads it."""

from __future__ import annotations

import os
import sys
from importlib import import_module

import click

from diagnoser import __version__
from diagnoser.cli.names import COMMANDS, SUMMARIES
from diagnoser.errors import UsageError

_EPILOG = """\b
Exit status: 0 no failure or an ordered shutdown, 1 a failure that was diagnosed, 2 wrong usage, input or rules,
3 a failure that no rule explains or whose root is not in the log.
"""


class _Commands(click.Group):
    """Loads a command's module only when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_usage("diagnose", "[OPTIONS] [LOG]...", prefix="Usage: ")
        formatter.write_usage("diagnose", "COMMAND [OPTIONS] ...", prefix="       ")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from diagnoser.cli.log import log

        with formatter.section("Options for logs"):
            formatter.write_dl([record for option in log.params if (record := option.get_help_record(ctx))])
        super().format_options(ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(SUMMARIES.items()))


@click.group(
    cls=_Commands, invoke_without_command=True, epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__, "-V", "--version", prog_name="diagnose", message="%(prog)s %(version)s")
def cli() -> None:
    """Find the real cause of a crashed LLM-serving deployment in its logs, and what to do about it.

    Give files, folders, archives or a pipe: `kubectl logs POD | diagnose`.
    """


def dispatch(arguments: list[str]) -> int:
    """Runs the command that is meant and returns the exit status. Raises DiagnoserError."""
    first = arguments[0] if arguments else ""
    if first in COMMANDS or first in ("-h", "--help", "-V", "--version"):
        command: click.Command = cli
    else:
        _refuse_misspelt_command(first)
        from diagnoser.cli.log import log as command
    try:
        result = command.main(arguments, prog_name="diagnose", standalone_mode=False)
    except click.exceptions.Exit as leave:
        return leave.exit_code
    except click.Abort:
        return 130
    except click.ClickException as error:
        error.show()
        return 2
    if sys.stdout is not None:  # it is None where the caller closed it
        sys.stdout.flush()
    return result if isinstance(result, int) else 0


def _refuse_misspelt_command(word: str) -> None:
    """Raises UsageError for a word that is neither a file nor a command, but close to one."""
    if not word.isalpha() or os.path.exists(word):
        return
    from difflib import get_close_matches

    close = get_close_matches(word, COMMANDS, n=1, cutoff=0.75)
    if close:
        raise UsageError(f"there is no command and no file {word!r}; did you mean `diagnose {close[0]}`?")
