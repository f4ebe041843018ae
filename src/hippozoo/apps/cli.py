"""The command `hippozoo`: it registers commands, each of which lives with its app.

A command of ours is one line in `COMMANDS`. Another package adds one through an entry point of the group
``hippozoo.commands``; entry points are read only where a name is not ours, or for the help that lists all.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Annotated, Any

import typer

from hippozoo import __version__
from hippozoo.apps.command_line import Debug, UsageError, complain, debug_is_set, explain, flag

__all__ = ["COMMANDS", "build", "main"]

#: Name of each command and the module that holds it, as a function of that name.
COMMANDS = {
    "tour": "hippozoo.apps.tour.command",
    "forecast": "hippozoo.apps.forecast.command",
    "watch": "hippozoo.apps.watch.command",
    "serve": "hippozoo.apps.serve.command",
    "explore": "hippozoo.apps.explore.command",
    "look": "hippozoo.apps.look.command",
}

#: Commands of the second project, named here so that their absence can be explained.
STUDIES = ("reproduce", "report")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with 0, with 1 (failed), 2 (wrong usage) or 130 (interrupted)."""
    given = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    debug = "--debug" in given or debug_is_set()
    try:
        code = build(_asked(given))(args=given, prog_name="hippozoo", standalone_mode=False)
    except (typer.Abort, KeyboardInterrupt):
        code = 130
    except Exception as error:
        sys.exit(explain(error, debug=debug))
    if code == 130:  # Ctrl-C where there is nothing to resume; recent typer turns it into this code
        complain("stopped.")
    sys.exit(code if isinstance(code, int) else 0)


def build(name: str | None = None) -> typer.Typer:
    """The command line with one command, or with all of them.

    Examples
    --------
    >>> [one.name for one in build("watch").registered_commands]
    ['watch']
    """
    app = typer.Typer(
        name="hippozoo",
        add_completion=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
        pretty_exceptions_enable=False,  # `main` turns exceptions into sentences
        epilog="Example: [bold]hippozoo forecast FILE[/bold] forecasts a table; "
        "[bold]hippozoo tour[/bold] writes an illustrated tour.",
    )
    app.callback()(_hippozoo)
    for known, function in _commands(name):
        app.command(known, epilog=getattr(function, "epilog", None))(function)
    return app


def _asked(given: Sequence[str]) -> str | None:
    """The command that is asked for; None where the list of all is."""
    name = next((one for one in given if not one.startswith("-")), None)
    if name is None and "--version" in given:
        return next(iter(COMMANDS))  # any one will do: the version is printed before it is looked at
    return name


def _commands(name: str | None) -> Iterator[tuple[str, Callable[..., Any]]]:
    if name in COMMANDS:
        yield name, getattr(import_module(COMMANDS[name]), name)
        return
    for known, home in COMMANDS.items():
        yield known, getattr(import_module(home), known)
    from importlib.metadata import entry_points

    found = entry_points(group="hippozoo.commands")
    if name in STUDIES and name not in found.names:
        raise UsageError(
            f"{name} belongs to the studies, a second project that is not installed; from a checkout of hippozoo: "
            "pip install ./studies."
        )
    for entry in sorted(found, key=lambda one: one.name):
        if entry.name not in COMMANDS and name in (None, entry.name):
            yield entry.name, entry.load()


def _print_version(asked: bool) -> bool:
    if asked:
        typer.echo(f"hippozoo {__version__}")
        raise typer.Exit
    return asked


def _hippozoo(
    version: Annotated[
        bool, flag("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
    debug: Debug = False,
) -> None:
    """Memory you can see: in our models, and in yours."""
