"""The command line: the only package that prints, logs and exits.

Invalid input ends with a few lines on stderr and exit code 2; any other failure is a bug and keeps its traceback.
Heavy libraries are imported inside the commands, so that help is shown at once.
"""

from __future__ import annotations

import io
import os
import sys
import warnings
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

import typer

from shiftbench import __version__
from shiftbench.cli import native
from shiftbench.cli.command import HELP
from shiftbench.cli.forms import commands, groups
from shiftbench.cli.terminal import INTERRUPTED, bound_size, complain, note
from shiftbench.errors import ShiftbenchError, ShiftbenchWarning
from shiftbench.io import aborts, files

CLOSED = 141  # the exit code that shells give a process whose reader has gone

app = typer.Typer(
    name="shiftbench",
    help="Does a model stay good when the world shifts, and does it know when it does not?",
    no_args_is_help=True,
    context_settings={"help_option_names": list(HELP)},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for name, function, kind in commands():
    app.command(name, cls=kind)(function)
for name, about, functions in groups():
    group = typer.Typer(name=name, help=about, no_args_is_help=True, rich_markup_mode=None)
    for own, function in functions:
        group.command(own)(function)
    app.add_typer(group, context_settings={"help_option_names": list(HELP)})


@app.callback(invoke_without_command=True)
def shiftbench(version: bool = typer.Option(False, "--version", help="Print the version and exit.")) -> None:
    """Does a model stay good when the world shifts, and does it know when it does not?"""
    if version:
        print(f"shiftbench {__version__}")  # noqa: T201
        raise typer.Exit


def main() -> None:
    """Run the command line; exit code 2 for invalid input, 130 for Ctrl-C."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a character that the terminal lacks becomes a question mark
            stream.reconfigure(errors="replace")
    bound_size()
    with native.held_back(), aborts.answered(complain), warnings.catch_warnings():
        usual = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *place: Any, **named: Any) -> None:
            if issubclass(category, ShiftbenchWarning):
                note(f"warning: {message}")
            else:
                usual(message, category, *place, **named)

        warnings.showwarning = show
        try:
            _run()
        finally:
            _finish_output()


def _require_unicode() -> None:
    """Refuse arguments and a current folder that are not text in UTF-8."""
    words = [*sys.argv[1:], *([] if (here := _here()) is None else [here])]
    odd = [word for word in words if not files.is_unicode(word)]
    if odd:
        raise ShiftbenchError(
            *(f"expected names and values in UTF-8, found {os.fsencode(word)!r}. Rename the file or folder, or write "
              "the value in UTF-8." for word in odd)
        )  # fmt: skip


def _here() -> str | None:
    try:
        return str(Path.cwd())
    except OSError:  # removed
        return None


def _finish_output() -> None:
    """Write the rest of the output, or drop it: the interpreter would try again and end with another exit code."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        with suppress(OSError, ValueError):  # of a stream without a descriptor
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@cache
def _command() -> Any:
    return typer.main.get_command(app)


def _run() -> NoReturn:
    try:
        _require_unicode()
        code = _command()(standalone_mode=False) or 0
        if code == INTERRUPTED:  # the parser has already caught Ctrl-C
            raise KeyboardInterrupt
        sys.stdout.flush()
        raise SystemExit(code)
    except ShiftbenchError as error:
        complain(error)
        raise SystemExit(2) from None
    except typer.Abort as error:  # typer's form of an EOFError: nothing here reads the terminal, so it is a bug
        raise error.__cause__ or error from None
    except KeyboardInterrupt:
        note("interrupted; run the same command again to continue")
        raise SystemExit(INTERRUPTED) from None
    except BrokenPipeError:  # the reader of the output has closed it, as in `| head`
        raise SystemExit(CLOSED) from None
    except SystemExit as error:
        if isinstance(error.__context__, BrokenPipeError):  # the parser's own answer to it
            raise SystemExit(CLOSED) from None
        raise
    except OSError as error:  # a full disk, a read-only place, a path through a file
        where = error.filename or "output"
        found = files.without_room(error) or f"{error.strerror or error}."
        complain(ShiftbenchError(f"{where}: expected to read and write there, found: {found}"))
        raise SystemExit(2) from None
    except MemoryError as error:
        complain(ShiftbenchError(f"expected enough memory, found too little ({error}). Use fewer or smaller data."))
        raise SystemExit(2) from None
    except BaseException as error:
        if native.is_panic(error):  # a value that polars cannot handle
            found = (str(error).splitlines() or ["a panic"])[0]
            complain(ShiftbenchError(f"expected values that polars can work with, found: {found}. Correct the table."))
            raise SystemExit(2) from None
        if isinstance(error, RuntimeError) and str(error).startswith("Symlink loop"):  # pathlib before Python 3.13
            found = str(error)[:1].lower() + str(error)[1:]
            complain(ShiftbenchError(f"expected paths that lead somewhere, found a {found}. Remove that link."))
            raise SystemExit(2) from None
        # Errors in the arguments: the parser's own exceptions know how to show themselves.
        show = getattr(error, "show", None)
        if show is None:
            raise
        show()
        raise SystemExit(getattr(error, "exit_code", 2)) from None
