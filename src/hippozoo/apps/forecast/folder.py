"""``hippozoo forecast FOLDER``: many files, or the many series of a Parquet data set, side by side."""

from __future__ import annotations

import csv
import io
import json
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np

from hippozoo._internal.arguments import shorten
from hippozoo._internal.extras import is_installed, needs
from hippozoo._internal.files import demand_folder, make_folder, write_whole
from hippozoo.apps.forecast.files import inert, write_folder
from hippozoo.apps.forecast.learner import Choices
from hippozoo.apps.forecast.reading import Reading, learn_table, run_of_table
from hippozoo.apps.forecast.run import ForecastRun, forecast_columns
from hippozoo.apps.pages.page import Page
from hippozoo.apps.pages.text import shown
from hippozoo.scale.folder import Part, open_folder
from hippozoo.scale.reading import SeriesRows, TableLayout
from hippozoo.scale.whole_series import whole_rows
from hippozoo.tables import TableError, word

__all__ = ["run_files", "run_panel"]

_ENDINGS = (".csv", ".tsv", ".csv.gz", ".parquet", ".pq")
_PART_BYTES = 4 * 2**20  # small parts: a second of forecasts is worth more than a second of reading


def run_files(
    folder: Path, reading: Reading, choices: Choices, out: Path, jobs: int, scheduler: str | None
) -> dict[str, Any]:
    """Forecast every table of a folder as ``hippozoo forecast FILE`` does, each into a folder of its own.

    ``summary.csv`` has one line per column, ``index.html`` leads to the pages. A file that cannot be forecast is
    reported, and the others go on.
    """
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name.lower().endswith(_ENDINGS))
    if not files:
        raise TableError(f"{folder} holds no table; pass a folder with files ending in {', '.join(_ENDINGS)}.")
    demand_folder(out)
    names = _names(files)
    place = out.absolute()
    items = [
        (str(path.absolute()), str(place / name), reading, choices) for path, name in zip(files, names, strict=True)
    ]
    found: dict[int, dict[str, Any]] = {}
    failed: dict[str, str] = {}
    for number, outcome in _each(forecast_file, items, [1] * len(items), f"forecasting {folder.name}", jobs, scheduler):
        if isinstance(outcome, Failure):
            failed[files[number].name] = outcome.reason
        else:
            found[number] = outcome
    make_folder(out)
    tables = [{"file": files[at].name, "folder": names[at], **found[at]} for at in sorted(found)]
    rows = [row for table in tables for row in _summary_rows(table)]
    _write_summary(rows, out / "summary.csv", choices.coverages)
    _write_index(folder.name, rows, failed, out / "index.html")
    return {"tables": tables, "failed": dict(sorted(failed.items())), "columns": len(rows)}


def run_panel(
    folder: Path, series: str, reading: Reading, choices: Choices, out: Path, jobs: int, scheduler: str | None
) -> dict[str, Any]:
    """Forecast every series of a Parquet data set, each by itself, and write Parquet.

    ``forecast/`` has one row per series and step, ``series/`` one per series: how good the forecast is, or why there is
    none. Files are written whole: a part that is computed again replaces itself.
    """
    try:
        found = open_folder(folder, series)
    except TableError as error:
        if any(path.name.lower().endswith(_ENDINGS[:3]) for path in folder.iterdir() if path.is_file()):
            raise TableError(f"{error} --panel reads Parquet; leave it out for a folder of CSV files.") from None
        raise
    layout = _layout(found.meta, series, reading)
    demand_folder(out)
    parts = found.parts(series, _PART_BYTES, at_any_cost=True) or []
    read = sum(part.rows for part in parts) / found.rows
    note = (
        f"the data set is not sorted by {series!r}, and is read {read:.0f} times; sorted, it would be read once"
        if read > 2
        else ""
    )
    for name in ("forecast", "series"):
        made = make_folder(out / name)
        for old in made.glob("part-*.parquet"):
            old.unlink()
    place = str(out.absolute())
    items = [(part, layout, choices, place) for part in parts]
    rows = [part.rows for part in parts]
    counted, failed, reasons, lost = 0, 0, {}, list[str]()
    for number, outcome in _each(forecast_part, items, rows, f"forecasting {folder.name}", jobs, scheduler):
        if isinstance(outcome, Failure):
            if not outcome.lost:
                raise RuntimeError(f"part {number + 1} of {len(parts)} of {folder}: {outcome.reason}")
            lost.append(f"part {number + 1} of {len(parts)} is missing: {outcome.reason.rstrip('.')}")
            continue
        counted, failed = counted + outcome["series"], failed + outcome["failed"]
        reasons |= outcome["reasons"]
    answer = {"series": counted, "failed": dict(sorted(reasons.items())[:10]), "failures": failed, "rows": found.rows}
    answer |= {
        "notes": ([note] if note else []) + lost,
        "lost_parts": len(lost),
        "column": layout.columns[0],
        "time": layout.time,
    }
    write_whole(out / "summary.json", (json.dumps(answer, indent=1, ensure_ascii=False) + "\n").encode())
    return answer


# -- side by side ---------------------------------------------------------------------------------------------------


def _each(
    work: Callable[[Any], Any], items: Sequence[Any], sizes: Sequence[int], title: str, jobs: int, scheduler: str | None
) -> Iterator[tuple[int, Any]]:
    """``work(item)`` for all items as they finish, with a bar; an error of an item is a text."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with ExitStack() as stack:
        bar = stack.enter_context(Progress(*columns, console=console, transient=True, disable=not console.is_terminal))
        task = bar.add_task(title, total=sum(sizes))

        def note(text: str) -> None:
            console.print(f"hippozoo: {text}.", markup=False, highlight=False, soft_wrap=True)

        for number, outcome in _outcomes(stack, work, items, jobs, scheduler, note):
            bar.advance(task, sizes[number])
            yield number, outcome


def _outcomes(
    stack: ExitStack,
    work: Callable[[Any], Any],
    items: Sequence[Any],
    jobs: int,
    scheduler: str | None,
    note: Callable[[str], None],
) -> Iterator[tuple[int, Any]]:
    if scheduler is not None:
        from hippozoo.scale.cluster import Died, connect, each_finished

        client = stack.enter_context(connect(scheduler))
        for number, outcome in each_finished(client, partial(_caught, work), items, on_note=note):
            gave_up = isinstance(outcome, (Died, BaseException))
            yield number, Failure(getattr(outcome, "reason", str(outcome)), lost=True) if gave_up else outcome
        return
    if jobs == 1:
        for number, item in enumerate(items):
            yield number, _caught(work, item)
        return
    yield from _in_processes(work, items, jobs, note)


def _in_processes(
    work: Callable[[Any], Any], items: Sequence[Any], jobs: int, note: Callable[[str], None]
) -> Iterator[tuple[int, Any]]:
    """In so many processes. Where one dies, what was at work begins once more, alone, and is then given up."""
    waiting, suspects = deque(range(len(items))), deque[int]()
    while waiting or suspects:
        some, size = (suspects, 1) if suspects else (waiting, min(jobs, len(waiting)))
        running: dict[Future[Any], int] = {}
        pool = ProcessPoolExecutor(size, mp_context=get_context("spawn"))
        try:
            while some or running:
                while some and len(running) < size:  # no more than can be at work, so that a death has few suspects
                    running[pool.submit(_caught, work, items[some[0]])] = some[0]
                    some.popleft()
                for future in sorted(wait(running, return_when=FIRST_COMPLETED).done, key=_is_lost):
                    outcome = future.result()
                    yield running.pop(future), outcome
        except BrokenProcessPool:
            if some is waiting:
                note("a process died; what was at work begins once more")
                suspects.extend(running.values())
            else:
                for number in running.values():
                    reason = "its process died twice; was the machine out of memory? Try a smaller --jobs."
                    yield number, Failure(reason, lost=True)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _is_lost(future: Future[Any]) -> bool:
    return future.exception() is not None


class Failure(NamedTuple):
    """Why a table was not forecast; `lost` where its process has given nothing."""

    reason: str
    lost: bool = False


def _caught(work: Callable[[Any], Any], item: Any) -> Any:
    """What a table is to blame for becomes a failure; the others go on."""
    try:
        return work(item)
    except TableError as error:
        if error.trouble is None:
            return Failure(str(error))
        # The file is named beside it.
        return Failure(word(error.trouble._replace(place=error.trouble.place._replace(source=""))))
    except (ValueError, OSError, RuntimeError) as error:
        return Failure(str(error))


# -- one file -------------------------------------------------------------------------------------------------------


def forecast_file(item: tuple[str, str, Reading, Choices]) -> dict[str, Any]:
    """Forecast one table into its folder; give its summary."""
    path, out, reading, choices = item
    run = _run(Path(path), reading, choices)
    write_folder(run, Path(out))
    return run.summary


def _run(path: Path, reading: Reading, choices: Choices) -> ForecastRun:
    learner, table = learn_table(path, reading, choices)
    return run_of_table(learner, table, path.name)


def _names(files: Sequence[Path]) -> list[str]:
    """A folder for each file: its name without the ending, unless another has the same."""
    stems = [path.name[: path.name.lower().index(_ending(path))] or path.name for path in files]
    return [stem if stems.count(stem) == 1 else path.name for stem, path in zip(stems, files, strict=True)]


def _ending(path: Path) -> str:
    return max((one for one in _ENDINGS if path.name.lower().endswith(one)), key=len)


def _summary_rows(table: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for column, verdict in table["verdict"].items():
        errors = table["mean_absolute_error"][column]
        yield {
            "file": table["file"],
            "folder": table["folder"],
            "column": column,
            "rows": table["rows"],
            "verdict": verdict["kind"],
            "sentence": verdict["sentence"],
            "mean_absolute_error": errors.get("forecast"),
            "best_rival": verdict["rival"],
            "rival_error": None if verdict["rival"] is None else errors.get(verdict["rival"]),
            **{f"held_{band.rstrip('%')}": share for band, share in table["coverage"][column].items()},
        }


def _write_summary(rows: list[dict[str, Any]], path: Path, coverages: Sequence[float]) -> None:
    names = ["file", "column", "rows", "verdict", "sentence", "mean_absolute_error", "best_rival", "rival_error"]
    names += [f"held_{share * 100:g}" for share in coverages]
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, names, restval="", extrasaction="ignore")
    writer.writeheader()
    writer.writerows({name: "" if value is None else inert(value) for name, value in row.items()} for row in rows)
    write_whole(path, file.getvalue().encode())


def _write_index(name: str, rows: list[dict[str, Any]], failed: dict[str, str], path: Path) -> None:
    page = Page(f"Forecasts of {name}")
    linked = "index.html" if is_installed("bokeh") else "forecast.csv"
    body = "".join(
        f'<tr><th scope="row"><a href="{quote(row["folder"])}/{linked}">{shown(row["file"])}</a></th>'
        f"<td>{shown(row['column'])}</td><td>{row['rows']:,}</td><td>{shown(row['sentence'])}</td>"
        f"<td>{_short(row['mean_absolute_error'])}</td><td>{_short(row['rival_error'])}</td></tr>"
        for row in rows
    )
    head = "".join(f'<th scope="col">{one}</th>' for one in ("file", "column", "rows", "verdict", "error", "rival"))
    page.add(f"<p>{len(rows)} columns. The error is the mean absolute error of forecasts made on the way.</p>")
    page.add(f'<div class="table scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>')
    if failed:
        listed = "".join(f"<li>{shown(file)}: {shown(why)}</li>" for file, why in sorted(failed.items()))
        page.add(f"<h2>Not forecast</h2><ul>{listed}</ul>")
    write_whole(path, page.html().encode())


def _short(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


# -- one part of a panel --------------------------------------------------------------------------------------------


def _layout(meta: Any, series: str, asked: Reading) -> TableLayout:
    """Which columns of the data set say what; as for a file, dates are times unless --no-time says otherwise."""
    pandas = needs("pandas", extra="dask", feature="forecast --panel")

    time = asked.time
    if time is None and not asked.rows_are_steps:
        dates = [str(n) for n in meta.columns if pandas.api.types.is_datetime64_any_dtype(meta[n].dtype)]
        time = dates[0] if len(dates) == 1 else None
    reading = TableLayout.of_frame(meta, series, asked.columns[0] if asked.columns else None, time)
    if len(reading.columns) != 1:
        raise TableError(
            f"there are {len(reading.columns)} columns of numbers beside {series!r}: "
            f"{', '.join(map(repr, reading.columns[:20]))}; name one with --column."
        )
    return reading


def forecast_part(item: tuple[Part, TableLayout, Choices, str]) -> dict[str, Any]:
    """Forecast the series of one part and write them."""
    pandas = needs("pandas", extra="dask", feature="forecast --panel")

    part, reading, choices, out = item
    (column,) = reading.columns
    one = Reading((column,), reading.time, reading.time is None)
    tables: list[Any] = []
    told: list[dict[str, Any]] = []
    reasons: dict[str, str] = {}
    with TemporaryDirectory() as folder:
        file = Path(folder) / "series.parquet"
        for series in whole_rows(part.frames(reading.wanted), reading, ordered=part.is_ordered()):
            try:
                _write_series(series, reading, file)
                found = _run(file, one, choices)
            except ValueError as error:
                why = str(error).replace(f"{file}: ", "").replace(str(file), shorten(series.name))
                reasons[str(series.name)] = why
                told.append({reading.id: series.name, "rows": len(series.values), "note": why})
                continue
            tables.append(_forecast_rows(found, reading.id, series.name))
            told.append(_told(found, reading.id, series.name))
    name = f"part-{part.number:06d}.parquet"
    for kind, frame in (("forecast", pandas.concat(tables) if tables else None), ("series", pandas.DataFrame(told))):
        if frame is not None and len(frame):
            content = io.BytesIO()
            frame.to_parquet(content, index=False)
            write_whole(Path(out) / kind / name, content.getvalue())
    return {"series": len(tables), "failed": len(reasons), "reasons": dict(list(reasons.items())[:10])}


def _write_series(series: SeriesRows, reading: TableLayout, file: Path) -> None:
    pandas = needs("pandas", extra="dask", feature="forecast --panel")

    frame = pandas.DataFrame({reading.columns[0]: series.values[:, 0]})
    if series.ticks is not None:
        frame.insert(0, reading.time, pandas.to_datetime(series.ticks) if reading.dates else series.ticks)
        frame = frame.iloc[np.argsort(series.ticks, kind="stable")]
    frame.to_parquet(file, index=False)


def _forecast_rows(found: ForecastRun, id: str, name: Any) -> Any:
    pandas = needs("pandas", extra="dask", feature="forecast --panel")

    columns = forecast_columns(found)
    columns.pop("column")
    return pandas.DataFrame({id: [name] * found.horizon, **columns})


def _told(found: ForecastRun, id: str, name: Any) -> dict[str, Any]:
    summary = found.summary
    (row,) = _summary_rows({"file": "", "folder": "", **summary})
    kept = {key: value for key, value in row.items() if key not in ("file", "folder", "column")}
    return {id: name, **kept, "note": " ".join(summary["notes"])}
