"""``hippozoo explore``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hippozoo.apps.command_line import Debug, UsageError, command, complain, flag, use_one_thread


@command(epilog="Example: [bold]hippozoo explore load.csv --column load[/bold]")
def explore(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="CSV or Parquet file.", show_default="a built-in signal")
    ] = None,
    column: Annotated[
        str | None, typer.Option(metavar="NAME", help="Column to show first.", show_default="first numeric column")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, max=65_535, help="Port to serve the page on.", show_default="any free port"),
    ] = None,
    browser: Annotated[bool, flag("--browser/--no-browser", help="Open the page in a browser.")] = True,
    debug: Debug = False,
) -> None:
    """Explore memories interactively in the browser.

    The page is served on 127.0.0.1 only; no data leaves this machine. Press Ctrl-C to stop.
    """
    use_one_thread()
    from hippozoo.apps.explore.server import serve

    if column is not None and file is None:
        raise UsageError(
            f"--column {column} needs a file; pass one, as in hippozoo explore load.csv --column {column}."
        )

    def report(address: str) -> None:
        typer.echo(f"explorer at {address}")
        complain("stop with Ctrl-C.")

    try:
        serve(port or 0, file, column, browser=browser, report=report)
    except KeyboardInterrupt:
        complain("stopped.")
