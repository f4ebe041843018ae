"""The page of a run: the verdict first, then one picture in which every column can be looked at."""

from __future__ import annotations

import base64
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from hippozoo._files import make_folder
from hippozoo.forecast_command.durations import say_duration
from hippozoo.forecast_command.results import Findings
from hippozoo.forecast_command.run import ForecastRun
from hippozoo.forecast_command.written_times import write_dates, write_numbers
from hippozoo.pages import Page, bokeh_is_installed, colour, json_for_script, new_figure, shown

__all__ = ["heading", "opening", "told", "verdict_table", "write_page"]

# Of six colours the last is a blue, like the first: from there on lines are dashed.
_SOLID = 5
# A page with many columns thins out what it draws: steps ahead, steps of the past, and errors.
_MANY = 8
_AHEAD, _PAST, _ERRORS = 96, 120, 24
_LISTED = 20


def write_page(run: ForecastRun | Findings, folder: Path) -> Path:
    """``index.html``: interactive where Bokeh is installed, else with pictures that stand still."""
    found = run if isinstance(run, Findings) else Findings(run)
    run = found.run
    make_folder(folder)
    if not bokeh_is_installed():
        from hippozoo.forecast_command.plain_page import write_plain_page

        return write_plain_page(found, folder)
    page = Page(heading(run))
    page.add(opening(found))
    several = len(run.columns) > 1
    if several:
        options = "".join(f'<option value="{c}">{shown(name)}</option>' for c, name in enumerate(run.columns))
        page.add(
            '<div class="controls"><label>Find a column<input type="search" id="filter" autocomplete="off" '
            'placeholder="part of its name"></label>'
            f'<label>Show<select id="column">{options}</select></label></div>'
        )
        page.add(verdict_table(found, choosable=True))
    page.add('<h2 class="name" id="name"></h2><p class="lead" id="verdict"></p><p class="quiet" id="by"></p>')
    sources = _add_pictures(page, found)
    page.add(
        '<details><summary>The forecast as a table</summary><div class="table">'
        '<button type="button" class="copy" data-table="numbers">Copy table</button>'
        '<div class="scroll" tabindex="0"><table id="numbers"><thead></thead><tbody></tbody></table></div></div>'
        "</details>"
    )
    page.add(told(found))
    script = (Path(__file__).parent / "page.js").read_text(encoding="utf-8")
    page.add_script(f"const RUN = {json_for_script(_data(found))}, SOURCES = {json_for_script(sources)};\n{script}")
    return page.write(folder / "index.html")


def heading(run: ForecastRun) -> str:
    """How far the forecast goes, in steps and, where steps are times, in words."""
    horizon = run.backtest.horizon
    steps = "The next step" if horizon == 1 else f"The next {horizon} steps"
    if run.step is None or not run.dates or not run.step_name or not run.step_name.startswith("one "):
        return steps
    unit = run.step_name.removeprefix("one ")
    spoken = say_duration(run.step * horizon) if unit not in ("month", "quarter", "year") else f"{horizon} {unit}s"
    spoken = f"one {unit}" if horizon == 1 else spoken
    return f"{steps}: {spoken}"


def opening(found: Findings) -> str:
    """The verdict: of a single column in full, of several how many are better."""
    judged = found.verdicts
    if len(judged) == 1:
        return ""
    kinds = Counter(one.kind for one in judged)
    said = {
        "better": "clearly better than every simple forecast",
        "no better": "not clearly better than the best simple forecast",
        "worse": "worse than a simple forecast",
        "not judged": "not judged, for lack of rows",
    }
    parts = [f"{kinds[kind]} {text}" for kind, text in said.items() if kinds[kind]]
    return f'<p class="lead">Of {len(judged)} columns: {"; ".join(parts)}.</p>'


def verdict_table(found: Findings, *, choosable: bool) -> str:
    """One row per column: verdict, error of the forecast and of the best rival, and what the bands held."""
    run, summary = found.run, found.summary
    bands = [f"{share * 100:g}%" for share in run.backtest.coverages]
    head = ["column", "verdict", "mean absolute error", "of the best rival", *(f"inside {band}" for band in bands)]
    rows = []
    for c, name in enumerate(run.columns):
        verdict = summary["verdict"][name]
        errors, held = summary["mean_absolute_error"][name], summary["coverage"][name]
        cells = [_text(errors.get("forecast")), _text(errors.get(verdict["rival"]))]
        cells += [_percent(held.get(band)) for band in bands]
        shown_name = f'<span class="name">{shown(name)}</span>'
        if choosable:
            shown_name = f'<button type="button" class="pick" data-column="{c}">{shown_name}</button>'
        rows.append(
            f'<tr><th scope="row">{shown_name}</th><td class="words">{shown(verdict["sentence"])}</td>'
            + "".join(
                f'<td data-head="{shown(one)}">{shown(cell)}</td>' for one, cell in zip(head[2:], cells, strict=True)
            )
            + "</tr>"
        )
    names = "".join(f'<th scope="col">{shown(one)}</th>' for one in head)
    return (
        '<div class="table"><button type="button" class="copy" data-table="verdicts">Copy table</button> '
        '<span class="quiet" id="count" aria-live="polite"></span>'
        '<div class="scroll" tabindex="0"><table id="verdicts" class="cards">'
        f"<caption>Back-test of every column</caption><thead><tr>{names}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div></div>"
    )


def told(found: Findings) -> str:
    """What was read, what was found on the way, and what was left out."""
    run, summary = found.run, found.summary
    times = f" Times from {run.time}; a step is {run.step_name}." if run.time and run.step_name else ""
    gaps = (
        f" {run.gaps} gap{'s' if run.gaps > 1 else ''} in the times, the first before {run.first_gap}; the longest: "
        f"row {run.row_after_longest_gap} is {run.longest_gap:,} steps after the row before."
        if run.gaps
        else ""
    )
    seasons = (
        f"Seasons: {' and '.join(f'{one:,} steps' for one in run.seasons)}. "
        if run.seasons
        else "No season was found. "
    )
    made = "one forecast" if summary["origins"] == 1 else f"{summary['origins']} forecasts"
    tested = (
        f"Back-test: {made} on the way, at all phases of the seasons, each knowing only what "
        "had come before it, beside the simple ones on the same origins. ± is one standard error, which allows for "
        "forecasts that overlap."
        if summary["origins"]
        else "The table is too short for a back-test."
    )
    first = f"{run.rows:,} rows, {run.steps:,} steps, {run.missing:,} values missing.{times}{gaps} {seasons}{tested}"
    notes = [f"{note[0].upper()}{note[1:]}{'' if note.endswith('?') else '.'}" for note in summary["notes"]]
    out = [f"Left out: {name}, because {why}." for name, why in run.left_out.items()]
    if len(out) > _LISTED:
        out = [*out[:_LISTED], f"{len(out) - _LISTED} more columns are left out."]
    items = "".join(f'<li class="name">{shown(one)}</li>' for one in (*notes, *out))
    return (
        f"<h2>What was read</h2><p>{shown(first)}</p>{f'<ul>{items}</ul>' if items else ''}"
        '<p>All digits: <a href="forecast.csv">forecast.csv</a>. Written by hippozoo.</p>'
    )


def _add_pictures(page: Page, found: Findings) -> dict[str, str]:
    """The two pictures, empty: the page's script fills in the column that is chosen."""
    from bokeh.models import ColumnDataSource, HoverTool, Span

    run, shares = found.run, found.run.backtest.coverages
    past = ColumnDataSource({"x": [], "when": [], "y": []})
    ends = [f"{side}{number}" for number in range(len(shares)) for side in ("lower", "upper")]
    ahead = ColumnDataSource({name: [] for name in ("x", "when", "mean", *ends)})
    label = "steps from the end of the table" if run.positions is None else (run.time or "time")
    figure = new_figure("" if run.dates else label, x_axis="datetime" if run.dates else "linear")
    for number in reversed(range(len(shares))):
        figure.varea(
            "x",
            f"lower{number}",
            f"upper{number}",
            source=ahead,
            fill_color=colour("C0"),
            fill_alpha=0.35 if number == 0 else 0.18,
        )
    seen = figure.line("x", "y", source=past, line_color=colour("ink"), line_width=1.3)
    mean = figure.line("x", "mean", source=ahead, line_color=colour("C0"), line_width=2)
    figure.add_layout(Span(location=_now(run), dimension="height", line_color="gray", line_dash="dotted"))
    figure.add_tools(
        HoverTool(renderers=[seen], tooltips=[("", "@when"), ("value", "@y")], mode="vline"),
        HoverTool(
            renderers=[mean],
            tooltips=[
                ("", "@when"),
                ("forecast", "@mean"),
                *(
                    (f"{share * 100:g} % between", f"@lower{number} and @upper{number}")
                    for number, share in enumerate(shares)
                ),
            ],
            mode="vline",
        ),
    )
    keys = [("ink", "past"), ("C0", f"forecast, with bands of {' and '.join(f'{one * 100:g} %' for one in shares)}")]
    page.add(_keys(keys))
    page.add_picture(
        figure, "The past and the forecast with its bands; the numbers stand in the table below", name="forecast"
    )
    sources = {"past": str(past.id), "ahead": str(ahead.id)}
    comparison = found.comparison
    if comparison is not None:
        methods = list(comparison.errors)
        errors = ColumnDataSource({"x": [], **{f"m{number}": [] for number in range(len(methods))}})
        second = new_figure("steps ahead", height=260)
        second.y_range.start = 0
        names = {"forecast": "forecast"} | found.rival_names
        for number, method in enumerate(methods):
            line = second.line(
                "x",
                f"m{number}",
                source=errors,
                line_color=colour(f"C{number % 6}"),
                line_width=2.5 if number == 0 else 1.5,
                line_dash="solid" if number < _SOLID else "dashed",
            )
            second.add_tools(
                HoverTool(renderers=[line], tooltips=[("steps ahead", "@x"), (names[method], f"@m{number}")])
            )
        page.add("<h2>How wrong it was on the way</h2>")
        page.add('<p class="quiet">Mean absolute error by steps ahead, in the unit of the column.</p>')
        page.add(_keys([(f"C{number % 6}", names[method]) for number, method in enumerate(methods)], solid=_SOLID))
        page.add_picture(
            second, "Mean absolute errors of the forecast and of the simple ones, by steps ahead", name="errors"
        )
        sources["errors"] = str(errors.id)
    return sources


def _keys(keys: list[tuple[str, str]], solid: int | None = None) -> str:
    """What each colour means; lines after the first `solid` ones are dashed."""
    items = ""
    for number, (role, name) in enumerate(keys):
        dashed = ";border-style:dashed none none" if solid is not None and number >= solid else ""
        items += f'<li><i style="border-color:var(--{role}){dashed}"></i>{shown(name)}</li>'
    return f'<ul class="keys">{items}</ul>'


def _now(run: ForecastRun) -> float:
    if run.positions is None:
        return 0.5
    last, first = run.positions[-run.backtest.horizon - 1 : -run.backtest.horizon + 1 or None][:2]
    return float(last + first) / 2 * (1000 if run.dates else 1)


def _data(found: Findings) -> dict[str, Any]:
    """What the page's script draws: shared times once, and for every column its numbers in as few bytes as will do."""
    run = found.run
    horizon, many = run.backtest.horizon, len(run.columns) > _MANY
    past = len(run.recent) if not many else min(len(run.recent), max(_PAST, 2))
    leads = np.arange(horizon)
    if many and horizon > _AHEAD:
        leads = np.unique(np.linspace(0, horizon - 1, _AHEAD).round().astype(int))
    if run.positions is None:
        numbers = np.concatenate([np.arange(1 - past, 1), np.arange(1, horizon + 1)]).astype(float)
        words = [f"{number:+.0f} steps" for number in numbers]
    else:
        numbers = run.positions[len(run.recent) - past :]
        words = list(write_dates(numbers, None) if run.dates else write_numbers(numbers))
        if run.dates and all(word.endswith(" 00:00:00") for word in words):
            words = [word.removesuffix(" 00:00:00") for word in words]
        numbers = numbers * 1000 if run.dates else numbers
    order = [*range(past), *(past + leads).tolist()]
    middle = run.forecast.leads()
    mean = run.forecast.mean(middle)
    bands = [run.forecast.band(middle, share) for share in run.backtest.coverages]
    comparison = found.comparison
    errors = {} if comparison is None else comparison.by_step()
    at = np.unique(np.linspace(0, horizon - 1, min(horizon, _ERRORS if many else horizon)).round().astype(int))
    columns = []
    for c, (name, verdict, by) in enumerate(zip(run.columns, found.verdicts, found.by, strict=True)):
        rows = [mean[c, leads], *(side[c, leads] for band in bands for side in band)]
        columns.append(
            {
                "name": name,
                "verdict": verdict.sentence,
                "by": [[one, round(100 * share)] for one, share in list(by.items())[:4] if share >= 0.01],
                "past": _packed(run.recent[len(run.recent) - past :, c]),
                "ahead": [_packed(row) for row in rows],
                "errors": [_packed(one[at, c]) for one in errors.values()],
            }
        )
    return {
        "x": [round(float(one), 6) for one in numbers[order]],
        "when": [words[one] for one in order],
        "past": past,
        "shares": [f"{share * 100:g} %" for share in run.backtest.coverages],
        "steps": (at + 1).tolist(),
        "columns": columns,
    }


def _packed(values: np.ndarray) -> str:
    """Numbers of four bytes, as text."""
    with np.errstate(over="ignore"):
        return base64.b64encode(np.asarray(values, "<f4").tobytes()).decode()


def _text(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.4g}"


def _percent(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.1%}"
