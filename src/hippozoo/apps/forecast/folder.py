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
from hippozoo.apps.forecast.reading import Reading
from hippozoo.apps.forecast.result import learn
from hippozoo.apps.forecast.run import forecast_columns
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
    items = [
        (path.absolute(), out.absolute() / name, reading, choices) for path, name in zip(files, names, strict=True)
    ]
    tables: dict[int, dict[str, Any]] = {}
    failed: dict[str, str] = {}
    for number, outcome in _each(forecast_file, items, [1] * len(items), f"forecasting {folder.name}", jobs, scheduler):
        if isinstance(outcome, Failure):
            failed[files[number].name] = outcome.reason
        else:
            tables[number] = {"file": files[number].name, "folder": names[number], **outcome}
    make_folder(out)
    ordered = [tables[number] for number in sorted(tables)]
    rows = [{"file": table["file"], "folder": table["folder"], **row} for table in ordered for row in _verdicts(table)]
    _write_summary(rows, out / "summary.csv", choices.coverages)
    _write_index(folder.name, rows, failed, out / "index.html")
    return {"tables": ordered, "failed": dict(sorted(failed.items())), "columns": len(rows)}


def run_panel(
    folder: Path, reading: Reading, choices: Choices, out: Path, jobs: int, scheduler: str | None
) -> dict[str, Any]:
    """Forecast every series of a Parquet data set, each by itself, and write Parquet.

    ``forecast/`` has one row per series and step, ``series/`` one per series: how good the forecast is, or why there is
    none. Files are written whole: a part that is computed again replaces itself.
    """
    (series,) = reading.panel
    try:
        found = open_folder(folder, series)
    except TableError as error:
        if any(path.name.lower().endswith(_ENDINGS[:3]) for path in folder.iterdir() if path.is_file()):
            raise TableError(f"{error} --panel reads Parquet; leave it out for a folder of CSV files.") from None
        raise
    layout = _layout(found.meta, series, reading)
    demand_folder(out)
    parts = found.parts(series, _PART_BYTES, at_any_cost=True) or []
    notes: list[str] = []
    read = sum(part.rows for part in parts) / found.rows
    if read > 2:
        notes.append(
            f"the data set is not sorted by {series!r}, and is read {read:.0f} times; sorted, it would be read once"
        )
    for name in ("forecast", "series"):
        for old in make_folder(out / name).glob("part-*.parquet"):
            old.unlink()
    items = [(part, layout, choices, out.absolute()) for part in parts]
    rows = [part.rows for part in parts]
    counted, failed, lost, reasons = 0, 0, 0, dict[str, str]()
    for number, outcome in _each(forecast_part, items, rows, f"forecasting {folder.name}", jobs, scheduler):
        if not isinstance(outcome, Failure):
            counted, failed = counted + outcome["series"], failed + outcome["failed"]
            reasons |= outcome["reasons"]
            continue
        if not outcome.lost:
            raise RuntimeError(f"part {number + 1} of {len(parts)} of {folder}: {outcome.reason}")
        lost += 1
        notes.append(f"part {number + 1} of {len(parts)} is missing: {outcome.reason.rstrip('.')}")
    answer = {
        "series": counted,
        "failed": dict(sorted(reasons.items())[:10]),
        "failures": failed,
        "rows": found.rows,
        "notes": notes,
        "lost_parts": lost,
        "column": layout.columns[0],
        "time": layout.time,
    }
    write_whole(out / "summary.json", (json.dumps(answer, indent=1, ensure_ascii=False) + "\n").encode())
    return answer


# -- side by side ---------------------------------------------------------------------------------------------------


class Failure(NamedTuple):
    """Why a table was not forecast; `lost` where its process has given nothing."""

    reason: str
    lost: bool = False


def _each(
    work: Callable[[Any], Any], items: Sequence[Any], sizes: Sequence[int], title: str, jobs: int, scheduler: str | None
) -> Iterator[tuple[int, Any]]:
    """``work(item)`` for all items as they finish, with a bar; what a table is to blame for is a `Failure`."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()

    def note(text: str) -> None:
        console.print(f"hippozoo: {text}.", markup=False, highlight=False, soft_wrap=True)

    with ExitStack() as stack:
        bar = stack.enter_context(Progress(*columns, console=console, transient=True, disable=not console.is_terminal))
        task = bar.add_task(title, total=sum(sizes))
        if scheduler is not None:
            outcomes = _on_cluster(stack, work, items, scheduler, note)
        elif jobs > 1:
            outcomes = _in_processes(work, items, jobs, note)
        else:
            outcomes = enumerate(_caught(work, item) for item in items)
        for number, outcome in outcomes:
            bar.advance(task, sizes[number])
            yield number, outcome


def _on_cluster(
    stack: ExitStack, work: Callable[[Any], Any], items: Sequence[Any], scheduler: str, note: Callable[[str], None]
) -> Iterator[tuple[int, Any]]:
    from hippozoo.scale.cluster import Died, connect, each_finished

    client = stack.enter_context(connect(scheduler))
    for number, outcome in each_finished(client, partial(_caught, work), items, on_note=note):
        gave_up = isinstance(outcome, (Died, BaseException))
        yield number, Failure(getattr(outcome, "reason", str(outcome)), lost=True) if gave_up else outcome


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
                done = wait(running, return_when=FIRST_COMPLETED).done
                for future in sorted(done, key=lambda one: one.exception() is not None):
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


def forecast_file(item: tuple[Path, Path, Reading, Choices]) -> dict[str, Any]:
    """Forecast one table into its folder; give its summary."""
    path, out, reading, choices = item
    result = learn(path, reading, choices)
    write_folder(result.run, out)
    return result.summary


def _names(files: Sequence[Path]) -> list[str]:
    """A folder for each file: its name without the ending, unless another has the same."""
    stems = []
    for path in files:
        name = path.name.lower()
        ending = max((one for one in _ENDINGS if name.endswith(one)), key=len)
        stems.append(path.name[: name.index(ending)] or path.name)
    return [stem if stems.count(stem) == 1 else path.name for stem, path in zip(stems, files, strict=True)]


def _verdicts(table: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A row of the summary for each column of a table."""
    for column, verdict in table["verdict"].items():
        errors = table["mean_absolute_error"][column]
        yield {
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
    body = ""
    for row in rows:
        errors = ("" if row[one] is None else f"{row[one]:.4g}" for one in ("mean_absolute_error", "rival_error"))
        cells = (shown(row["column"]), f"{row['rows']:,}", shown(row["sentence"]), *errors)
        body += (
            f'<tr><th scope="row"><a href="{quote(row["folder"])}/{linked}">{shown(row["file"])}</a></th>'
            + "".join(f"<td>{cell}</td>" for cell in cells)
            + "</tr>"
        )
    head = "".join(f'<th scope="col">{one}</th>' for one in ("file", "column", "rows", "verdict", "error", "rival"))
    page.add(f"<p>{len(rows)} columns. The error is the mean absolute error of forecasts made on the way.</p>")
    page.add(f'<div class="table scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>')
    if failed:
        listed = "".join(f"<li>{shown(file)}: {shown(why)}</li>" for file, why in sorted(failed.items()))
        page.add(f"<h2>Not forecast</h2><ul>{listed}</ul>")
    write_whole(path, page.html().encode())


# -- one part of a panel --------------------------------------------------------------------------------------------


def _layout(meta: Any, series: str, asked: Reading) -> TableLayout:
    """Which columns of the data set say what; as for a file, dates are times unless --no-time says otherwise."""
    pandas = needs("pandas", extra="dask", feature="forecast --panel")
    time = asked.time
    if time is None and not asked.rows_are_steps:
        dates = [str(n) for n in meta.columns if pandas.api.types.is_datetime64_any_dtype(meta[n].dtype)]
        time = dates[0] if len(dates) == 1 else None
    layout = TableLayout.of_frame(meta, series, asked.columns[0] if asked.columns else None, time)
    if len(layout.columns) != 1:
        raise TableError(
            f"there are {len(layout.columns)} columns of numbers beside {series!r}: "
            f"{', '.join(map(repr, layout.columns[:20]))}; name one with --column."
        )
    return layout


def forecast_part(item: tuple[Part, TableLayout, Choices, Path]) -> dict[str, Any]:
    """Forecast the series of one part and write them."""
    pandas = needs("pandas", extra="dask", feature="forecast --panel")
    part, layout, choices, out = item
    reading = Reading(layout.columns, layout.time, layout.time is None)
    forecasts: list[Any] = []
    verdicts: list[dict[str, Any]] = []
    reasons: dict[str, str] = {}
    with TemporaryDirectory() as folder:
        file = Path(folder) / "series.parquet"
        for series in whole_rows(part.frames(layout.wanted), layout, ordered=part.is_ordered()):
            named = {layout.id: series.name}
            try:
                _series_frame(series, layout, pandas).to_parquet(file, index=False)
                run = learn(file, reading, choices).run
            except ValueError as error:
                why = str(error).replace(f"{file}: ", "").replace(str(file), shorten(series.name))
                reasons[str(series.name)] = why
                verdicts.append({**named, "rows": len(series.values), "note": why})
                continue
            columns = forecast_columns(run)
            columns.pop("column")
            forecasts.append(pandas.DataFrame({layout.id: [series.name] * run.horizon, **columns}))
            (row,) = _verdicts(run.summary)
            row.pop("column")
            verdicts.append({**named, **row, "note": " ".join(run.notes)})
    for kind, frames in (("forecast", forecasts), ("series", [pandas.DataFrame(verdicts)] if verdicts else [])):
        if frames:
            content = io.BytesIO()
            pandas.concat(frames).to_parquet(content, index=False)
            write_whole(out / kind / f"part-{part.number:06d}.parquet", content.getvalue())
    return {"series": len(forecasts), "failed": len(reasons), "reasons": dict(list(reasons.items())[:10])}


def _series_frame(series: SeriesRows, layout: TableLayout, pandas: Any) -> Any:
    frame = pandas.DataFrame({layout.columns[0]: series.values[:, 0]})
    if series.ticks is not None:
        frame.insert(0, layout.time, pandas.to_datetime(series.ticks) if layout.dates else series.ticks)
        frame = frame.iloc[np.argsort(series.ticks, kind="stable")]
    return frame
