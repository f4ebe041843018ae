"""``hippozoo forecast``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from hippozoo._internal.extras import is_installed, needs
from hippozoo.apps.command_line import Debug, Scheduler, UsageError, command, complain, flag, use_one_thread


@command(epilog="Example: [bold]hippozoo forecast load.csv --column load --time when --horizon 96[/bold]")
def forecast(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="CSV, JSON lines or Parquet file, or a folder of them.")],
    column: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Column to forecast; repeatable.", show_default="all numeric columns"),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Time column: numbers or dates.",
            show_default="the date column, else one step per row",
        ),
    ] = None,
    no_time: Annotated[bool, flag("--no-time", help="Treat rows as evenly spaced; ignore date columns.")] = False,
    horizon: Annotated[
        str | None,
        typer.Option(
            metavar="N",
            help="Steps to forecast, or a length of time, e.g. '2 days'.",
            show_default="96, or 1/8 of a short table",
        ),
    ] = None,
    every: Annotated[
        str | None,
        typer.Option(
            metavar="S",
            help="Step length: seconds (or '15 minutes') for dates, else the unit of the time column.",
            show_default="median spacing of rows",
        ),
    ] = None,
    season: Annotated[
        list[int] | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Season length in steps, e.g. 24 for hourly data; repeatable; 1 for none.",
            show_default="detected",
        ),
    ] = None,
    coverage: Annotated[
        list[float] | None,
        typer.Option(metavar="P", help="Coverage of a prediction band; repeatable.", show_default="0.8, 0.95"),
    ] = None,
    lower: Annotated[
        float | None,
        typer.Option(metavar="X", help="Lower bound of all values, e.g. 0.", show_default="0 for counts"),
    ] = None,
    upper: Annotated[
        float | None,
        typer.Option(metavar="X", help="Upper bound of all values, e.g. 100.", show_default="none"),
    ] = None,
    together: Annotated[
        str,
        typer.Option(
            metavar="HOW",
            help="[bold]independent[/bold]: each column from its own past. [bold]joint[/bold]: each from the past of "
            "all, by one linear map with Gaussian bands.",
        ),
    ] = "independent",
    out: Annotated[
        Path,
        typer.Option(
            metavar="PATH", help="Folder for forecast.csv and the page, or a file ending in .csv, .parquet or .json."
        ),
    ] = Path("forecast"),
    panel: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Column that names the series, for tables in long format; repeatable.",
            show_default="none",
        ),
    ] = None,
    known: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Input that is known over the horizon, in rows after the last value or in --future; repeatable.",
            show_default="none",
        ),
    ] = None,
    future: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Table of the --known columns after the end of FILE.", show_default="none"),
    ] = None,
    with_: Annotated[
        list[str] | None,
        typer.Option("--with", metavar="NAME", help="Input that is known up to now; repeatable.", show_default="none"),
    ] = None,
    country: Annotated[
        str | None,
        typer.Option(metavar="CODE", help="Public holidays as an input, e.g. DE or DE-BY.", show_default="none"),
    ] = None,
    jobs: Annotated[
        int, typer.Option(metavar="N", min=1, help="Parallel processes for a folder, one thread each.")
    ] = 1,
    scheduler: Scheduler = None,
    open_page: Annotated[bool, flag("--open/--no-open", help="Open the page in a browser.")] = False,
    as_json: Annotated[bool, flag("--json", help="Print the results as JSON on stdout.")] = False,
    debug: Debug = False,
) -> None:
    """Forecast a table, with prediction bands and a back-test.

    Given a folder, forecast each file into its own subfolder; with --panel,
    treat the folder as one Parquet data set of many series.
    """
    use_one_thread()
    from hippozoo.apps.forecast.backtest import COVERAGES
    from hippozoo.apps.forecast.beside import InputNames
    from hippozoo.apps.forecast.files import is_file, run_forecast
    from hippozoo.apps.forecast.learner import Choices
    from hippozoo.apps.forecast.reading import Reading
    from hippozoo.tables import list_reasons

    if open_page:
        needs("bokeh", extra="pages", feature="--open")
    has_pages = is_installed("bokeh")
    as_file = is_file(out)
    if as_file and (open_page or file.is_dir()):
        raise UsageError(f"--out {out} is one file; pass a folder for --open and for a folder of tables.")
    if no_time and time is not None:
        raise UsageError(f"--time {time} and --no-time exclude each other; pass one of them.")
    if panel and (together != "independent" or len(column or ()) > 1):
        raise UsageError("--panel takes one --column and no --together; forecast other columns one after the other.")
    if together not in ("independent", "joint"):
        raise UsageError(f"--together {together} is unknown; pass independent or joint.")
    if scheduler is not None and jobs != 1:
        raise UsageError(f"--jobs {jobs} and --scheduler {scheduler} exclude each other; pass one of them.")
    if future is not None and not known:
        raise UsageError(f"--future {future} holds inputs, and none is named; name them with --known.")
    inputs = InputNames(tuple(known or ()), tuple(with_ or ()), country)
    how: Any = "panel" if panel and not file.is_dir() else together
    reading = Reading(tuple(column or ()), time, no_time, tuple(panel or ()), inputs.columns)
    choices = Choices(
        horizon,
        _length(every),
        None if season is None else tuple(season),
        tuple(coverage) if coverage else COVERAGES,
        lower,
        upper,
        how,
        inputs,
    )
    if file.is_dir():
        if future is not None or (panel and inputs):
            raise UsageError(
                "a folder takes no --future, and with --panel no inputs; add the rows of the future to each table, or "
                "forecast one file at a time."
            )
        _forecast_folder(file, reading, choices, out, jobs, scheduler, open_page=open_page, as_json=as_json)
        return
    if scheduler is not None or jobs != 1:
        raise UsageError("--jobs and --scheduler are for a folder; one file is one stream.")
    answer = run_forecast(file, reading, choices, out, future)
    if time is None and answer["time"] is not None:
        complain(f"times from {answer['time']!r}; --no-time takes rows as even steps.")
    for note in answer["notes"]:
        complain(note if note.endswith("?") else f"{note}.")
    if answer["left_out"]:
        complain(f"left out: {list_reasons(answer['left_out'])}.")
    if as_json:
        import json

        typer.echo(json.dumps(answer, indent=1, ensure_ascii=False, allow_nan=False))
    else:
        _tell_forecast(answer)
        page = f" and {out / 'index.html'}" if has_pages else ""
        typer.echo(f"wrote {out}" if as_file else f"wrote {out / 'forecast.csv'}{page}")
    if not has_pages and not as_file:
        complain("the page index.html needs Bokeh, which is not installed: pip install 'hippozoo[pages]'.")
    if open_page:
        import webbrowser

        webbrowser.open((out / "index.html").resolve().as_uri())


def _length(every: str | None) -> float | str | None:
    """A number, or a length of time in words."""
    if every is None:
        return None
    try:
        return float(every)
    except ValueError:
        return every


def _forecast_folder(
    folder: Path,
    reading: Any,
    choices: Any,
    out: Path,
    jobs: int,
    scheduler: str | None,
    *,
    open_page: bool,
    as_json: bool,
) -> None:
    """Many tables, or the series of a data set: a line for each table or for all series, then what failed."""
    from hippozoo.apps.forecast.folder import run_files, run_panel

    panel = reading.panel
    if len(panel) > 1:
        raise UsageError("--panel: a folder takes one column of names; join them into one.")
    if panel and open_page:
        raise UsageError("--open: a data set of many series has no page; omit --open.")
    if panel:
        answer = run_panel(folder, panel[0], reading, choices, out, jobs, scheduler)
    else:
        answer = run_files(folder, reading, choices, out, jobs, scheduler)
    for note in answer.get("notes", ()):
        complain(f"{note}.")
    if as_json:
        import json

        typer.echo(json.dumps(answer, indent=1, ensure_ascii=False, allow_nan=False))
    elif panel:
        typer.echo(f"forecast {answer['series']:,} series of {answer['rows']:,} rows")
        typer.echo(f"wrote {out / 'forecast'} and {out / 'series'}")
    else:
        for table in answer["tables"]:
            for name, verdict in table["verdict"].items():
                typer.echo(f"{table['file']}, {name}: {verdict['sentence']}")
        typer.echo(f"wrote {out / 'summary.csv'} and {out / 'index.html'}")
    if open_page:
        import webbrowser

        webbrowser.open((out / "index.html").resolve().as_uri())
    failures = answer.get("failures", len(answer["failed"]))
    for name, why in answer["failed"].items():
        complain(f"{name}: {why}")
    if failures:
        what = "series" if panel else "file" if failures == 1 else "files"
        complain(f"{failures:,} {what} could not be forecast.")
    if failures or answer.get("lost_parts"):
        raise typer.Exit(1)


def _tell_forecast(answer: dict[str, Any]) -> None:
    """One line per column: the verdict, errors, bands, and what the forecast is made of."""
    for name, errors in answer["mean_absolute_error"].items():
        verdict = answer["verdict"][name]
        told = [f"{name}: {verdict['sentence']}"]
        if verdict["rival"] is not None and errors.get("forecast") is not None:
            told.append(f"mean absolute error {errors['forecast']:.4g}, best rival {errors[verdict['rival']]:.4g}")
        held = [f"{band} {share:.1%}" for band, share in answer["coverage"][name].items() if share is not None]
        if held:
            told.append(f"bands held: {', '.join(held)}")
        if made_of := answer["made_of"][name]:
            told.append(f"made of {'; '.join(made_of[:2])}{'; …' if len(made_of) > 2 else ''}")
        for label, gain in answer["inputs"].get(name, {}).items():
            if gain["better_by"] is not None and (label != "all" or len(answer["inputs"][name]) > 2):
                told.append(f"{'all inputs' if label == 'all' else label}: {gain['sentence']}")
        typer.echo("; ".join(told))
    if answer["pooled_verdict"] is not None:
        typer.echo(f"all {len(answer['verdict'])} columns together: {answer['pooled_verdict']['sentence']}")
