"""``hippozoo watch``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hippozoo.apps.command_line import Debug, UsageError, command, complain, flag, option, use_one_thread


@command(epilog="Example: [bold]hippozoo watch sensor.csv --follow --out sensor.db[/bold]")
def watch(
    source: Annotated[
        str | None, typer.Argument(metavar="SOURCE", help="CSV or JSON lines file, or - for standard input.")
    ] = None,
    out: Annotated[Path | None, option("FILE.db", "SQLite database for readings, alarms and state.")] = None,
    column: Annotated[list[str] | None, option("NAME", "Column to watch; repeatable.", "all numeric columns")] = None,
    time: Annotated[str | None, option("NAME", "Time column: numbers or dates.", "detected")] = None,
    panel: Annotated[
        list[str] | None, option("NAME", "Column that names the sensor of each row; repeatable.", "one sensor")
    ] = None,
    horizon: Annotated[
        int | None, option("N", "Number of steps to forecast.", "24, fewer for many sensors", min=1)
    ] = None,
    season: Annotated[
        int | None, option("N", "Season length in steps, e.g. 24 for hourly data; 1 for none.", "none", min=1)
    ] = None,
    every: Annotated[
        float | None, option("S", "Usual step: seconds for dates, else the unit of the time column.", "detected")
    ] = None,
    rate: Annotated[float | None, option("X", "Expected false alarms per 1,000 normal readings.", "1")] = None,
    silence: Annotated[
        str | None,
        option(
            "N|2h", "After an alarm, report only rarer or different ones for this many readings, or this long.", "150"
        ),
    ] = None,
    no_data: Annotated[
        str | None, option("N|2h|never", "Raise an alarm after N steps, or this long, without data.", "5")
    ] = None,
    keep: Annotated[int | None, option("N", "Number of readings to keep in the database.", "all", min=1)] = None,
    batch: Annotated[int | None, option("N", "Readings per commit.", "1024, more for many sensors", min=1)] = None,
    follow: Annotated[bool, flag("--follow", help="Wait for more data at the end of the file.")] = False,
    strict: Annotated[bool, flag("--strict", help="Stop at the first invalid row.")] = False,
    all_readings: Annotated[
        bool, flag("--all-readings/--alarms-only", help="Print every reading, or only alarms.")
    ] = False,
    show: Annotated[Path | None, option("FILE.db", "Write FILE.html, a page of this database, and exit.")] = None,
    tail: Annotated[Path | None, option("FILE.db", "Print the latest alarms of this database and exit.")] = None,
    ack: Annotated[int | None, option("ID", "Acknowledge the event of this alarm in --out, and exit.")] = None,
    mute: Annotated[str | None, option("COLUMN", "Mute alarms of this column in --out, and exit.")] = None,
    until: Annotated[str | None, option("TIME|2h", "End of --mute.", "for good")] = None,
    unmute: Annotated[str | None, option("COLUMN", "Report alarms of this column again, and exit.")] = None,
    webhook: Annotated[str | None, option("URL|@FILE", "Post alarms to this URL, or to the one in a file.")] = None,
    webhook_form: Annotated[str, option("json|slack", "Format of the post.", True)] = "json",
    textfile: Annotated[Path | None, option("FILE.prom", "Write metrics for Prometheus' node exporter.")] = None,
    mqtt: Annotated[str | None, option("URL", "Read mqtt://host/topic instead of SOURCE.")] = None,
    mqtt_alarms: Annotated[str | None, option("URL", "Publish alarms to mqtt://host/topic.")] = None,
    mqtt_credentials: Annotated[Path | None, option("FILE", "File that holds user:password.")] = None,
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
    from hippozoo.apps.watch.run import Settings
    from hippozoo.apps.watch.terminal import Elsewhere, run_watch

    run_watch(
        Settings(
            source, tuple(column or ()), time, horizon, season, every, rate, follow, strict, keep, batch,
            tuple(panel or ()), silence, no_data,
        ),
        out,
        Elsewhere(webhook, webhook_form, textfile, mqtt, mqtt_alarms, mqtt_credentials),
        all_readings=all_readings,
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
