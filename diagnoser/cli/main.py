"""The command line: the everyday way or that of click, and what each error exits with."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from diagnoser.errors import DiagnoserError


def run(arguments: Sequence[str]) -> int:
    """Runs the command line and returns the exit status."""
    try:
        return _dispatch(list(arguments))
    except DiagnoserError as error:
        print(f"diagnose: {error}", file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:
        _silence_stdout()
        return 141
    except KeyboardInterrupt:
        return 130
    except Exception:
        return _own_bug()


def _own_bug() -> int:
    """Says that this is our mistake. Python's own status for it is 1, which would read as a diagnosis."""
    import traceback

    traceback.print_exc()
    print("diagnose: this is a bug in Diagnoser. Please report it with the lines above.", file=sys.stderr)
    return 2


def _dispatch(arguments: list[str]) -> int:
    from diagnoser.cli import everyday

    wanted = everyday.read(arguments)
    if wanted is None:
        from diagnoser.cli.commands import dispatch

        return dispatch(arguments)
    from diagnoser import precompiled
    from diagnoser.cli.diagnosing import diagnose_logs

    status = diagnose_logs(*wanted)
    precompiled.keep()
    if sys.stdout is not None:  # it is None where the caller closed it
        sys.stdout.flush()
    return status


def _silence_stdout() -> None:
    """Points standard output at nothing, so that Python does not complain on the way out."""
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, sys.stdout.fileno())
