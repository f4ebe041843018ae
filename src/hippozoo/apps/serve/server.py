"""Listening: on this machine, or beyond it with a token."""

from __future__ import annotations

import errno
import ipaddress
import os
import signal
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from hippozoo._internal.extras import needs
from hippozoo.apps.command_line import UsageError
from hippozoo.apps.serve.data import name_databases
from hippozoo.apps.watch.database import is_begun, reading
from hippozoo.apps.watch.problem import WatchError, read_secret

__all__ = ["address_of", "make_server", "read_token", "run_server"]

_SHORTEST_TOKEN = 16
_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


def make_server(
    paths: Sequence[Path],
    host: str = "127.0.0.1",
    port: int = 8765,
    token_file: Path | None = None,
    allow_hosts: Sequence[str] = (),
    complain: Callable[[str], Any] = lambda text: None,
) -> tuple[Any, socket.socket]:
    """A server that is not started, and the socket on which it listens.

    Parameters
    ----------
    paths
        The databases; those that are not there yet are served once they are.
    host, port
        Where to listen; port 0 takes any that is free.
    token_file
        Holds the token.
    allow_hosts
        Further names that the server may be called by.
    complain
        Called with sentences for people.
    """
    for package in ("starlette", "uvicorn"):
        needs(package, extra="serve", feature="hippozoo serve")
    import uvicorn

    from hippozoo.apps.serve.app import Access, make_app

    databases = name_databases(paths)
    token = None if token_file is None else read_token(token_file, complain)
    family, address = _resolve(host)
    beyond = not ipaddress.ip_address(address).is_loopback
    if beyond and token is None:
        raise UsageError(
            f"--host {host} can be reached from other machines, so it needs a token; pass --token-file FILE."
        )
    if beyond:
        complain("token and data travel unencrypted; put a proxy with TLS in front, or use it in a trusted network.")
    for path in paths:
        if not is_begun(path):
            complain(f"{path} is not there yet; it is shown once a watch has made it.")
            continue
        try:
            with reading(path):
                pass
        except WatchError as error:
            raise UsageError(str(error)) from None
    names = (*(() if beyond else _LOOPBACK), *allow_hosts)
    config = uvicorn.Config(
        make_app(databases, Access(token, beyond, names)),
        log_level="error",
        lifespan="off",
        ws="none",
        http="h11",
        loop="asyncio",
        server_header=False,
        proxy_headers=False,
        limit_concurrency=200,
        timeout_graceful_shutdown=2,
    )
    return uvicorn.Server(config), _listening(family, address, port)


def run_server(server: Any, listener: socket.socket) -> None:
    """Serve until Ctrl-C or SIGTERM."""
    with suppress(ValueError):  # not in the main thread
        signal.signal(signal.SIGTERM, lambda *_: None)  # uvicorn ends, and then raises it once more
    with listener, suppress(KeyboardInterrupt):
        server.run(sockets=[listener])


def address_of(listener: socket.socket) -> str:
    """What to open in a browser."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def read_token(file: Path, complain: Callable[[str], Any] = lambda text: None) -> str:
    """The token that a file holds; one that can be guessed is refused."""
    token = read_secret(file, "--token-file")
    if len(token) < _SHORTEST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        raise WatchError(
            f"{file} should hold a token of at least {_SHORTEST_TOKEN} letters and digits; make one with: "
            f"python3 -c 'import secrets; print(secrets.token_urlsafe())' > {file}"
        )
    if os.name == "posix" and file.stat().st_mode & 0o077:
        complain(f"others can read the token in {file}; chmod 600 {file}.")
    return token


def _resolve(host: str) -> tuple[int, str]:
    try:
        [(family, _, _, _, (address, *_)), *_] = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        raise WatchError(f"--host {host} is no address of this machine; pass 127.0.0.1 or another one.") from None
    return family, str(address)


def _listening(family: int, address: str, port: int) -> socket.socket:
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((address, port))
    except (OSError, OverflowError) as error:
        listener.close()
        number = getattr(error, "errno", None)
        why = "is in use" if number == errno.EADDRINUSE else f"cannot be used ({getattr(error, 'strerror', error)})"
        raise WatchError(f"port {port} of {address} {why}; pass another --port, or 0 for any free one.") from None
    return listener
