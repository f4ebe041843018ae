"""Serving the explorer: on this machine only, to pages of its own only."""

from __future__ import annotations

import errno
import logging
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hippozoo._internal.extras import needs
from hippozoo.apps.explore.signals import MOST_BYTES, SIGNALS, Uploaded, built_in

__all__ = ["ADDRESS", "PortInUseError", "make_server", "refuse_other_hosts", "serve"]

ADDRESS = "127.0.0.1"


class PortInUseError(OSError):
    """Another program listens on the port."""


def make_server(port: int = 0, file: Path | None = None, column: str | None = None) -> Any:
    """A server that listens and is not started; port 0 takes any that is free."""
    for package in ("torch", "bokeh", "panel"):
        needs(package, extra="explore", feature="hippozoo explore")
    uploaded = None if file is None else Uploaded(file.name, file)
    loaded = built_in(SIGNALS[0]) if uploaded is None else uploaded.column(column)
    import panel as pn
    from panel.io.server import get_server

    from hippozoo.apps.explore.app import page

    pn.extension(inline=True)
    port = _free_port(port)  # the origins that may talk to the page are told by number
    origins = [f"{name}:{port}" for name in (ADDRESS, "localhost")]
    server = get_server(
        {"/": lambda: page(loaded, uploaded)},
        port=port,
        address=ADDRESS,
        websocket_origin=origins,
        title={"/": "hippozoo explore"},
        websocket_max_message_size=MOST_BYTES * 3 // 2,
        check_unused_sessions_milliseconds=5000,
        unused_session_lifetime_milliseconds=15_000,
    )
    refuse_other_hosts(server._tornado, origins)
    return server


def refuse_other_hosts(application: Any, hosts: Sequence[str]) -> None:
    """Let a Tornado application answer only requests for these hosts (name and port), pages and WebSockets alike.

    A web site whose name is made to lead to this machine (DNS rebinding) is no other origin to the browser, so that
    checking origins is not enough; but its name stands in the Host of every request.
    """
    from tornado.web import ErrorHandler

    allowed = {*hosts, *(one.removesuffix(":80") for one in hosts if one.endswith(":80"))}
    find = application.find_handler

    def find_handler(request: Any, **settings: Any) -> Any:
        # Not request.host, which is this machine where a request names none.
        if request.headers.get("Host", "").lower() in allowed:
            return find(request, **settings)
        return application.get_handler_delegate(request, ErrorHandler, {"status_code": 403})

    application.find_handler = find_handler


def _free_port(port: int) -> int:
    """The port, if nobody has it; any free one for 0."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the server itself does
        try:
            probe.bind((ADDRESS, port))
        except OSError as error:
            why = "is in use" if error.errno == errno.EADDRINUSE else f"cannot be used ({error.strerror})"
            raise PortInUseError(f"port {port} {why}; pass another --port, or omit it to use any free port.") from None
        return probe.getsockname()[1]


def serve(
    port: int = 0,
    file: Path | None = None,
    column: str | None = None,
    *,
    browser: bool = True,
    report: Callable[[str], None] = lambda line: None,
) -> None:
    """Serve the explorer until Ctrl-C, beginning with a column of a file; `report` gets the address of the page."""
    # A window that was closed in the middle of a frame is no news.
    for name in ("bokeh", "panel"):
        logging.getLogger(name).setLevel(logging.ERROR)
    server = make_server(port, file, column)
    address = f"http://{ADDRESS}:{server.port}/"
    report(address)
    server.start()
    if browser:
        import webbrowser

        server.io_loop.add_callback(webbrowser.open, address)
    try:
        server.io_loop.start()
    finally:
        server.stop()
