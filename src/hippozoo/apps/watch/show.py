"""A page of what a watch has seen: the stream with expectation, bands and alarms, each alarm with its explanation."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hippozoo._internal.extras import needs
from hippozoo.apps.pages import Page, colour, copyable_table, json_for_script, new_figure, shown
from hippozoo.apps.watch.database import Database, reading, sound
from hippozoo.apps.watch.overview import list_alarms, thin
from hippozoo.apps.watch.problem import WatchError
from hippozoo.monitor import write_time

__all__ = ["last_alarms", "write_page"]

# More points than this say nothing more on a screen: then every stretch is shown by its lowest and its highest.
_MOST_POINTS = 4000
# More columns than this share one chart, with so many points of all of them in the page, and so many of each at least.
_MOST_FIGURES, _MOST_CHOICE_POINTS, _FEWEST_POINTS = 12, 100_000, 60
_MOST_ALARMS = 500
# Of these the newest are explained, and the very newest drawn, with so many readings before and after each.
_TOLD_ALARMS, _DRAWN_ALARMS = 50, 10
_BEFORE, _AFTER = 95, 40
# What an explanation that is not whole does not say.
_NOTHING_SAID = {"what": "", "kind": "", "since": 0, "since_time": 0.0, "expected_by": {}, "weights": []}


class _Drawn(NamedTuple):
    """A column thinned for the eye: times, lowest and highest value, expectation, band."""

    time: np.ndarray
    low: np.ndarray
    high: np.ndarray
    expected: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


def last_alarms(path: Path, count: int = 10) -> list[dict[str, Any]]:
    """The last alarms of a database, oldest first, as plain data; a watch may be writing to it."""
    with reading(path) as database:
        dates, found = database.dates, list_alarms(database, count)[::-1]
        for one in found:
            with sound(path):
                one["time"] = write_time(one["time"], one["offset"], dates=dates)
                one["explanation"] = _NOTHING_SAID | one["explanation"]
            for name in ("ended", "acknowledged", "told"):
                del one[name]
    return found


def write_page(path: Path, out: Path) -> Path:
    """Write the page of a database to `out`; a watch may be writing to it."""
    needs("bokeh", extra="pages", feature="watch --show")
    if out.exists() and out.samefile(path):
        raise WatchError(f"{path} is the database, and the page would take its place; give it a name that ends in .db.")
    page = Page(f"{path.name}: what was watched")
    alarms = last_alarms(path, _MOST_ALARMS)
    with reading(path) as database:
        settings, zone, names = database.settings, database.progress.offset, database.labels()
        dates = settings["layout"]["dates"]
        [(count, first, last)] = database.rows("SELECT count(DISTINCT number), min(time), max(time) FROM readings")
        if not count:
            raise WatchError(f"{path} holds no readings yet; watch the source for a while first.")
        span = " to ".join(write_time(one, zone, dates=dates) for one in (first, last))
        total = database.count_alarms()[0]
        which = f" (the newest {len(alarms):,} are on this page)" if total > len(alarms) else ""
        page.add(
            f"<p>{count:,} readings of {shown(settings['source'])}, {shown(span)}. {_many(total, 'alarm')}{which}, at "
            f"a rate of {settings['rate']:g} per 1,000 normal readings.</p>"
        )
        if len(names) > _MOST_FIGURES:
            _add_table(page, alarms)
            _add_choice(page, database, names, zone, dates=dates)
        else:
            for channel, name in names.items():
                drawn, marks = _thinned(database, channel, zone, _MOST_POINTS), _marks(database, channel, zone)
                page.add(f"<h2>{shown(name)}</h2>")
                told = f"{name}: {count:,} readings, their expectation and 95 % band, and {_many(len(marks), 'alarm')}."
                figure, _ = _figure(drawn, marks, name, zone, dates=dates)
                page.add_picture(figure, told, name=f"column-{channel}")
            _add_table(page, alarms)
        _add_explanations(page, database, alarms, zone, dates=dates)
    return page.write(out)


def _add_table(page: Page, alarms: list[dict[str, Any]]) -> None:
    page.add("<h2>Alarms</h2>")
    if not alarms:
        page.add("<p>None so far.</p>")
        return
    head = ("id", "time", "column", "value", "expected", "band", "p", "why")
    rows = [
        (
            one["id"], one["time"], one["column"], _short(one["value"]), _short(one["expected"]),
            f"{_short(one['lower'])} to {_short(one['upper'])}", f"{one['p']:.2g}", one["explanation"]["kind"],
        )
        for one in reversed(alarms)
    ]  # fmt: skip
    page.add(copyable_table("newest first", head, rows, name="alarms"))


def _add_explanations(
    page: Page, database: Database, alarms: list[dict[str, Any]], zone: float | None, *, dates: bool
) -> None:
    """The newest alarms are explained, and the very newest drawn."""
    for place, one in enumerate(reversed(alarms[-_TOLD_ALARMS:])):
        title = f"{shown(one['time'])}, {shown(one['column'])}: {shown(one['explanation']['kind'])}"
        why = f"<p>{_explained(one, dates=dates)} {_similar(database, one, dates)}</p>"
        if place >= _DRAWN_ALARMS:
            page.add(f"<details><summary>{title}</summary>{why}</details>")
            continue
        page.add(f"<h3>{title}</h3>{why}")
        told = f"alarm {one['id']}: what was seen and expected before it, and after"
        page.add_picture(_close_up(database, one, zone, dates=dates), told, name=f"alarm-{one['id']}")
        told = f"alarm {one['id']}: the weight of each reading of the past in what was expected"
        page.add_picture(_weights(one["explanation"]["weights"]), told, name=f"weights-{one['id']}")


def _add_choice(page: Page, database: Database, names: dict[int, str], zone: float | None, *, dates: bool) -> None:
    """One chart for many columns, with a search field; those with the newest alarms come first."""
    newest = dict(database.rows("SELECT channel, max(id) FROM alarms GROUP BY channel"))
    columns = []
    for channel in sorted(names, key=lambda one: -newest.get(one, -1)):
        drawn = _thinned(database, channel, zone, max(_MOST_CHOICE_POINTS // len(names), _FEWEST_POINTS))
        marks = _marks(database, channel, zone)
        start = float(drawn.time[0]) if len(drawn.time) else 0.0
        numbers = np.array([drawn.time - start, *drawn[1:]], "<f4")
        columns.append((names[channel], len(marks), start, b64encode(numbers.tobytes()).decode(), marks))
    empty = _Drawn(*np.empty((6, 0)))
    figure, sources = _figure(empty, [], "", zone, dates=dates)
    page.add(
        f'<h2 id="column"></h2><p><label>Search {len(names):,} columns: <input type="search" id="wanted"></label></p>'
        '<p><select id="columns" size="8" aria-label="columns"></select></p>'
    )
    page.add_picture(figure, "The chosen column: readings, expectation, 95 % band and alarms.", name="chosen")
    constants = {
        "COLUMNS": columns,
        "SOURCES": {part: source.id for part, source in sources.items()},
        "RANGE": figure.y_range.id,
        "UNIT": _unit(dates),
    }
    script = files("hippozoo.apps.watch").joinpath("show.js").read_text(encoding="utf-8")
    page.add_script("".join(f"const {name}={json_for_script(one)};\n" for name, one in constants.items()) + script)


def _figure(
    drawn: _Drawn, marks: Sequence[tuple[float, float | None, str]], name: str, zone: float | None, *, dates: bool
) -> tuple[Any, dict[str, Any]]:
    """A column with expectation, band and alarms, and the sources of its parts."""
    from bokeh.models import HoverTool

    unit = _unit(dates)
    figure, _, sources = _begun(drawn, name, zone, dates=dates)
    both = np.column_stack([drawn.low, drawn.high]).ravel()  # a line through the lowest and the highest of each stretch
    seen = figure.line(np.repeat(drawn.time * unit, 2), both, line_color=colour("ink"), legend_label="seen")
    moments, values, reasons = zip(*marks, strict=True) if marks else ((), (), ())
    alarm = figure.scatter(
        "x", "y", size=11, marker="triangle", fill_color=colour("C1"), line_color=colour("C1"), legend_label="alarm",
        source={"x": [one * unit for one in moments], "y": values, "why": reasons},
    )  # fmt: skip
    figure.add_tools(HoverTool(renderers=[alarm], tooltips=[("", "@why")]))
    return _with_legend(figure), sources | {"seen": seen.data_source, "alarm": alarm.data_source}


def _marks(database: Database, channel: int, zone: float | None) -> list[tuple[float, float | None, str]]:
    """Time, value and reason of the newest alarms of a column."""
    return database.rows(
        "SELECT time, coalesce(value, expected), explanation FROM alarms WHERE channel = ? ORDER BY id DESC LIMIT ?",
        channel,
        _MOST_ALARMS,
        make=lambda time, value, text: (time + (zone or 0.0), value, json.loads(text).get("what", "no data")),
    )


def _unit(dates: bool) -> float:
    return 1000.0 if dates else 1.0  # Bokeh counts milliseconds


def _begun(
    drawn: _Drawn, name: str, zone: float | None, *, dates: bool, height: int = 340
) -> tuple[Any, tuple[float, float], dict[str, Any]]:
    """A figure with the band and the expectation, the range of its values, and the sources of both."""
    # By what was seen: the first bands of a stream, of which little is known, are wide beyond all measure.
    low, high = np.nanmin(drawn.low, initial=np.inf), np.nanmax(drawn.high, initial=-np.inf)
    margin = 0.15 * (high - low) or 1.0
    limits = (float(low - margin), float(high + margin)) if np.isfinite(margin) else (0.0, 1.0)
    label = "time" if zone is None or not dates else f"time ({write_time(0.0, zone)[16:]})"
    figure = new_figure(label, name, x_axis="datetime" if dates else "linear", height=height, y_range=limits)
    figure.xaxis.ticker.desired_num_ticks = 4  # dates are long, telephones narrow
    time = drawn.time * _unit(dates)
    known = np.isfinite(drawn.lower) & np.isfinite(drawn.upper)
    band = figure.varea(
        "x", "lower", "upper", fill_color=colour("C0"), fill_alpha=0.25, legend_label="95 % band",
        source={"x": time[known], "lower": drawn.lower[known], "upper": drawn.upper[known]},
    )  # fmt: skip
    expected = figure.line(time, drawn.expected, line_color=colour("C0"), legend_label="expected")
    return figure, limits, {"band": band.data_source, "expected": expected.data_source}


def _with_legend(figure: Any) -> Any:
    legend = figure.legend[0]
    legend.click_policy, legend.orientation, legend.ncols = "hide", "horizontal", 3  # three fit a telephone
    figure.add_layout(legend, "below")  # where it hides nothing, on a telephone either
    return figure


def _explained(alarm: dict[str, Any], *, dates: bool) -> str:
    """An alarm in sentences."""
    why = alarm["explanation"]
    began = alarm["number"] - why["since"]
    when = write_time(why["since_time"], alarm.get("offset"), dates=dates)
    since = "with this reading" if not began else f"{began} readings before, at {when}"
    by = ", ".join(f"{name} ({share:.0%})" for name, share in why["expected_by"].items())
    strongest = sorted(enumerate(why["weights"], start=1), key=lambda one: -abs(one[1]))[:3]
    past = ", ".join(f"{weight:+.2f} of the reading {lag} before" for lag, weight in strongest)
    return (
        f"{shown(why['what'])}. It most likely began {shown(since)}. "
        f"The expectation came from: {shown(by)}; most of all {shown(past)}."
    )


def _close_up(database: Database, alarm: dict[str, Any], zone: float | None, *, dates: bool) -> Any:
    """What was seen and expected around an alarm, and since when it was strange."""
    query = "SELECT time, value, value, expected, lower, upper, number FROM readings"
    table = _around(database, query, alarm["channel"], alarm["number"] - _BEFORE, alarm["number"] + _AFTER)
    table[:, 0] += zone or 0.0
    drawn = _Drawn(*table[:, :6].T)
    unit = _unit(dates)
    figure, (low, high), _ = _begun(drawn, alarm["column"], zone, dates=dates, height=320)
    strange = drawn.time[(table[:, 6] >= alarm["explanation"]["since"]) & (table[:, 6] <= alarm["number"])] * unit
    if len(strange):
        half = 0.5 * unit * float(np.median(np.diff(drawn.time))) if len(drawn.time) > 1 else 0.5
        figure.quad(
            left=[strange[0] - half], right=[strange[-1] + half], bottom=[low], top=[high], fill_color=colour("C1"),
            fill_alpha=0.2, line_color=None, legend_label="strange",
        )  # fmt: skip
    figure.line(drawn.time * unit, drawn.low, line_color=colour("ink"), legend_label="seen")
    then = _neighbour(database, alarm)
    if len(then):  # what went before the most similar moment, and how it went on, laid over the present
        near = {
            number: (moment, value) for number, moment, value in zip(table[:, 6], drawn.time, drawn.low, strict=True)
        }
        ahead = alarm["number"] - alarm["explanation"]["neighbour"]
        shifted = np.array([(near[number + ahead][0], value) for number, _, value in then if number + ahead in near])
        if len(shifted):
            figure.line(
                shifted[:, 0] * unit, shifted[:, 1], line_color=colour("C2"), line_dash="dashed",
                legend_label="the most similar moment",
            )  # fmt: skip
    at = table[:, 6] == alarm["number"]
    figure.scatter(
        drawn.time[at] * unit, np.where(np.isnan(drawn.low[at]), drawn.expected[at], drawn.low[at]), size=11,
        marker="triangle", fill_color=colour("C1"), line_color=colour("C1"), legend_label="alarm",
    )  # fmt: skip
    return _with_legend(figure)


def _neighbour(database: Database, alarm: dict[str, Any]) -> np.ndarray:
    """Numbers, times and values about the reading whose past is the most similar; none if it is no longer kept."""
    number = alarm["explanation"].get("neighbour")
    if number is None:
        return np.empty((0, 3))
    first = number - alarm["explanation"].get("readings", 1)
    return _around(database, "SELECT number, time, value FROM readings", alarm["channel"], first, number + _AFTER)


def _around(database: Database, query: str, channel: int, first: int, last: int) -> np.ndarray:
    """The readings of a column from one number to another."""
    where = "WHERE channel = ? AND number BETWEEN ? AND ? ORDER BY number"
    return _floats(database.rows(f"{query} {where}", channel, first, last), query.count(",") + 1)


def _similar(database: Database, alarm: dict[str, Any], dates: bool) -> str:
    """When the most similar moment was, in a sentence."""
    then = _neighbour(database, alarm)
    at = then[then[:, 0] == alarm["explanation"].get("neighbour")]
    when = "" if not len(at) else shown(write_time(float(at[0, 1]), alarm.get("offset"), dates=dates))
    return when and f"The most similar moment was at {when}."


def _weights(weights: list[float]) -> Any:
    """How much each reading before counted, the newest on the right."""
    lags = np.arange(1, len(weights) + 1)
    figure = new_figure("readings before", "weight", height=190, x_range=(len(weights) + 0.5, 0.5))
    figure.vbar(x=lags, top=weights, width=0.9, fill_color=colour("C0"), line_color=None)
    return figure


def _thinned(database: Database, channel: int, zone: float | None, most: int) -> _Drawn:
    """A column for the eye, by the clock of its source."""
    [(first, last)] = database.rows(
        "SELECT coalesce(min(number), 0), coalesce(max(number), 0) FROM readings WHERE channel = ?", channel
    )
    table = _floats(thin(database, channel, most, first, last), 6)
    table[:, 0] += zone or 0.0
    return _Drawn(*table.T)


def _floats(rows: list[tuple[Any, ...]], width: int) -> np.ndarray:
    """Numbers from the database, NaN where there is none or where damage has left something else."""
    cells = [[value if isinstance(value, (int, float)) else np.nan for value in row] for row in rows]
    return np.array(cells, float).reshape(-1, width)


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _short(value: float | None) -> str:
    return "missing" if value is None else f"{value:.6g}"
