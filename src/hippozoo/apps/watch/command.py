"""``hippozoo watch``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hippozoo.apps.command_line import Debug, UsageError, command, complain, flag, use_one_thread


@command(epilog="Example: [bold]hippozoo watch sensor.csv --follow --out sensor.db[/bold]")
def watch(
    source: Annotated[
        str | None, typer.Argument(metavar="SOURCE", help="CSV or JSON lines file, or - for standard input.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE.db", help="SQLite database for readings, alarms and state.", show_default=False),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Column to watch; repeatable.", show_default="all numeric columns"),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Time column: numbers or dates.", show_default="detected"),
    ] = None,
    panel: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Column that names the sensor of each row; repeatable.", show_default="one sensor"
        ),
    ] = None,
    horizon: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="Number of steps to forecast.", show_default="24, fewer for many sensors"
        ),
    ] = None,
    season: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="Season length in steps, e.g. 24 for hourly data; 1 for none.", show_default="none"
        ),
    ] = None,
    every: Annotated[
        float | None,
        typer.Option(
            metavar="S",
            help="Usual step: seconds for dates, else the unit of the time column.",
            show_default="detected",
        ),
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(metavar="X", help="Expected false alarms per 1,000 normal readings.", show_default="1"),
    ] = None,
    silence: Annotated[
        str | None,
        typer.Option(
            metavar="N|2h",
            help="After an alarm, report only rarer or different ones for this many readings, or this long.",
            show_default="150",
        ),
    ] = None,
    no_data: Annotated[
        str | None,
        typer.Option(
            metavar="N|2h|never", help="Raise an alarm after N steps, or this long, without data.", show_default="5"
        ),
    ] = None,
    keep: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Number of readings to keep in the database.", show_default="all"),
    ] = None,
    batch: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Readings per commit.", show_default="1024, more for many sensors"),
    ] = None,
    follow: Annotated[bool, flag("--follow", help="Wait for more data at the end of the file.")] = False,
    strict: Annotated[bool, flag("--strict", help="Stop at the first invalid row.")] = False,
    all_readings: Annotated[
        bool, flag("--all-readings/--alarms-only", help="Print every reading, or only alarms.")
    ] = False,
    show: Annotated[
        Path | None,
        typer.Option(metavar="FILE.db", help="Write FILE.html, a page of this database, and exit.", show_default=False),
    ] = None,
    tail: Annotated[
        Path | None,
        typer.Option(metavar="FILE.db", help="Print the latest alarms of this database and exit.", show_default=False),
    ] = None,
    ack: Annotated[
        int | None,
        typer.Option(metavar="ID", help="Acknowledge the event of this alarm in --out, and exit.", show_default=False),
    ] = None,
    mute: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Mute alarms of this column in --out, and exit.", show_default=False),
    ] = None,
    until: Annotated[
        str | None, typer.Option(metavar="TIME|2h", help="End of --mute.", show_default="for good")
    ] = None,
    unmute: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Report alarms of this column again, and exit.", show_default=False),
    ] = None,
    webhook: Annotated[
        str | None,
        typer.Option(metavar="URL|@FILE", help="Post alarms to this URL, or to the one in a file.", show_default=False),
    ] = None,
    webhook_form: Annotated[str, typer.Option(metavar="json|slack", help="Format of the post.")] = "json",
    textfile: Annotated[
        Path | None,
        typer.Option(metavar="FILE.prom", help="Write metrics for Prometheus' node exporter.", show_default=False),
    ] = None,
    mqtt: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Read mqtt://host/topic instead of SOURCE.", show_default=False),
    ] = None,
    mqtt_alarms: Annotated[
        str | None, typer.Option(metavar="URL", help="Publish alarms to mqtt://host/topic.", show_default=False)
    ] = None,
    mqtt_credentials: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File that holds user:password.", show_default=False)
    ] = None,
    open_page: Annotated[bool, flag("--open/--no-open", help="Open the page in a browser.")] = False,
    debug: Debug = False,
) -> None:
    """Forecast a stream and raise alarms; resumes after a crash.

    Prints alarms as JSON lines once they are in the database. Run it again with the same database to resume.
    """
    use_one_thread()
    if show is not None or tail is not None:
        _show_watched(show, tail, open_page=open_page)
        return
    if out is not None and (ack is not None or mute is not None or unmute is not None):
        _ask(out, ack, mute, unmute, until)
        return
    if source is not None and mqtt is not None:
        raise UsageError("pass a source or --mqtt, not both; a database has one source.")
    source = mqtt if source is None else source
    if source is None or out is None:
        raise UsageError(
            "pass a source (or --mqtt URL) and --out FILE.db, or --show FILE.db, or --tail FILE.db, or --out FILE.db "
            "with --ack, --mute or --unmute."
        )
    from hippozoo.apps.watch.destinations import Destinations
    from hippozoo.apps.watch.run import Settings
    from hippozoo.apps.watch.terminal import run_watch

    run_watch(
        Settings(
            source, tuple(column or ()), time, horizon, season, every, rate, follow, strict, keep, batch,
            tuple(panel or ()), silence, no_data,
        ),
        out,
        all_readings=all_readings,
        complain=complain,
        elsewhere=Destinations(webhook, webhook_form, textfile, mqtt, mqtt_alarms, mqtt_credentials),
    )  # fmt: skip


def _ask(out: Path, ack: int | None, mute: str | None, unmute: str | None, until: str | None) -> None:
    from hippozoo.apps.watch.requests import ask, mute_until

    if ack is not None:
        typer.echo(ask(out, {"acknowledge": ack}))
    if mute is not None:
        typer.echo(ask(out, {"mute": mute, "until": mute_until(until, out)}))
    if unmute is not None:
        typer.echo(ask(out, {"unmute": unmute}))


def _show_watched(show: Path | None, tail: Path | None, *, open_page: bool) -> None:
    import json

    from hippozoo.apps.watch.show import last_alarms, write_page

    alarms = [] if tail is None else last_alarms(tail)
    for alarm in alarms:
        alarm["explanation"].pop("weights", None)  # a hundred numbers, for pictures
        typer.echo(json.dumps({"alarm": alarm}))
    if tail is not None and not alarms:
        complain(f"{tail} holds no alarm so far.")
    if show is not None:
        page = write_page(show, show.with_suffix(".html"))
        typer.echo(f"wrote {page}")
        if open_page:
            typer.launch(str(page))
