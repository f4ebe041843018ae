"""``hippozoo forecast``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from hippozoo._internal.extras import is_installed, needs
from hippozoo.apps.command_line import Debug, Scheduler, UsageError, command, complain, flag, use_one_thread


def _option(metavar: str, help: str, default: str | bool = "none", *names: str, **limits: Any) -> Any:
    return typer.Option(*names, metavar=metavar, help=help, show_default=default, **limits)


Names = list[str] | None


@command(epilog="Example: [bold]hippozoo forecast load.csv --column load --time when --horizon 96[/bold]")
def forecast(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="CSV, JSON lines or Parquet file, or a folder of them.")],
    column: Annotated[Names, _option("NAME", "Column to forecast; repeatable.", "all numeric columns")] = None,
    time: Annotated[
        str | None, _option("NAME", "Time column: numbers or dates.", "the date column, else one step per row")
    ] = None,
    no_time: Annotated[bool, flag("--no-time", help="Treat rows as evenly spaced; ignore date columns.")] = False,
    horizon: Annotated[
        str | None,
        _option("N", "Steps to forecast, or a length of time, e.g. '2 days'.", "96, or 1/8 of a short table"),
    ] = None,
    every: Annotated[
        str | None,
        _option(
            "S",
            "Step length: seconds (or '15 minutes') for dates, else the unit of the time column.",
            "median spacing of rows",
        ),
    ] = None,
    season: Annotated[
        list[int] | None,
        _option("N", "Season length in steps, e.g. 24 for hourly data; repeatable; 1 for none.", "detected", min=1),
    ] = None,
    coverage: Annotated[
        list[float] | None, _option("P", "Coverage of a prediction band; repeatable.", "0.8, 0.95")
    ] = None,
    lower: Annotated[float | None, _option("X", "Lower bound of all values, e.g. 0.", "0 for counts")] = None,
    upper: Annotated[float | None, _option("X", "Upper bound of all values, e.g. 100.")] = None,
    together: Annotated[
        str,
        _option(
            "HOW",
            "[bold]independent[/bold]: each column from its own past. [bold]joint[/bold]: each from the past of "
            "all, by one linear map with Gaussian bands.",
            True,
        ),
    ] = "independent",
    out: Annotated[
        Path,
        _option("PATH", "Folder for forecast.csv and the page, or a file ending in .csv, .parquet or .json.", True),
    ] = Path("forecast"),
    panel: Annotated[
        Names, _option("NAME", "Column that names the series, for tables in long format; repeatable.")
    ] = None,
    known: Annotated[
        Names,
        _option(
            "NAME", "Input that is known over the horizon, in rows after the last value or in --future; repeatable."
        ),
    ] = None,
    future: Annotated[Path | None, _option("FILE", "Table of the --known columns after the end of FILE.")] = None,
    with_: Annotated[Names, _option("NAME", "Input that is known up to now; repeatable.", "none", "--with")] = None,
    country: Annotated[str | None, _option("CODE", "Public holidays as an input, e.g. DE or DE-BY.")] = None,
    jobs: Annotated[int, _option("N", "Parallel processes for a folder, one thread each.", True, min=1)] = 1,
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
    from hippozoo.apps.forecast.files import is_file
    from hippozoo.apps.forecast.inputs import InputNames
    from hippozoo.apps.forecast.learner import Choices
    from hippozoo.apps.forecast.reading import Reading

    if open_page:
        needs("bokeh", extra="pages", feature="--open")
    inputs = InputNames(tuple(known or ()), tuple(with_ or ()), country)
    is_folder = file.is_dir()
    if is_file(out) and (open_page or is_folder):
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
    if not is_folder and (scheduler is not None or jobs != 1):
        raise UsageError("--jobs and --scheduler are for a folder; one file is one stream.")
    if is_folder and (future is not None or (panel and inputs)):
        raise UsageError(
            "a folder takes no --future, and with --panel no inputs; add the rows of the future to each table, or "
            "forecast one file at a time."
        )
    if is_folder and len(panel or ()) > 1:
        raise UsageError("--panel: a folder takes one column of names; join them into one.")
    if is_folder and panel and open_page:
        raise UsageError("--open: a data set of many series has no page; omit --open.")
    how: Any = "panel" if panel and not is_folder else together
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
    if is_folder:
        failed = _forecast_folder(file, reading, choices, out, jobs, scheduler, as_json=as_json)
    else:
        failed = _forecast_file(file, reading, choices, out, future, as_json=as_json)
    if open_page:
        import webbrowser

        webbrowser.open((out / "index.html").resolve().as_uri())
    if failed:
        raise typer.Exit(1)


def _length(every: str | None) -> float | str | None:
    """A number, or a length of time in words."""
    try:
        return None if every is None else float(every)
    except ValueError:
        return every


def _print_json(answer: dict[str, Any]) -> None:
    import json

    typer.echo(json.dumps(answer, indent=1, ensure_ascii=False, allow_nan=False))


def _forecast_file(file: Path, reading: Any, choices: Any, out: Path, future: Path | None, *, as_json: bool) -> bool:
    """Forecast one table; print notes and a line for each column. Nothing fails without an error: False."""
    from hippozoo.apps.forecast.files import is_file, run_forecast
    from hippozoo.tables import list_reasons

    answer = run_forecast(file, reading, choices, out, future)
    if reading.time is None and answer["time"] is not None:
        complain(f"times from {answer['time']!r}; --no-time takes rows as even steps.")
    for note in answer["notes"]:
        complain(note if note.endswith("?") else f"{note}.")
    if answer["left_out"]:
        complain(f"left out: {list_reasons(answer['left_out'])}.")
    has_pages = is_installed("bokeh")
    if as_json:
        _print_json(answer)
    else:
        _print_verdicts(answer)
        page = f" and {out / 'index.html'}" if has_pages else ""
        typer.echo(f"wrote {out}" if is_file(out) else f"wrote {out / 'forecast.csv'}{page}")
    if not has_pages and not is_file(out):
        complain("the page index.html needs Bokeh, which is not installed: pip install 'hippozoo[pages]'.")
    return False


def _forecast_folder(
    folder: Path, reading: Any, choices: Any, out: Path, jobs: int, scheduler: str | None, *, as_json: bool
) -> bool:
    """Forecast many tables, or the series of a data set; print a line for each table or for all series.

    Returns whether any could not be forecast.
    """
    from hippozoo.apps.forecast.folder import run_files, run_panel

    run = run_panel if reading.panel else run_files
    answer = run(folder, reading, choices, out, jobs, scheduler)
    for note in answer.get("notes", ()):
        complain(f"{note}.")
    if as_json:
        _print_json(answer)
    elif reading.panel:
        typer.echo(f"forecast {answer['series']:,} series of {answer['rows']:,} rows")
        typer.echo(f"wrote {out / 'forecast'} and {out / 'series'}")
    else:
        for table in answer["tables"]:
            for name, verdict in table["verdict"].items():
                typer.echo(f"{table['file']}, {name}: {verdict['sentence']}")
        typer.echo(f"wrote {out / 'summary.csv'} and {out / 'index.html'}")
    failures = answer.get("failures", len(answer["failed"]))
    for name, why in answer["failed"].items():
        complain(f"{name}: {why}")
    if failures:
        what = "series" if reading.panel else "file" if failures == 1 else "files"
        complain(f"{failures:,} {what} could not be forecast.")
    return bool(failures or answer.get("lost_parts"))


def _print_verdicts(answer: dict[str, Any]) -> None:
    """One line per column: the verdict, errors, bands, and what the forecast is made of."""
    for name, errors in answer["mean_absolute_error"].items():
        verdict, inputs = answer["verdict"][name], answer["inputs"].get(name, {})
        parts = [f"{name}: {verdict['sentence']}"]
        if verdict["rival"] is not None and errors.get("forecast") is not None:
            parts.append(f"mean absolute error {errors['forecast']:.4g}, best rival {errors[verdict['rival']]:.4g}")
        held = [f"{band} {share:.1%}" for band, share in answer["coverage"][name].items() if share is not None]
        if held:
            parts.append(f"bands held: {', '.join(held)}")
        if made_of := answer["made_of"][name]:
            parts.append(f"made of {'; '.join(made_of[:2])}{'; …' if len(made_of) > 2 else ''}")
        for label, gain in inputs.items():
            if gain["better_by"] is not None and (label != "all" or len(inputs) > 2):
                parts.append(f"{'all inputs' if label == 'all' else label}: {gain['sentence']}")
        typer.echo("; ".join(parts))
    if answer["pooled_verdict"] is not None:
        typer.echo(f"all {len(answer['verdict'])} columns together: {answer['pooled_verdict']['sentence']}")
