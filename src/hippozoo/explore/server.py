"""Serving the explorer: on this machine only, to pages of its own only."""

from __future__ import annotations

import errno
import logging
import socket
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hippozoo.explore.signals import MOST_BYTES, SIGNALS, Uploaded, built_in

__all__ = ["ADDRESS", "PortInUseError", "demand_panel", "make_server", "serve"]

ADDRESS = "127.0.0.1"


class PortInUseError(OSError):
    """Another program listens on the port."""


def demand_panel() -> None:
    """Say what to install where Panel is missing."""
    if find_spec("panel") is None:
        raise ImportError("the explorer is made with Panel, which is not installed; pip install 'hippozoo[explorer]'")


def make_server(port: int = 0, file: Path | None = None, column: str | None = None) -> Any:
    """A server that listens and is not started; port 0 takes any that is free."""
    demand_panel()
    uploaded = None if file is None else Uploaded(file.name, file)
    loaded = built_in(SIGNALS[0]) if uploaded is None else uploaded.column(column)
    import panel as pn
    from panel.io.server import get_server

    from hippozoo.explore.app import page

    pn.extension(inline=True)
    port = _free_port(port)  # the origins that may talk to the page are told by number
    origins = [f"{name}:{port}" for name in (ADDRESS, "localhost")]
    return get_server(
        {"/": lambda: page(loaded, uploaded)},
        port=port,
        address=ADDRESS,
        websocket_origin=origins,
        title={"/": "hippozoo explore"},
        websocket_max_message_size=MOST_BYTES * 3 // 2,
        check_unused_sessions_milliseconds=5000,
        unused_session_lifetime_milliseconds=15_000,
    )


def _free_port(port: int) -> int:
    """The port, if nobody has it; any free one for 0."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the server itself does
        try:
            probe.bind((ADDRESS, port))
        except OSError as error:
            why = "is in use" if error.errno == errno.EADDRINUSE else f"cannot be used ({error.strerror})"
            raise PortInUseError(
                f"port {port} {why}; pass another with --port, or leave --port out to take a free one."
            ) from None
        return probe.getsockname()[1]


def serve(
    port: int = 0,
    file: Path | None = None,
    column: str | None = None,
    *,
    browser: bool = True,
    report: Callable[[str], None] = lambda line: None,
) -> None:
    """Serve the explorer until Ctrl-C.

    Parameters
    ----------
    port
        Where; 0 takes any that is free.
    file, column
        What to begin with.
    browser
        Whether to open the page.
    report
        Called with the address of the page.
    """
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
