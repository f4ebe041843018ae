"""``hippozoo serve``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hippozoo.apps.command_line import Debug, command, complain, flag, option, use_one_thread


@command(epilog="Example: [bold]hippozoo serve sensor.db --token-file token.txt[/bold]")
def serve(
    databases: Annotated[list[Path], typer.Argument(metavar="FILE.db...", help="Databases of hippozoo watch.")],
    port: Annotated[int, option("N", "Port; 0 for any free one.", True, min=0, max=65_535)] = 8765,
    host: Annotated[
        str, option("ADDRESS", "Address to listen on; beyond 127.0.0.1 only with a token.", True)
    ] = "127.0.0.1",
    token_file: Annotated[
        Path | None, option("FILE", "File with the token required to acknowledge, mute and change.", "none")
    ] = None,
    allow_host: Annotated[
        list[str] | None, option("NAME", "Additional host name to answer to, e.g. of a proxy; repeatable.")
    ] = None,
    browser: Annotated[bool, flag("--browser/--no-browser", help="Open the page in a browser.")] = False,
    debug: Debug = False,
) -> None:
    """Serve a live page of watched streams, with metrics for Prometheus.

    Reads while watches write. Press Ctrl-C to stop.
    """
    use_one_thread()
    from hippozoo.apps.serve.server import address_of, make_server, run_server

    server, listener = make_server(databases, host, port, token_file, allow_host or (), complain)
    address = address_of(listener)
    typer.echo(f"serving {address}")
    if browser:
        typer.launch(address)
    run_server(server, listener)
    complain("stopped.")
