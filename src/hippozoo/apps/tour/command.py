"""``hippozoo tour``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hippozoo._internal.extras import needs
from hippozoo.apps.command_line import Debug, command, flag


@command(epilog="Example: [bold]hippozoo tour --out tour --open[/bold]")
def tour(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Output folder for the page and its pictures.")] = Path(
        "tour"
    ),
    open_page: Annotated[bool, flag("--open/--no-open", help="Open the page in a browser.")] = False,
    debug: Debug = False,
) -> None:
    """Run every member on built-in data and write an illustrated page."""
    for package in ("torch", "matplotlib", "bokeh"):
        needs(package, extra="torch,plot,pages", feature="hippozoo tour")
    from hippozoo.apps.tour import write_tour

    page = write_tour(out, report=lambda line: typer.echo(line, err=True))
    typer.echo(f"wrote {page}")
    if open_page:
        import webbrowser

        webbrowser.open(page.resolve().as_uri())
