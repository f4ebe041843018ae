"""The application: its addresses, and who may ask for what."""

from __future__ import annotations

import hmac
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from hippozoo._internal.files import CannotWriteError
from hippozoo.apps.pages.look import style
from hippozoo.apps.serve.data import describe, list_alarms, read_day
from hippozoo.apps.watch.database import FullDiskError
from hippozoo.apps.watch.metrics import write_metrics
from hippozoo.apps.watch.problem import WatchError
from hippozoo.apps.watch.requests import ask, mute_until

__all__ = ["Access", "make_app"]

_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_LONGEST_BODY, _MOST_ALARMS, _MOST_DAYS = 10_000, 1000, 64
# Open to whoever gets here: they hold nothing of the databases.
_FREE = frozenset({"/", "/serve.js", "/serve.css", "/healthz"})


@dataclass(frozen=True)
class Access:
    """Who may ask for what.

    Parameters
    ----------
    token
        What changes need; None where nothing can be changed.
    private
        Whether reading needs the token, too: where others than this machine can come here.
    names
        What the server may be called in the Host of a request, besides the address at which it was reached.
    """

    token: str | None = None
    private: bool = False
    names: Sequence[str] = field(default=("localhost", "127.0.0.1", "[::1]"))

    def is_host(self, host: str, reached: tuple[str, int | None] | None) -> bool:
        """Whether a Host is ours.

        A web site whose name is made to lead here (DNS rebinding) is no other origin to a browser, but its name stands
        in the Host of every request.
        """
        name = host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host
        own = {one.lower() for one in self.names}
        if reached is not None:
            own.add(f"[{reached[0]}]" if ":" in reached[0] else reached[0])
        return name.lower() in own

    def has_token(self, request: Request) -> bool:
        """Whether a request brings the token; compared in constant time."""
        kind, _, given = request.headers.get("authorization", "").partition(" ")
        if self.token is None or kind.lower() != "bearer":
            return False
        return hmac.compare_digest(given.strip().encode(), self.token.encode())


class _Guard:
    """Refuses what is not meant for us, and puts the headers on every answer."""

    def __init__(self, app: Any, access: Access) -> None:
        self.app, self.access = app, access

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return

        async def send_with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                known = [(name.lower().encode(), value.encode()) for name, value in _HEADERS.items()]
                message["headers"] = [*message["headers"], *known]
            await send(message)

        refusal = self._refusal(Request(scope))
        await (self.app if refusal is None else refusal)(scope, receive, send_with_headers)

    def _refusal(self, request: Request) -> Response | None:
        host, origin = request.headers.get("host", ""), request.headers.get("origin")
        if not self.access.is_host(host, request.scope.get("server")):
            return _problem(421, f"this server is not {host!r}; allow that name with --allow-host.")
        if origin is not None and origin.lower() not in (f"http://{host.lower()}", f"https://{host.lower()}"):
            return _problem(403, "requests from pages of other sites are refused.")
        link = request.method == "GET" and request.url.path == "/" and origin is None  # followed from anywhere
        if not link and request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return _problem(403, "requests from pages of other sites are refused.")
        changes = request.method not in ("GET", "HEAD")
        if not changes and (request.url.path in _FREE or not self.access.private):
            return None
        if self.access.token is None:
            return _problem(403, "nothing can be changed here; start hippozoo serve with --token-file.")
        if not self.access.has_token(request):
            return _problem(401, "pass the token of this server.", {"WWW-Authenticate": "Bearer"})
        return None


def _problem(status: int, text: str, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"error": text}, status, headers)


def make_app(databases: dict[str, Path], access: Access) -> Any:
    """An ASGI application for these databases, by their names.

    Parameters
    ----------
    databases
        Name and file of each.
    access
        Who may ask for what.
    """
    page, script, sheet = _read("page.html"), _read("serve.js"), style() + _read("serve.css")

    def named(request: Request) -> tuple[str, Path]:
        name = request.query_params.get("database", "")
        if name not in databases:
            raise HTTPException(404, f"there is no database {name!r}; there are {', '.join(databases)}.")
        return name, databases[name]

    def streams(request: Request) -> Response:
        described = [describe(name, path) for name, path in databases.items()]
        return _json({"changes": access.token is not None, "databases": described})

    def day(request: Request) -> Response:
        _, path = named(request)
        return _json(read_day(path, _whole_numbers(request, "channel", _MOST_DAYS)))

    def alarms(request: Request) -> Response:
        count = min(_whole_numbers(request, "count", 1, [100])[0], _MOST_ALARMS)
        asked = dict([named(request)]) if "database" in request.query_params else databases
        found, errors = [], {}
        for name, path in asked.items():
            try:
                found += list_alarms(name, path, count)
            except (WatchError, OSError) as error:
                errors[name] = str(error)
        return _json({"alarms": sorted(found, key=lambda one: -one["moment"])[:count], "errors": errors})

    def metrics(request: Request) -> Response:
        return Response(write_metrics(list(databases.items())), media_type="text/plain; version=0.0.4; charset=utf-8")

    def health(request: Request) -> Response:
        bad = sum("error" in describe(name, path) for name, path in databases.items())
        return JSONResponse({"status": "failing" if bad else "ok", "unreadable": bad}, 503 if bad else 200)

    async def change(request: Request) -> Response:
        _, path = named(request)
        body = b""
        async for piece in request.stream():
            body += piece
            if len(body) > _LONGEST_BODY:
                raise HTTPException(413, f"a request has at most {_LONGEST_BODY:,} bytes.")
        try:
            asked = _request(json.loads(body), path)
        except (ValueError, RecursionError, TypeError, KeyError) as error:  # WatchError is a ValueError
            raise HTTPException(400, str(error)) from None
        try:
            return _json({"outcome": await run_in_threadpool(ask, path, asked)})
        except WatchError as error:  # it is recorded, with why it could not be done
            raise HTTPException(409, str(error)) from None

    async def failed(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 503
        return _problem(status, error.detail if isinstance(error, HTTPException) else str(error))

    routes = [
        Route("/", lambda request: Response(page, media_type="text/html")),
        Route("/serve.js", lambda request: Response(script, media_type="text/javascript")),
        Route("/serve.css", lambda request: Response(sheet, media_type="text/css")),
        Route("/streams.json", streams),
        Route("/day.json", day),
        Route("/alarms.json", alarms),
        Route("/metrics", metrics),
        Route("/healthz", health),
        Route("/requests", change, methods=["POST"]),
    ]
    known: list[Any] = [HTTPException, WatchError, FullDiskError, CannotWriteError]
    handlers: dict[Any, Callable[..., Any]] = dict.fromkeys(known, failed)
    return _Guard(Starlette(routes=routes, exception_handlers=handlers), access)


def _request(given: Any, path: Path) -> dict[str, Any]:
    """What is asked for, checked: the table of requests gets nothing else."""
    if not isinstance(given, dict):
        raise TypeError("pass a JSON object.")
    number = isinstance(given.get("rate"), (int, float)) and not isinstance(given.get("rate"), bool)
    match given:
        case {"acknowledge": int(alarm), **rest} if not rest and not isinstance(alarm, bool):
            return {"acknowledge": alarm}
        case {"mute": str(column), "until": str() | None as until, **rest} if not rest:
            end = mute_until(until, path)
            return {"mute": column, "until": end}
        case {"unmute": str(column), **rest} if not rest:
            return {"unmute": column}
        case {"rate": rate, **rest} if not rest and number and math.isfinite(rate) and 0 < rate < 1000:
            return {"rate": float(rate)}
    raise ValueError(
        'pass {"acknowledge": id}, {"mute": column, "until": time, "2h" or null}, {"unmute": column}, or {"rate": x} '
        "with x between 0 and 1000."
    )


def _whole_numbers(request: Request, name: str, most: int, default: Sequence[int] = ()) -> list[int]:
    given = request.query_params.getlist(name)
    if len(given) > most or not all(one.isascii() and one.isdecimal() and len(one) < 10 for one in given):
        raise HTTPException(400, f"{name} is a whole number, and there are at most {most}.")
    return [int(one) for one in given] or list(default)


def _json(content: Any) -> Response:
    """JSON as the standard has it: what damage has left of a number that is none becomes null."""
    try:
        return JSONResponse(content)
    except ValueError:
        return JSONResponse(json.loads(json.dumps(content), parse_constant=lambda name: None))


def _read(name: str) -> str:
    return files("hippozoo.apps.serve").joinpath(name).read_text(encoding="utf-8")
