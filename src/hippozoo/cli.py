"""The command `hippozoo`: one function per command, and everything heavy imported inside it.

A new command is a function with ``@app.command()``. Its docstring is its help: the first line stands in the
list of commands. Wrong usage raises `UsageError` (exit code 2); any other exception becomes one sentence on
stderr (exit code 1), or a traceback with ``--debug``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from hippozoo import __version__
from hippozoo._threads import ONE_THREAD

app = typer.Typer(
    name="hippozoo",
    add_completion=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,  # `main` turns exceptions into sentences
    epilog="Example: [bold]hippozoo tour[/bold] draws the zoo on embedded data; "
    "[bold]hippozoo reproduce --list[/bold] names the experiments.",
)


def _flag(*names: str, **settings: Any) -> Any:
    """An option that takes no value; the empty metavar keeps typer from printing <bool> after it."""
    return typer.Option(*names, metavar="", **settings)


# `main` looks for it among the arguments, so that it works before and after the name of a command.
Debug = Annotated[bool, _flag("--debug", help="Show the traceback of an error (also HIPPOZOO_DEBUG=1).")]


Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Work on a Dask cluster, as tcp://10.0.0.5:8786, in place of --jobs.",
        show_default=False,
    ),
]


class UsageError(Exception):
    """The command line asks for something that cannot be; exit code 2."""


class StoppedError(Exception):
    """Ctrl-C in a run that can be resumed; exit code 130."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with 0, with 1 (failed), 2 (wrong usage) or 130 (interrupted)."""
    given = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    debug = "--debug" in given or _debug_is_set()
    try:
        code = app(args=given, prog_name="hippozoo", standalone_mode=False)
    except (typer.Abort, KeyboardInterrupt):
        code = 130
    except Exception as error:
        sys.exit(_explain(error, debug=debug))
    if code == 130:  # Ctrl-C where there is nothing to resume; recent typer turns it into this code
        _complain("stopped.")
    sys.exit(code if isinstance(code, int) else 0)


def _debug_is_set() -> bool:
    return os.environ.get("HIPPOZOO_DEBUG", "0") not in ("", "0")


def _explain(error: Exception, *, debug: bool, prefix: str = "") -> int:
    """Tell an error in one sentence; give its exit code."""
    if isinstance(error, UsageError):
        _complain(str(error))
        return 2
    if isinstance(error, StoppedError):
        _complain(str(error))
        return 130
    if hasattr(error, "format_message"):  # typer's own: unknown options, values out of range
        text = str(error.format_message())  # pyright: ignore[reportAttributeAccessIssue]
        _complain(f"{text}{'' if text.endswith(('.', '?')) else '.'} See hippozoo --help.")
        return 2
    if debug:
        import traceback

        traceback.print_exception(error)
    elif isinstance(error, (ValueError, RuntimeError, OSError)) or "pip install" in str(error):  # ours: all is said
        _complain(f"{prefix}{error}")
    else:
        _complain(f"{prefix}{type(error).__name__}: {error} (--debug shows where)")
    return 1


def _complain(text: str) -> None:
    typer.echo(f"hippozoo: {text}", err=True)


def _print_version(asked: bool) -> bool:
    if asked:
        typer.echo(f"hippozoo {__version__}")
        raise typer.Exit
    return asked


@app.callback()
def hippozoo(
    version: Annotated[
        bool, _flag("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
    debug: Debug = False,
) -> None:
    """Explicit sequence memory: the past of a stream as coefficients one can read, query and draw."""


@app.command(epilog="Example: [bold]hippozoo tour --out tour --open[/bold]")
def tour(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the page and its pictures.")] = Path("tour"),
    open_page: Annotated[bool, _flag("--open/--no-open", help="Open the page in a browser.")] = False,
    debug: Debug = False,
) -> None:
    """Run the zoo on embedded data and write a page with pictures."""
    from hippozoo.tour import write_tour

    page = write_tour(out, report=lambda line: typer.echo(line, err=True))
    typer.echo(f"wrote {page}")
    if open_page:
        import webbrowser

        webbrowser.open(page.resolve().as_uri())


@app.command(epilog="Example: [bold]hippozoo explore load.csv --column load[/bold]")
def explore(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="A .csv or .parquet file.", show_default="a built-in signal")
    ] = None,
    column: Annotated[
        str | None, typer.Option(metavar="NAME", help="Its column to begin with.", show_default="the first of numbers")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, max=65_535, help="Where to serve the page.", show_default="a free one"),
    ] = None,
    browser: Annotated[bool, _flag("--browser/--no-browser", help="Open the page in a browser.")] = True,
    debug: Debug = False,
) -> None:
    """Open a page on this machine that shows memory at work.

    Nothing leaves the machine: the page is served to 127.0.0.1 only. Ctrl-C stops it.
    """
    _one_thread_unless_set()
    from hippozoo.explore.server import demand_panel, serve

    if column is not None and file is None:
        raise UsageError(
            f"--column {column} needs a file; pass one, as in hippozoo explore load.csv --column {column}."
        )
    demand_panel()

    def report(address: str) -> None:
        typer.echo(f"explorer at {address}")
        _complain("stop with Ctrl-C.")

    try:
        serve(port or 0, file, column, browser=browser, report=report)
    except KeyboardInterrupt:
        _complain("stopped.")


@app.command(epilog="Example: [bold]hippozoo reproduce multiscale --quick[/bold]")
def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="Experiments, or [bold]all[/bold].", show_default=False),
    ] = None,
    show_list: Annotated[bool, _flag("--list", help="List the experiments and stop.")] = False,
    quick: Annotated[
        bool, _flag("--quick", help="Small sizes: a check that it runs, in a minute at most; not a result.")
    ] = False,
    seeds: Annotated[
        str | None,
        typer.Option(metavar="0,1,2", help="Seeds, in place of the experiment's own.", show_default=False),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder with data sets of your own.", show_default="HIPPOZOO_DATA"),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Results go to DIR/NAME: metrics.json, config.json, figures.",
            show_default="results; with --quick results-quick",
        ),
    ] = None,
    jobs: Annotated[int, typer.Option(metavar="N", min=1, help="Processes side by side, one thread each.")] = 1,
    scheduler: Scheduler = None,
    so_far: Annotated[
        bool, _flag("--so-far", help="Run nothing: write metrics and figures of the units that are there.")
    ] = False,
    check: Annotated[
        bool, _flag("--check", help="Compute one finished unit of each model again: does this code still give it?")
    ] = False,
    as_json: Annotated[
        bool,
        _flag("--json", help="Print metrics.json on stdout and nothing else there (a list for several)."),
    ] = False,
    debug: Debug = False,
) -> None:
    """Run experiments, and set our figures beside the paper's.

    A long run can be stopped with Ctrl-C at any time: finished units are
    kept in OUT/NAME/units.jsonl, and the same command goes on from there.
    Progress is shown on stderr.
    """
    if show_list:
        _list_experiments(as_json=as_json)
        return
    from hippozoo import experiments

    chosen, is_all = _chosen(names or [])
    if scheduler is not None and jobs != 1:
        raise UsageError(f"--jobs {jobs} and --scheduler {scheduler} exclude each other; pass one of them.")
    if data is not None and not data.is_dir():
        raise UsageError(f"--data {data}: there is no such folder; pass the one that holds your data sets.")
    if check:
        if seeds is not None or so_far or as_json or jobs != 1:
            raise UsageError("--check goes with --quick, --data and --out only; leave the other options out.")
        _check_units(chosen, is_all=is_all, quick=quick, data=data, out=out)
        return
    wanted = None if seeds is None else _seeds(seeds)
    failed, documents = [], []
    for name in chosen:
        try:
            documents.append(
                _reproduce_one(name, quick, wanted, is_all, data, out, jobs, scheduler, so_far=so_far, as_json=as_json)
            )
        except Exception as error:
            if len(chosen) == 1 or isinstance(error, (UsageError, StoppedError)):
                raise
            _explain(error, debug=debug or _debug_is_set(), prefix=f"{name}: ")
            failed.append(name)
    if as_json:
        import json

        one = documents[0] if len(chosen) == 1 else documents
        typer.echo(json.dumps(one, indent=1, ensure_ascii=False, allow_nan=False))
    if is_all and documents:
        from hippozoo.report import write_report

        default = experiments.QUICK_FOLDER if quick else experiments.FULL_FOLDER
        typer.echo(f"wrote {write_report(out or default).page}", err=as_json)
    if failed:
        _complain(f"{len(failed)} of {len(chosen)} experiments failed: {', '.join(failed)}.")
        raise typer.Exit(1)


@app.command(epilog="Example: [bold]hippozoo report results --open[/bold]")
def report(
    results: Annotated[
        Path, typer.Argument(metavar="RESULTS", help="The folder that hippozoo reproduce wrote.")
    ] = Path("results"),
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder for report.html and report.md.", show_default="RESULTS"),
    ] = None,
    markdown: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the Markdown alone, to this file.", show_default=False),
    ] = None,
    open_page: Annotated[bool, _flag("--open/--no-open", help="Open the page in a browser.")] = False,
    debug: Debug = False,
) -> None:
    """Set all results on one page: ours beside the paper's, a verdict on every sentence."""
    from hippozoo.report import NoResultsError, write_markdown, write_report

    if markdown is not None and (out is not None or open_page):
        raise UsageError("--markdown writes no page; leave --out and --open away.")
    try:
        if markdown is not None:
            typer.echo(f"wrote {write_markdown(results, markdown)}")
            return
        written = write_report(results, out)
    except NoResultsError as error:
        raise UsageError(str(error)) from None
    typer.echo(f"wrote {written.page} and {written.markdown}")
    if open_page:
        import webbrowser

        webbrowser.open(written.page.resolve().as_uri())


@app.command(epilog="Example: [bold]hippozoo forecast load.csv --column load --time when --horizon 96[/bold]")
def forecast(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A .csv or .parquet file with a header, or a folder of such.")
    ],
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="A column to forecast; repeat for several.", show_default="all columns of numbers"
        ),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The column of times: numbers or dates.",
            show_default="the column of dates; without one, rows are steps",
        ),
    ] = None,
    no_time: Annotated[
        bool, _flag("--no-time", help="Take rows as even steps, also beside a column of dates.")
    ] = False,
    horizon: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="How many steps to forecast.",
            show_default="96; of a short table an eighth of its steps",
        ),
    ] = None,
    every: Annotated[
        float | None,
        typer.Option(
            metavar="S",
            help="Length of a step: seconds for dates, else the unit of the times.",
            show_default="the usual distance of two rows",
        ),
    ] = None,
    season: Annotated[
        list[int] | None,
        typer.Option(
            metavar="N",
            min=1,
            help="A period in steps, as 24 for hours; repeat for several, 1 for none.",
            show_default="found in the data",
        ),
    ] = None,
    coverage: Annotated[
        list[float] | None,
        typer.Option(
            metavar="P", help="The share of values inside a band; repeat for several.", show_default="0.8, 0.95"
        ),
    ] = None,
    lower: Annotated[
        float | None,
        typer.Option(metavar="X", help="No value can be below it, as 0 for counts.", show_default="found for counts"),
    ] = None,
    together: Annotated[
        str,
        typer.Option(
            metavar="HOW",
            help="[bold]independent[/bold]; [bold]joint[/bold] where columns explain each other: "
            "one map, no mixture, no guard, Gaussian bands.",
        ),
    ] = "independent",
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for forecast.csv and the page.")] = Path("forecast"),
    panel: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="The rows stack several series; this column names them.", show_default="none"
        ),
    ] = None,
    jobs: Annotated[
        int, typer.Option(metavar="N", min=1, help="For a folder: processes side by side, one thread each.")
    ] = 1,
    scheduler: Scheduler = None,
    open_page: Annotated[bool, _flag("--open/--no-open", help="Open the page in a browser.")] = False,
    as_json: Annotated[bool, _flag("--json", help="Print what was found as JSON on stdout.")] = False,
    debug: Debug = False,
) -> None:
    """Forecast a table's columns, with bands, and show how good that is.

    For a folder every file is forecast, each into a folder of its own; with
    --panel the folder is a Parquet data set of many series.
    """
    _one_thread_unless_set()
    from hippozoo.forecast_command.backtest import COVERAGES
    from hippozoo.forecast_command.command import run_forecast

    if no_time and time is not None:
        raise UsageError(f"--time {time} and --no-time exclude each other; pass one of them.")
    if panel is not None and (together != "independent" or len(column or ()) > 1):
        raise UsageError("--panel takes one --column and no --together; forecast other columns one after the other.")
    if together not in ("independent", "joint"):
        raise UsageError(f"--together {together} is unknown; pass independent or joint.")
    if scheduler is not None and jobs != 1:
        raise UsageError(f"--jobs {jobs} and --scheduler {scheduler} exclude each other; pass one of them.")
    if file.is_dir():
        from hippozoo.forecast_command.folder import Settings

        settings = Settings(
            tuple(column or ()),
            time,
            horizon,
            every,
            None if season is None else tuple(season),
            no_time,
            tuple(coverage) if coverage else COVERAGES,
            lower,
            together,
        )
        _forecast_folder(file, panel, settings, out, jobs, scheduler, open_page=open_page, as_json=as_json)
        return
    if scheduler is not None or jobs != 1:
        raise UsageError("--jobs and --scheduler are for a folder; one file is one stream.")
    answer = run_forecast(
        file,
        tuple(column or ()),
        time,
        horizon,
        every,
        None if season is None else tuple(season),
        out,
        rows_are_steps=no_time,
        coverages=tuple(coverage) if coverage else COVERAGES,
        lower=lower,
        together="joint" if together == "joint" else "independent",
        panel=panel,
    )
    if time is None and answer["time"] is not None:
        _complain(f"times from {answer['time']!r}; --no-time takes rows as even steps.")
    for note in answer["notes"]:
        _complain(note if note.endswith("?") else f"{note}.")
    for name, why in answer["left_out"].items():
        _complain(f"left out {name}, because {why}.")
    if as_json:
        import json

        typer.echo(json.dumps(answer, indent=1, ensure_ascii=False, allow_nan=False))
    else:
        _tell_forecast(answer)
        typer.echo(f"wrote {out / 'forecast.csv'} and {out / 'index.html'}")
    if open_page:
        import webbrowser

        webbrowser.open((out / "index.html").resolve().as_uri())


def _forecast_folder(
    folder: Path,
    panel: str | None,
    settings: Any,
    out: Path,
    jobs: int,
    scheduler: str | None,
    *,
    open_page: bool,
    as_json: bool,
) -> None:
    """Many tables, or the series of a data set: a line for each table or for all series, then what failed."""
    from hippozoo.forecast_command.folder import run_files, run_panel

    if panel is not None:
        if open_page:
            raise UsageError("--open: a data set of many series has no page; leave it out.")
        answer = run_panel(folder, panel, settings, out, jobs, scheduler)
    else:
        answer = run_files(folder, settings, out, jobs, scheduler)
    for note in answer.get("notes", ()):
        _complain(f"{note}.")
    if as_json:
        import json

        typer.echo(json.dumps(answer, indent=1, ensure_ascii=False, allow_nan=False))
    elif panel is not None:
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
        _complain(f"{name}: {why}")
    if failures:
        what = "series" if panel is not None else "file" if failures == 1 else "files"
        _complain(f"{failures:,} {what} could not be forecast.")
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
        by = [f"{one} {share:.0%}" for one, share in list(answer["by"][name].items())[:3]]
        if by:
            told.append(f"forecast by {', '.join(by)}")
        typer.echo("; ".join(told))


@app.command(
    epilog='Example: [bold]hippozoo generate --checkpoint explicit-25000.safetensors --prompt "The town of "[/bold]'
)
def generate(
    checkpoint: Annotated[Path, typer.Option(metavar="FILE", help="A trained model of characters.")],
    prompt: Annotated[str, typer.Option(metavar="TEXT", help="What to go on from: printable ASCII and newlines.")],
    length: Annotated[int, typer.Option(metavar="N", min=1, help="Characters to write.")] = 400,
    temperature: Annotated[
        float, typer.Option(metavar="T", help="Below 1 likely characters become likelier: fewer surprises.")
    ] = 0.8,
    seed: Annotated[
        int, typer.Option(metavar="N", min=0, help="Of the draws: the same seed writes the same text.")
    ] = 0,
    explain: Annotated[
        Path | None,
        typer.Option(metavar="PNG", help="Draw there which earlier characters carried the last choice."),
    ] = None,
    debug: Debug = False,
) -> None:
    """Write text, one character at a time, from a model with one explicit state."""
    _one_thread_unless_set()
    from hippozoo.generate_command import demand_characters, load_characters, what_carried, write_text
    from hippozoo.generate_command.carriers import draw_carriers

    if explain is not None and explain.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise UsageError(
            f"--explain {explain}: a picture is written there; name a file that ends in .png, .svg or .pdf."
        )
    if not temperature > 0:
        raise UsageError(f"--temperature {temperature}: pass a number above 0; 1 draws as the model believes.")
    demand_characters(prompt)
    model = load_characters(checkpoint)
    written = write_text(model, prompt, length, temperature, seed)  # what it refuses it refuses before any text
    typer.echo(prompt, nl=False)
    text = prompt
    for symbol in written:
        typer.echo(symbol, nl=False)
        text += symbol
    typer.echo()
    if explain is not None:
        draw_carriers(what_carried(model, text[:-1], text[-1]), explain)
        _complain(f"wrote {explain}: what carried the last character, {text[-1]!r}.")


@app.command(epilog="Example: [bold]hippozoo watch sensor.csv --follow --out sensor.db[/bold]")
def watch(
    source: Annotated[
        str | None, typer.Argument(metavar="SOURCE", help="A CSV or JSON lines file, or - for standard input.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.db", help="The database that keeps everything.", show_default=False)
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A column to watch; repeat for several.", show_default="all of numbers"),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The column of times: numbers or dates.", show_default="found"),
    ] = None,
    horizon: Annotated[int, typer.Option(metavar="N", min=1, help="How many steps to forecast.")] = 24,
    season: Annotated[
        int | None, typer.Option(metavar="N", min=2, help="A period in steps, as 24 for hours.", show_default="none")
    ] = None,
    every: Annotated[
        float | None,
        typer.Option(
            metavar="S", help="The usual step: seconds for dates, else the unit of the times.", show_default="found"
        ),
    ] = None,
    rate: Annotated[float, typer.Option(metavar="X", help="Alarms wanted per 1,000 quiet readings.")] = 1.0,
    keep: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="How many readings stay in the database.", show_default="all"),
    ] = None,
    batch: Annotated[int, typer.Option(metavar="N", min=1, help="Readings that are committed together.")] = 1024,
    follow: Annotated[bool, _flag("--follow", help="The file grows: wait for more at its end.")] = False,
    strict: Annotated[bool, _flag("--strict", help="Stop at a row that is no reading.")] = False,
    all_readings: Annotated[
        bool, _flag("--all-readings/--alarms-only", help="Print every reading, or alarms only.")
    ] = False,
    show: Annotated[
        Path | None,
        typer.Option(metavar="FILE.db", help="Write a page of a database, FILE.html, and stop.", show_default=False),
    ] = None,
    tail: Annotated[
        Path | None,
        typer.Option(metavar="FILE.db", help="Print the last alarms of a database, and stop.", show_default=False),
    ] = None,
    open_page: Annotated[bool, _flag("--open/--no-open", help="Open the page in a browser.")] = False,
    debug: Debug = False,
) -> None:
    """Watch a stream: say what was expected, give alarms, survive crashes.

    Alarms are printed as JSON lines once they are in the database. Started again with the same database, it goes on.
    """
    _one_thread_unless_set()
    if show is not None or tail is not None:
        _show_watched(show, tail, open_page=open_page)
        return
    if source is None or out is None:
        raise UsageError("pass a source and --out FILE.db, or --show FILE.db, or --tail FILE.db.")
    from hippozoo.watch_command.command import run_watch
    from hippozoo.watch_command.run import Settings

    run_watch(
        Settings(source, tuple(column or ()), time, horizon, season, every, rate, follow, strict, keep, batch),
        out,
        all_readings=all_readings,
        complain=_complain,
    )


def _show_watched(show: Path | None, tail: Path | None, *, open_page: bool) -> None:
    import json

    from hippozoo.watch_command.show import last_alarms, write_page

    alarms = [] if tail is None else last_alarms(tail)
    for alarm in alarms:
        alarm["explanation"].pop("weights", None)  # a hundred numbers, for pictures
        typer.echo(json.dumps({"alarm": alarm}))
    if tail is not None and not alarms:
        _complain(f"{tail} holds no alarm so far.")
    if show is not None:
        page = write_page(show, show.with_suffix(".html"))
        typer.echo(f"wrote {page}")
        if open_page:
            typer.launch(str(page))


def _one_thread_unless_set() -> None:
    """Matrices of a few hundred rows gain nothing from more threads, and lose much by them on a busy machine."""
    # NumPy looks at them when it is loaded, not later; and whoever has set one of them has decided.
    if "numpy" not in sys.modules and not ONE_THREAD.keys() & os.environ.keys():
        os.environ.update(ONE_THREAD)


def _list_experiments(*, as_json: bool) -> None:
    from hippozoo.experiments import describe

    if as_json:
        import json

        typer.echo(json.dumps(describe(), indent=1, ensure_ascii=False))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, show_header=False)
    for name, line in describe().items():
        table.add_row(name, line)
    Console().print(table, markup=False, highlight=False)


def _chosen(names: list[str]) -> tuple[list[str], bool]:
    """The experiments to run, and whether that is all of them."""
    from hippozoo import experiments

    if not names:
        raise UsageError("no experiment named; pass names or 'all' (hippozoo reproduce --list shows them).")
    if "all" in names:
        return experiments.names(), True
    try:
        return [experiments.check_name(name) for name in dict.fromkeys(names)], False
    except experiments.UnknownExperimentError as error:
        raise UsageError(str(error)) from None


def _seeds(text: str) -> list[int]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise UsageError(f"--seeds {text}: seeds are whole numbers from 0 on; separate them by commas, as in 0,1,2.")
    seeds = [int(part) for part in parts]
    if len(set(seeds)) < len(seeds):
        raise UsageError(f"--seeds {text}: a seed stands there twice; name each once.")
    return seeds


def _check_units(names: list[str], *, is_all: bool, quick: bool, data: Path | None, out: Path | None) -> None:
    """Check experiment by experiment, and say which models no longer come out the same."""
    from contextlib import redirect_stdout

    from rich.console import Console

    from hippozoo import experiments
    from hippozoo.experiments import Terminal

    folder = out or (experiments.QUICK_FOLDER if quick else experiments.FULL_FOLDER)
    differing = []
    for name in names:
        if is_all and not (Path(folder) / name / "units.jsonl").exists():
            continue
        try:
            with redirect_stdout(sys.stderr):
                checks = experiments.check_units(
                    name, quick=quick, data=data, out=folder, progress=Terminal(Console(stderr=True))
                )
        except KeyboardInterrupt:
            raise StoppedError(f"stopped while checking {name}; the same command goes on from there.") from None
        if not checks:
            typer.echo(f"{name}: every unit agrees with this code already.")
        for model, one in checks.items():
            typer.echo(f"{name}: {model}: {'the same' if one.equal else 'differs'} ({one.seconds:.1f} s)")
            for place, old, new in one.differences:
                typer.echo(f"    {place}: {old} was written, {new} comes out")
            if not one.equal:
                differing.append(f"{model} in {name}")
    if differing:
        raise RuntimeError(
            f"{', '.join(differing)} no longer comes out as written. Another machine may round otherwise; if the code "
            "is the reason, delete those lines of units.jsonl and run the experiment again."
        )


def _reproduce_one(
    name: str,
    quick: bool,
    seeds: list[int] | None,
    is_all: bool,
    data: Path | None,
    out: Path | None,
    jobs: int,
    scheduler: str | None,
    *,
    so_far: bool,
    as_json: bool,
) -> dict[str, Any]:
    from contextlib import redirect_stdout

    from rich.console import Console

    from hippozoo import experiments
    from hippozoo.experiments import Terminal, summary

    progress = Terminal(Console(stderr=True))
    try:
        if seeds is not None and not hasattr(experiments.load(name).config(quick=quick), "seeds"):
            if not is_all:
                raise UsageError(f"experiment {name!r} has no randomness, so it takes no seeds; leave --seeds out.")
            seeds = None
        with redirect_stdout(sys.stderr):  # stdout belongs to the result
            document = experiments.reproduce(
                name,
                quick=quick,
                seeds=seeds,
                data=data,
                out=out,
                jobs=jobs,
                scheduler=scheduler,
                progress=progress,
                so_far=so_far,
            )
    except experiments.Interrupted as interrupt:
        raise StoppedError(str(interrupt)) from None
    except experiments.FullResultInTheWayError as error:
        raise UsageError(str(error)) from None
    if not as_json:
        default = experiments.QUICK_FOLDER if quick else experiments.FULL_FOLDER
        Console().print(summary(document, Path(out or default) / name))
    return document
