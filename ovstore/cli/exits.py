"""What the command line exits with: the one table from errors to exit codes, and what it says for each."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import click

from ovstore import errors
from ovstore.cli.call import Call

FINDINGS: Final = 1
USAGE: Final = 2
DATABASE: Final = 6
# What the shell reports for a command that a closed pipe or Ctrl-C ended, and sysexits.h for a fault of the program.
BROKEN_PIPE: Final = 141
INTERRUPTED: Final = 130
FAULT: Final = 70

CODES: Final[tuple[tuple[type[errors.OvstoreError], int], ...]] = (
    (errors.InvalidDocumentError, FINDINGS),
    (errors.RenderError, FINDINGS),
    (errors.MergeError, FINDINGS),
    (errors.PathError, FINDINGS),
    (errors.ContextBudgetError, FINDINGS),
    (errors.InvalidArgumentError, USAGE),
    (errors.NotFoundError, 3),
    (errors.ConflictError, 4),
    (errors.RiskError, 5),
    (errors.ContractError, 5),
    (errors.TamperError, DATABASE),
    (errors.DatabaseError, DATABASE),
)


def code_of(error: errors.OvstoreError) -> int:
    """Return the exit code of an error, which is that of the first class in the table that it is one of."""
    return next((code for kind, code in CODES if isinstance(error, kind)), FAULT)


def exit_code(run: Callable[[], Any], ctx: click.Context) -> int:
    """Run a command and return its exit code; None from a command is 0. Click handles its own errors."""
    try:
        code = run()
        sys.stdout.flush()
    except BrokenPipeError:
        _silence()
        return BROKEN_PIPE
    except KeyboardInterrupt:
        click.echo("\ninterrupted", err=True)
        return INTERRUPTED
    except errors.OvstoreError as error:
        ctx.ensure_object(Call).out.error(error)
        return code_of(error)
    except OSError as error:
        click.echo(f"Error: {error.filename or 'the system'}: {error.strerror or error}", err=True)
        return USAGE
    except (click.ClickException, click.exceptions.Exit, click.Abort):
        raise
    except Exception as error:
        click.echo(_fault(error), err=True)
        return FAULT
    return int(code or 0)


def _silence() -> None:
    """Let nothing more be written to a pipe that nobody reads: the interpreter flushes once more at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fault(error: Exception) -> str:
    import traceback

    if os.environ.get("OVSTORE_TRACEBACK"):
        return "".join(traceback.format_exception(error))
    where = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(where.filename).name}, line {where.lineno}"
    return (
        f"Error: a fault of ovstore itself: {type(error).__name__} in {place}: {error}\n"
        "With OVSTORE_TRACEBACK=1 the same command shows where it comes from; please report that."
    )
