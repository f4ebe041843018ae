"""What a run found, as a table of forecasts, as numbers, and as a page with pictures."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from hippozoo._files import make_folder, write_whole
from hippozoo.forecast_command.backtest import COVERAGES, BackTest
from hippozoo.forecast_command.run import ForecastRun
from hippozoo.zoo.forecasting import Forecast, explain

__all__ = ["draw", "summarise", "write_csv", "write_page"]


def write_csv(run: ForecastRun, path: Path) -> None:
    """One line per column and step: time, mean and bands."""
    leads = run.forecast.leads()
    mean = run.forecast.mean(leads)
    bands = {share: run.forecast.band(leads, share) for share in COVERAGES}
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    ends = [f"{side}_{share * 100:.0f}" for share in COVERAGES for side in ("lower", "upper")]
    writer.writerow(["column", "step", *(["time"] if run.times else []), "mean", *ends])
    for c, name in enumerate(run.columns):
        for k in range(len(leads)):
            numbers = [mean[c, k], *(bands[share][side][c, k] for share in COVERAGES for side in (0, 1))]
            moment = [run.times[k]] if run.times else []
            # The shortest text that gives the very number back: on a large level all digits are needed.
            writer.writerow([name, k + 1, *moment, *(repr(float(number)) for number in numbers)])
    write_whole(path, file.getvalue().encode())


def summarise(run: ForecastRun) -> dict[str, Any]:
    """What was found, in numbers; None where a figure is unknown."""
    errors = run.backtest.errors()
    chosen = run.forecaster.chosen(run.state)
    return {
        "rows": run.rows,
        "steps": run.steps,
        "missing": run.missing,
        "gaps": run.gaps,
        "longest_gap": {"steps": run.longest_gap, "before_row": run.row_after_longest_gap} if run.gaps else None,
        "notes": list(run.notes),
        "time": run.time,
        "step": run.step_name,
        "left_out": dict(run.left_out),
        "season": run.season,
        "horizon": run.backtest.horizon,
        "rows_until_validated": round(run.forecaster.until_validated(run.state)),
        "origins": len(run.backtest.done),
        # By column, because columns have units of their own.
        "mean_absolute_error": {
            name: {method: _known_mean(one[:, c]) for method, one in errors.items()}
            for c, name in enumerate(run.columns)
        },
        "coverage": {name: _of_column(run.backtest, c).coverage() for c, name in enumerate(run.columns)},
        "chosen": {
            name: {
                "window": run.forecaster.histories[one.history].timescale,
                "order": run.forecaster.histories[one.history].order,
                "anchor": one.anchor,
                "ridge": one.ridge,
            }
            for name, one in zip(run.columns, chosen, strict=True)
        },
    }


def _of_column(test: BackTest, column: int) -> BackTest:
    """The back-test of one column: a band that holds ids and constants says nothing about the others."""
    done = [
        {key: one if key == "step" else one[:, column : column + 1] for key, one in each.items()} for each in test.done
    ]
    return replace(test, done=done)


def _known_mean(values: np.ndarray) -> float | None:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else None


def write_page(run: ForecastRun, folder: Path) -> Path:
    """``index.html`` with three pictures per column: the forecast, its back-test, and the past it uses."""
    from html import escape

    make_folder(folder)
    summary = summarise(run)
    sections = []
    for c, name in enumerate(run.columns[:12]):
        draw(run, c, folder / f"column-{c + 1}.svg")
        sections.append(
            f'<section><h2>{escape(name)}</h2><img src="column-{c + 1}.svg" '
            f'alt="Forecast of {escape(name)} with bands, its errors by step ahead, and the weights of past samples">'
            "</section>"
        )
    gaps = (
        f" {run.gaps} gap{'s' if run.gaps > 1 else ''} in the times, the first before {run.first_gap}; the longest: "
        f"row {run.row_after_longest_gap} is {run.longest_gap:,} steps after the row before."
        if run.gaps
        else ""
    )
    times = f" Times from {run.time}; a step is {run.step_name}." if run.time and run.step_name else ""
    notes = "".join(f" {note[0].upper()}{note[1:]}{'' if note.endswith('?') else '.'}" for note in run.notes)
    left_out = " ".join(f"Left out: {name}, because {why}." for name, why in run.left_out.items())
    told = (
        f"{run.rows} rows, {run.steps} steps, {run.missing} values missing.{times}{gaps}{notes} {left_out} "
        + (f"A season of {run.season} steps was found or given. " if run.season else "No clear season was found. ")
        + (
            f"Back-test: {summary['origins']} forecasts on the way, each knowing only what had come before it."
            if summary["origins"]
            else "The table is too short for a back-test."
        )
    )
    more = f"<p>{len(run.columns) - 12} further columns are in forecast.csv.</p>" if len(run.columns) > 12 else ""
    page = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Forecast</title>
<style>body{{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1c2126}}
img{{width:100%}}td,th{{padding:.2rem 1rem .2rem 0;text-align:left}}</style></head>
<body><h1>The next {run.backtest.horizon} steps</h1><p>{escape(told)}</p>
{_table(summary["mean_absolute_error"], summary["coverage"])}
{"".join(sections)}{more}
<p>Numbers: <a href="forecast.csv">forecast.csv</a>. Written by hippozoo.</p></body></html>
"""
    path = folder / "index.html"
    write_whole(path, page.encode())
    return path


def _table(errors: dict[str, dict[str, float | None]], coverage: dict[str, dict[str, float | None]]) -> str:
    """One row per column; the error of each method, and what each band held."""
    from html import escape

    methods, bands = list(next(iter(errors.values()), {})), list(next(iter(coverage.values()), {}))
    if not methods:
        return ""
    head = "".join(f"<th scope='col'>{escape(one)}</th>" for one in (*methods, *(f"{band} band" for band in bands)))
    rows = "".join(
        f"<tr><th scope='row'>{escape(name)}</th>"
        + "".join(f"<td>{'unknown' if value is None else f'{value:.4g}'}</td>" for value in one.values())
        + "".join(f"<td>{'unknown' if value is None else f'{value:.1%}'}</td>" for value in coverage[name].values())
        + "</tr>"
        for name, one in errors.items()
    )
    caption = "Back-test: mean absolute error of each method, and the share of values that each band held"
    return f"<table><caption>{caption}</caption><tr><td></td>{head}</tr>{rows}</table>"


def draw(run: ForecastRun, column: int, path: Path) -> None:
    """One picture: forecast above; errors by step ahead and weights of the past below."""
    from matplotlib.figure import Figure

    from hippozoo.plotting import style, write_figure
    from hippozoo.zoo.forecasting.plots import plot_forecast, plot_influence

    horizon = run.backtest.horizon
    with style():
        figure = Figure(figsize=(9, 6), layout="constrained")
        places = figure.add_gridspec(2, 2, height_ratios=[1.1, 1])
        above, left, right = (figure.add_subplot(place) for place in (places[0, :], places[1, 0], places[1, 1]))
        whole = run.forecast
        detail = None if whole.detail is None else whole.detail[column]
        one = Forecast(whole.future, whole.coefficients[column], whole.covariance[column], whole.dt, detail)
        # Missing values stay in: they are gaps, and every other value stands at its own time.
        plot_forecast(one, run.recent[-4 * horizon :, column], ax=above)
        above.set(xlabel="steps from the end of the table", ylabel=run.columns[column])
        above.legend(ncols=4, fontsize=8)
        for number, (name, errors) in enumerate(run.backtest.errors().items()):
            left.plot(np.arange(1, horizon + 1), errors[:, column], color=f"C{number}", label=name)
        left.set(title="back-test", xlabel="steps ahead", ylabel="mean absolute error", ylim=(0, None))
        if left.lines:
            left.legend(fontsize=8)
        else:
            left.text(0.5, 0.5, "the table is too short", ha="center", va="center", transform=left.transAxes)
            left.set(xticks=[], yticks=[])
        seen = explain(run.forecaster, run.state, column)
        count = int(min(seen.system.timescale, run.steps, 400))
        leads = np.unique(np.clip(np.array([1, horizon // 4, horizon]), 1, horizon)) - 0.5
        plot_influence(seen, leads, count, ax=right)
        right.set(title="which past it uses", xlabel="steps ago")
        right.legend(fontsize=8)
        write_figure(figure, path, metadata={"Date": None})
