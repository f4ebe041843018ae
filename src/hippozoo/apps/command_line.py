"""What all commands share: flags, errors with their exit codes, and sentences on stderr.

Wrong usage raises `UsageError` (exit code 2); any other exception becomes one sentence on stderr (exit code 1), or a
traceback with ``--debug``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import typer

from hippozoo._internal.threads import ONE_THREAD

__all__ = [
    "Debug",
    "Scheduler",
    "StoppedError",
    "UsageError",
    "command",
    "complain",
    "debug_is_set",
    "explain",
    "flag",
    "option",
    "use_one_thread",
]

Function = TypeVar("Function", bound=Callable[..., Any])


class UsageError(Exception):
    """The command line asks for something that cannot be; exit code 2."""


class StoppedError(Exception):
    """Ctrl-C in a run that can be resumed; exit code 130."""


def command(*, epilog: str) -> Callable[[Function], Function]:
    """Mark a function as a command: its signature is the options, its docstring the help.

    Examples
    --------
    >>> @command(epilog="Example: hippozoo greet")
    ... def greet() -> None:
    ...     '''Say hello.'''
    >>> greet.epilog
    'Example: hippozoo greet'
    """

    def mark(function: Function) -> Function:
        function.epilog = epilog  # pyright: ignore[reportFunctionMemberAccess]
        return function

    return mark


def option(metavar: str, help: str, default: str | bool = False, *names: str, **settings: Any) -> Any:
    """An option that takes a value; `default` is what the help says of omitting it, True for the value itself.

    Examples
    --------
    >>> option("N", "Number of steps.", "24").show_default
    '24'
    """
    return typer.Option(*names, metavar=metavar, help=help, show_default=default, **settings)


def flag(*names: str, **settings: Any) -> Any:
    """An option that takes no value; the empty metavar keeps typer from printing <bool> after it."""
    return typer.Option(*names, metavar="", **settings)


# `main` looks for it among the arguments, so that it works before and after the name of a command.
Debug = Annotated[bool, flag("--debug", help="Show tracebacks of errors (also HIPPOZOO_DEBUG=1).")]

Scheduler = Annotated[
    str | None, option("ADDRESS", "Dask scheduler to use instead of --jobs, e.g. tcp://10.0.0.5:8786.")
]


def debug_is_set() -> bool:
    """Whether HIPPOZOO_DEBUG asks for tracebacks."""
    return os.environ.get("HIPPOZOO_DEBUG", "0") not in ("", "0")


def complain(text: str) -> None:
    """Say a sentence on stderr."""
    typer.echo(f"hippozoo: {text}", err=True)


def explain(error: Exception, *, debug: bool, prefix: str = "") -> int:
    """Explain an error in one sentence on stderr; return its exit code."""
    if isinstance(error, UsageError):
        complain(str(error))
        return 2
    if isinstance(error, StoppedError):
        complain(str(error))
        return 130
    if hasattr(error, "format_message"):  # typer's own: unknown options, values out of range
        text = str(error.format_message())  # pyright: ignore[reportAttributeAccessIssue]
        complain(f"{text}{'' if text.endswith(('.', '?')) else '.'} See hippozoo --help.")
        return 2
    if debug:
        import traceback

        traceback.print_exception(error)
    elif isinstance(error, (ValueError, RuntimeError, OSError)) or "pip install" in str(error):  # ours: all is said
        complain(f"{prefix}{error}")
    else:
        complain(f"{prefix}{type(error).__name__}: {error} (--debug shows where)")
    return 1


def use_one_thread() -> None:
    """Compute in one thread unless the user has decided otherwise.

    Matrices of a few hundred rows gain nothing from more threads, and lose much by them on a busy machine.
    """
    # NumPy looks at them when it is loaded, not later; and whoever has set one of them has decided.
    if "numpy" not in sys.modules and not ONE_THREAD.keys() & os.environ.keys():
        os.environ.update(ONE_THREAD)
