"""The page of a run: the verdict first, then pictures in which every column can be looked at."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from hippozoo._internal.extras import needs
from hippozoo._internal.files import make_folder
from hippozoo.apps.forecast.notes import GLOSSARY
from hippozoo.apps.forecast.page_data import methods_of, page_data
from hippozoo.apps.forecast.run import ForecastRun
from hippozoo.apps.forecast.times import say_duration
from hippozoo.apps.pages import Page, colour, json_for_script, new_figure, shown
from hippozoo.tables import list_reasons

__all__ = ["build_page", "heading", "write_page"]

# Of six colours the last is a blue, like the first: from there on lines are dashed.
_SOLID = 5


def write_page(run: ForecastRun, folder: Path) -> Path:
    """``index.html``, with pictures to zoom into; needs the extra ``hippozoo[pages]``."""
    make_folder(folder)
    return build_page(run, linked=True).write(folder / "index.html")


def build_page(run: ForecastRun, *, linked: bool) -> Page:
    """The page; `linked` if ``forecast.csv`` stands beside it."""
    needs("bokeh", extra="pages", feature="the page of a forecast")
    page = Page(heading(run))
    page.add(_opening(run))
    if len(run.columns) > 1:
        options = "".join(f'<option value="{c}">{shown(name)}</option>' for c, name in enumerate(run.columns))
        page.add(
            '<div class="controls"><label>Find a column<input type="search" id="filter" autocomplete="off" '
            'placeholder="part of its name"></label>'
            f'<label>Show<select id="column">{options}</select></label></div>'
        )
        page.add(_verdict_table(run))
    page.add('<h2 class="name" id="name"></h2><p class="lead" id="verdict"></p>')
    # The pictures are empty: the page's script fills in the column that is chosen.
    sources: dict[str, Any] = {**_add_forecast(page, run)}
    page.add('<p id="held"></p><p class="quiet" id="by"></p>')
    if run.origins:
        sources |= _add_past_forecasts(page, run) | _add_errors(page, run)
    if run.lags:
        sources |= _add_inputs(page, run)
    page.add(
        '<details><summary>The forecast as a table</summary><div class="table">'
        '<button type="button" class="copy" data-table="numbers">Copy table</button>'
        '<div class="scroll" tabindex="0"><table id="numbers"><thead></thead><tbody></tbody></table></div></div>'
        "</details>"
    )
    page.add(_notes(run, linked=linked))
    terms = "".join(f"<dt>{shown(term)}</dt><dd>{shown(said)}</dd>" for term, said in GLOSSARY.items())
    page.add(f"<h2>Glossary</h2><dl>{terms}</dl>")
    page.add_style("dt{font-weight:600}dd{margin:0 0 .4rem}")
    script = (Path(__file__).parent / "page.js").read_text(encoding="utf-8")
    page.add_script(f"const RUN = {json_for_script(page_data(run))}, SOURCES = {json_for_script(sources)};\n{script}")
    return page


def heading(run: ForecastRun) -> str:
    """The file, and how far the forecast goes: in steps and, where steps are times, in words."""
    horizon, grid = run.horizon, run.learner.grid
    steps = "the next step" if horizon == 1 else f"the next {horizon} steps"
    if run.name:
        steps = f"{run.name}: {steps}"
    name = grid.describe_step()
    if grid.step is None or not grid.dates or not name or not name.startswith("one "):
        return steps
    unit = name.removeprefix("one ")
    spoken = say_duration(grid.step * horizon) if unit not in ("month", "quarter", "year") else f"{horizon} {unit}s"
    spoken = f"one {unit}" if horizon == 1 else spoken
    return f"{steps}, {spoken}"


def _opening(run: ForecastRun) -> str:
    """Of several columns: how many are better, and all of them together."""
    judged = run.verdicts
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
    together = "" if run.pooled is None else f" All together: {run.pooled.sentence}."
    return f'<p class="lead">Of {len(judged)} columns: {"; ".join(parts)}.{shown(together)}</p>'


def _verdict_table(run: ForecastRun) -> str:
    """One row per column: verdict, error of the forecast and of the best rival, and what the bands held."""
    summary = run.summary
    bands = [f"{share * 100:g}%" for share in run.coverages]
    head = ["column", "verdict", "mean absolute error", "of the best rival", *(f"inside {band}" for band in bands)]
    rows = ""
    for c, name in enumerate(run.columns):
        verdict, held = summary["verdict"][name], summary["coverage"][name]
        errors = summary["mean_absolute_error"][name]
        cells = [_text(errors.get(one), ".4g") for one in ("forecast", verdict["rival"])]
        cells += [_text(held.get(band), ".1%") for band in bands]
        numbers = "".join(
            f'<td data-head="{shown(one)}">{shown(cell)}</td>' for one, cell in zip(head[2:], cells, strict=True)
        )
        rows += (
            f'<tr><th scope="row"><button type="button" class="pick" data-column="{c}"><span class="name">{shown(name)}'
            f'</span></button></th><td class="words">{shown(verdict["sentence"])}</td>{numbers}</tr>'
        )
    names = "".join(f'<th scope="col">{shown(one)}</th>' for one in head)
    return (
        '<div class="table"><button type="button" class="copy" data-table="verdicts">Copy table</button> '
        '<span class="quiet" id="count" aria-live="polite"></span>'
        '<div class="scroll" tabindex="0"><table id="verdicts" class="cards">'
        f"<caption>Back-test of every column</caption><thead><tr>{names}</tr></thead>"
        f"<tbody>{rows}</tbody></table></div></div>"
    )


def _notes(run: ForecastRun, *, linked: bool) -> str:
    """What was read, what was found on the way, and what was left out."""
    grid, summary = run.learner.grid, run.summary
    said = [f"{run.learner.rows:,} rows, {run.steps:,} steps, {run.learner.missing:,} values missing."]
    if run.time and summary["step"]:
        said.append(f"Times from {run.time}; a step is {summary['step']}.")
    if grid.gaps:
        said.append(
            f"{grid.gaps} gap{'s' if grid.gaps > 1 else ''} in the times, the first before {grid.first_gap}; the "
            f"longest: row {grid.row_after_longest_gap} is {grid.longest_gap:,} steps after the row before."
        )
    seasons = " and ".join(f"{one:,} steps" for one in run.seasons)
    said.append(f"Seasons: {seasons}." if seasons else "No season was run.")
    if run.origins:
        made = "one forecast" if run.origins == 1 else f"{run.origins:,} forecasts"
        said.append(
            f"Back-test: {made} on the way, each knowing only what had come before it, beside the simple ones from the "
            "same rows. ± is one standard error, which allows for forecasts that overlap."
        )
    else:
        said.append("The table is too short for a back-test.")
    notes = [f"{note[0].upper()}{note[1:]}{'' if note.endswith('?') else '.'}" for note in summary["notes"]]
    if run.left_out:
        notes.append(f"Left out: {list_reasons(run.left_out)}.")
    items = "".join(f'<li class="name">{shown(one)}</li>' for one in notes)
    digits = 'All digits: <a href="forecast.csv">forecast.csv</a>. ' if linked else ""
    return (
        f"<h2>What was read</h2><p>{shown(' '.join(said))}</p>{f'<ul>{items}</ul>' if items else ''}"
        f"<p>{digits}Written by hippozoo.</p>"
    )


def _figure(run: ForecastRun, height: int = 340) -> Any:
    dates = run.learner.grid.dates
    label = "steps from the end of the table" if run.positions is None else (run.time or "time")
    return new_figure("" if dates else label, x_axis="datetime" if dates else "linear", height=height)


def _source(*names: str) -> Any:
    from bokeh.models import ColumnDataSource

    return ColumnDataSource({name: [] for name in names})


def _line(figure: Any, y: str, source: Any, role: str, width: float | int, **more: Any) -> Any:
    return figure.line("x", y, source=source, line_color=colour(role), line_width=width, **more)


def _hover(figure: Any, line: Any, *tips: tuple[str, str], **more: Any) -> None:
    from bokeh.models import HoverTool

    figure.add_tools(HoverTool(renderers=[line], tooltips=list(tips), **more))


def _mark(figure: Any, at: float | int) -> None:
    from bokeh.models import Span

    figure.add_layout(Span(location=at, dimension="height", line_color="gray", line_dash="dotted"))


def _add_forecast(page: Page, run: ForecastRun) -> dict[str, str]:
    shares, figure = run.coverages, _figure(run)
    past = _source("x", "when", "y")
    ends = [f"{side}{number}" for number in range(len(shares)) for side in ("lower", "upper")]
    ahead = _source("x", "when", "mean", *ends)
    for number in reversed(range(len(shares))):
        alpha = 0.35 if number == 0 else 0.18
        sides = f"lower{number}", f"upper{number}"
        figure.varea("x", *sides, source=ahead, fill_color=colour("C0"), fill_alpha=alpha)
    seen = _line(figure, "y", past, "ink", 1.3)
    mean = _line(figure, "mean", ahead, "C0", 2)
    if run.horizon == 1:
        figure.scatter("x", "mean", source=ahead, size=7, line_color=colour("C0"), fill_color=colour("C0"))
    _mark(figure, _now(run))
    inside = [(f"{one * 100:g} % between", f"@lower{n} and @upper{n}") for n, one in enumerate(shares)]
    _hover(figure, seen, ("", "@when"), ("value", "@y"), mode="vline")
    _hover(figure, mean, ("", "@when"), ("forecast", "@mean"), *inside, mode="vline")
    bands = " and ".join(f"{one * 100:g} %" for one in shares)
    page.add(_keys([("ink", "past"), ("C0", f"forecast, with bands of {bands}")]))
    page.add_picture(
        figure, "The past and the forecast with its bands; the numbers stand in the table below", name="forecast"
    )
    return {"past": str(past.id), "ahead": str(ahead.id)}


def _add_past_forecasts(page: Page, run: ForecastRun) -> dict[str, str]:
    back, made, starts = _source("x", "y"), _source("xs", "ys"), _source("x", "y")
    figure = _figure(run, height=260)
    _line(figure, "y", back, "ink", 1.3)
    figure.multi_line("xs", "ys", source=made, line_color=colour("C1"), line_width=2.2, line_alpha=0.9)
    figure.scatter("x", "y", source=starts, size=5, line_color=colour("C1"), fill_color=colour("C1"))
    page.add("<h2>Past forecasts over what came</h2>")
    page.add(
        '<p class="quiet">The last forecasts of the back-test that do not overlap, at most ten. A dot is the first '
        "step of each; it knew only the rows before it.</p>"
    )
    page.add(_keys([("ink", "what came"), ("C1", "what had been forecast")]))
    page.add_picture(figure, "Past forecasts and what came", name="past")
    return {"back": str(back.id), "made": str(made.id), "starts": str(starts.id)}


def _add_errors(page: Page, run: ForecastRun) -> dict[str, str]:
    methods, names = methods_of(run), {"forecast": "forecast"} | run.rival_names
    errors = _source("x", *(f"m{number}" for number in range(len(methods))))
    figure = new_figure("steps ahead", height=260)
    figure.y_range.start = 0
    for number, method in enumerate(methods):
        dash, width = "solid" if number < _SOLID else "dashed", 1.5 if number else 2.5
        line = _line(figure, f"m{number}", errors, f"C{number % 6}", width, line_dash=dash)
        _hover(figure, line, ("steps ahead", "@x"), (names[method], f"@m{number}"))
    page.add("<h2>Back-test: error by steps ahead</h2>")
    page.add('<p class="quiet">Mean absolute error, in the unit of the column.</p>')
    page.add(_keys([(f"C{number % 6}", names[method]) for number, method in enumerate(methods)], solid=_SOLID))
    page.add_picture(
        figure, "Mean absolute errors of the forecast and of the simple ones, by steps ahead", name="errors"
    )
    return {"errors": str(errors.id)}


def _add_inputs(page: Page, run: ForecastRun) -> dict[str, list[str]]:
    """What each input buys, and the shape of its effect: a picture for each, since each has a unit of its own."""
    labels = run.learner.choices.inputs.labels
    kernels: list[str] = []
    page.add("<h2>What the inputs buy</h2>")
    page.add(
        '<p class="quiet">Errors of the back-test, with the input and without it. The last column says by how much it '
        "moves the forecast, in the unit of the column.</p>"
        '<div class="scroll" tabindex="0"><table id="inputs"><thead></thead><tbody></tbody></table></div>'
    )
    page.add_style("#inputs td{white-space:normal}")
    page.add(
        '<p class="quiet">When an input acts: what one unit of it adds to the forecast so many steps later. Left of '
        "the dotted line the input comes after the value.</p>"
    )
    for number, label in enumerate(labels):
        last = number == len(labels) - 1
        figure = new_figure("steps from the input to the value that is forecast" if last else "", height=200)
        source, role = _source("x", "y"), f"C{number % 6}"
        kernels.append(str(source.id))
        line = _line(figure, "y", source, role, 2)
        _hover(figure, line, ("steps", "@x"), (label, "@y"), mode="vline")
        _mark(figure, 0)
        page.add(_keys([(role, label)]))
        page.add_picture(
            figure, f"The effect of {label}, by steps from it to the value that is forecast", name=f"kernel{number}"
        )
    return {"kernels": kernels}


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
    last, first = run.positions[-run.horizon - 1 : -run.horizon + 1 or None][:2]
    return float(last + first) / 2 * (1000 if run.learner.grid.dates else 1)


def _text(value: float | None, form: str) -> str:
    return "unknown" if value is None else format(value, form)
