"""`hippozoo.forecast`: a frame, an array or a file in, a forecast that knows how good it is out."""

from __future__ import annotations

import base64
import io
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from hippozoo import checkpoint
from hippozoo._internal.arguments import shorten
from hippozoo._internal.extras import is_installed
from hippozoo.apps.forecast.backtest import COVERAGES, BackTest, Bands
from hippozoo.apps.forecast.calendar import Months, Weekdays
from hippozoo.apps.forecast.grid import Grid
from hippozoo.apps.forecast.input_gains import InputGain
from hippozoo.apps.forecast.inputs import Beside, InputNames
from hippozoo.apps.forecast.learner import Choices, Group, Learner, Together
from hippozoo.apps.forecast.reading import Reading, chunks_of, future_rows, is_path
from hippozoo.apps.forecast.run import ForecastRun, Verdicts, forecast_frame
from hippozoo.apps.pages.text import shown
from hippozoo.tables import Rows, Table, list_reasons, reason, word
from hippozoo.tables.frames import Clock, FrameTable, is_frame, read_frame, table_clock
from hippozoo.tables.trouble import KINDS

__all__ = ["ForecastResult", "forecast"]

for _class in (
    BackTest, Bands, Beside, Choices, Clock, Grid, Group, InputNames, Learner, Months, Reading, Rows, Weekdays,
):  # fmt: skip
    checkpoint.register(_class, name=f"hippozoo.apps.forecast.{_class.__name__}")
# Columns whose verdicts a notebook shows.
_SHOWN = 10


def forecast(
    data: Any,
    horizon: Any = None,
    *,
    columns: str | Sequence[str] = (),
    time: str | None = None,
    series: str | Sequence[str] | None = None,
    season: int | Sequence[int] | None = None,
    every: float | int | str | None = None,
    coverage: float | Sequence[float] = COVERAGES,
    quantiles: Sequence[float | int] = (),
    lower: float | int | None = None,
    upper: float | int | None = None,
    together: Together = "independent",
    known: str | Sequence[str] = (),
    past: str | Sequence[str] = (),
    country: str | None = None,
    future: Any = None,
) -> ForecastResult:
    """Learn a table in one pass and forecast what comes next, with bands and a back-test.

    Parameters
    ----------
    data
        A frame or series of pandas, polars or pyarrow; an array, (time,) or (time, columns); or the path of a CSV, JSON
        lines or Parquet file. NaN means missing.
    horizon
        Steps to forecast, or a length of time such as ``"2 days"``. By default 96, or an eighth of a shorter table.
    columns
        The columns to forecast; by default all columns of numbers.
    time
        The column of times; by default a DatetimeIndex or PeriodIndex, or the only column of times.
    series
        Of a long frame: the column, or columns, that name the series of each row. Each series is scaled and forecast
        by what all have taught.
    season
        A period in steps, or several; 1 for none. By default those that each column shows.
    every
        Length of a step: seconds, or a text such as ``"15 minutes"``. By default the usual distance of two rows.
    coverage
        Shares of values inside the bands.
    quantiles
        Further quantiles to give, such as 0.9.
    lower, upper
        Bounds that no value can cross. Counts have 0 by themselves.
    together
        ``"joint"``: forecast each column from the past of all.
    known
        Columns that are not forecast but help, and are known over the horizon: holidays, a weather forecast, a price.
        Their future stands in rows after the last value to forecast, or in `future`. Where a past value is missing, the
        one before it holds.
    past
        Columns that help and are known up to now only.
    country
        Two letters, or with a part of the country ``"DE-BY"``: public holidays as a known input (the extra
        ``holidays``).
    future
        A frame, an array or a file with the `known` columns after the end of the data.

    Examples
    --------
    >>> import pandas as pd
    >>> hours = pd.date_range("2024-01-01", periods=400, freq="h")
    >>> load = pd.Series(10 + np.sin(np.arange(400) * 2 * np.pi / 24), hours, name="load")
    >>> result = forecast(load, horizon="1 day")
    >>> list(result.frame.columns)[:6]
    ['column', 'step', 'time', 'mean', 'lower_80', 'upper_80']
    >>> str(result.frame["time"].iloc[0]), len(result.frame)
    ('2024-01-17 16:00:00', 24)

    A price that is known for six steps more than the sales, which follow it one step later.

    >>> price = np.random.default_rng(0).normal(size=406)
    >>> sales = np.append(20 - 3 * np.roll(price, 1)[:400], [np.nan] * 6)
    >>> frame = pd.DataFrame({"sales": sales, "price": price})
    >>> result = forecast(frame, horizon=6, known="price")
    >>> bool(np.abs(result.frame["mean"] - (20 - 3 * price[399:405])).max() < 1.5)
    True
    >>> gain = result.inputs["sales"]["price"]
    >>> bool(gain.better_by > 0.5), int(gain.lags[np.abs(gain.kernel).argmax()])
    (True, 1)
    """
    names, ids, ahead, beside = (
        (one,) if isinstance(one, str) else tuple(one) for one in (columns, series or (), known, past)
    )
    shares = (coverage,) if isinstance(coverage, (int, float)) else tuple(coverage)
    for one in quantiles:
        if not 0 < one < 1:
            raise ValueError(f"quantiles={shorten(quantiles)}: pass numbers between 0 and 1, for example 0.9.")
    inputs = InputNames(ahead, beside, country)
    if future is not None and not inputs.known:
        raise ValueError("future= holds inputs, and none is named; name them with known=.")
    if is_path(data) or is_frame(data):  # of an array all columns are named
        names = tuple(name for name in names if name not in inputs.columns)
    choices = Choices(horizon, every, season, shares, lower, upper, together if series is None else "panel", inputs)
    reading = Reading(names, time, panel=ids, inputs=inputs.columns)
    return learn(data, reading, choices, future, quantiles=tuple(map(float, quantiles)))


def learn(
    data: Any,
    reading: Reading,
    choices: Choices,
    future: Any = None,
    progress: Callable[[float], None] = lambda fraction: None,
    quantiles: tuple[float, ...] = (),
) -> ForecastResult:
    """Learn a file, a frame or an array chunk by chunk; see `forecast`."""
    table, source, series = reading.open(data), str(data) if is_path(data) else "the data", {}
    if isinstance(table, FrameTable):
        reading, series = replace(reading, time=reading.time or table.time), dict(table.series)
    ahead = None
    if future is not None:
        time = reading.time if is_path(future) else table.time
        ahead = future_rows(future, replace(reading, time=time), choices.inputs, len(table.columns))
    learner, count = None, 0
    for rows, done in chunks_of(table, choices.inputs):
        if learner is None:
            learner = Learner.begin(table.columns, table.dates, source, choices, rows, ahead)
        else:
            learner.take_in(rows)
        count += len(rows.values)
        progress(min(done / max(table.size, 1), 1.0))
    assert learner is not None  # an empty table is refused by the reader
    if ahead is not None:
        learner.add_future(ahead)
    if not isinstance(table, FrameTable):
        clock = table_clock(table.dates, table.time, learner.rows, learner.grid.last_offset is not None)
    else:
        # Rows of the future are not counted yet.
        clock = table.clock.after(learner.rows - count) if table.clock.kind == "rows" else table.clock
    left_out = {column: reason(why) for column, why in table.left_out.items()}
    name = Path(data).name if is_path(data) else ""
    return ForecastResult(learner, clock, reading, name, table.time, left_out, _say_notes(table), quantiles, series)


def _say_notes(table: Table) -> list[str]:
    """What the reader noted, in words."""
    notes = []
    for one in table.notes:
        # The file is named elsewhere; where a sentence would have no subject, it is the table.
        has_subject = one.place.column or not KINDS[one.kind][0].startswith(" ")
        place = one.place._replace(source="" if has_subject else "the table")
        notes.append(word(one._replace(place=place)).removesuffix("."))
    return notes


@dataclass
class ForecastResult:
    """A forecast, and all that was learnt for it.

    Made by `hippozoo.forecast`. `frame` is the forecast, `verdict` says how good it is; `plot` and `page` draw it;
    `update` takes in more rows, and `save` writes it to a file that `hippozoo.load` reads.

    >>> result = forecast(np.sin(np.arange(300) / 3), horizon=6)
    >>> result.frame["time"].tolist()
    [300, 301, 302, 303, 304, 305]
    >>> _ = result.update(np.sin(np.arange(300, 320) / 3))
    >>> result.frame["time"].tolist()
    [320, 321, 322, 323, 324, 325]
    """

    learner: Learner  # its last step is open
    clock: Clock  # what times are called
    reading: Reading  # how more rows are read
    name: str
    time: str | None
    left_out: dict[str, str]
    notes: list[str]
    quantiles: tuple[float, ...] = ()
    series: dict[str, tuple[Any, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.run  # noqa: B018 (what cannot be learnt is refused at once)

    # -- what was found ---------------------------------------------------------------------------------------------

    @cached_property
    def run(self) -> ForecastRun:
        """Everything that was found out about the table."""
        return self._run_of(self.learner)

    def _run_of(self, learner: Learner) -> ForecastRun:
        return ForecastRun(learner.finish(), self.name, self.time, self.left_out, self.notes)

    @cached_property
    def frame(self) -> Any:
        """The forecast as a frame of the library that the data came in; one row per column and time.

        ``column`` (of a long frame its own columns of names), ``step``, ``time``, ``mean``, ``lower_80``, ``upper_80``
        and so on for each coverage, ``quantile_90`` and so on for each quantile; and ``simple`` where a simple forecast
        did better in the back-test of some column.
        """
        return forecast_frame(self.run, self.clock, self.series, self.quantiles)

    @cached_property
    def verdict(self) -> Verdicts:
        """How good the forecast of each column is, beside simple ones; ``verdict.pooled`` of all together."""
        found = Verdicts(zip(self.run.columns, self.run.verdicts, strict=True))
        found.pooled = self.run.pooled
        return found

    @cached_property
    def inputs(self) -> dict[str, dict[str, InputGain]]:
        """For each column what its inputs buy: all of them under ``""``, and each by its name with its kernel."""
        return dict(zip(self.run.columns, self.run.gains, strict=True))

    @property
    def summary(self) -> dict[str, Any]:
        """All of it in numbers: errors, coverage, seasons, notes, what the forecast is made of."""
        return self.run.summary

    def __repr__(self) -> str:
        columns, steps = len(self.run.columns), self.run.horizon
        named = f"{self.name}: " if self.name else ""
        heading = f"{named}{steps} step{'s' * (steps > 1)} of {columns} column{'s' * (columns > 1)}"
        return "\n".join([heading, repr(self.verdict), *self._said])

    @property
    def _said(self) -> list[str]:
        """Notes, and the columns that were left out."""
        out = [f"left out: {list_reasons(self.left_out)}"] if self.left_out else []
        return [*(f"note: {one}" for one in self.run.notes), *out]

    def _repr_html_(self) -> str:
        """For notebooks: verdicts, a picture, and the forecast."""
        lines = [f"<b>{shown(name)}</b>: {shown(one.sentence)}" for name, one in self.verdict.items()]
        if len(lines) > _SHOWN:
            lines = [*lines[:_SHOWN], f"… and {len(lines) - _SHOWN} more columns"]
        if self.verdict.pooled is not None:
            lines.append(f"<b>all together</b>: {shown(self.verdict.pooled.sentence)}")
        lines += map(shown, self._said)
        picture = ""
        if is_installed("matplotlib"):
            content = io.BytesIO()
            self.plot().savefig(content, format="png", dpi=80)
            encoded = base64.b64encode(content.getvalue()).decode()
            picture = f'<img alt="past and forecast" src="data:image/png;base64,{encoded}">'
        table = self.frame._repr_html_() if hasattr(self.frame, "_repr_html_") else ""
        return f"<p>{'<br>'.join(lines)}</p>{picture}{table}"

    # -- pictures ---------------------------------------------------------------------------------------------------

    def plot(self, columns: str | Sequence[str] = (), figure: Any = None) -> Any:
        """A figure of matplotlib: the last three horizons, the forecast and its bands; at most six columns by default.

        Parameters
        ----------
        columns
            Which columns to draw.
        figure
            Draw here.
        """
        from hippozoo.apps.forecast.plots import plot_forecast

        names = (columns,) if isinstance(columns, str) else tuple(columns)
        for name in names:
            if name not in self.run.columns:
                raise ValueError(
                    f"there is no column {name!r}; there are {', '.join(map(repr, self.run.columns[:20]))}."
                )
        return plot_forecast(self.run, names, figure)

    def page(self, path: str | os.PathLike[str] = "forecast.html") -> Path:
        """Write an interactive page, one file that opens from disk; needs the extra ``hippozoo[pages]``."""
        from hippozoo.apps.forecast.page import build_page

        return build_page(self.run, linked=False).write(Path(path))

    # -- going on ---------------------------------------------------------------------------------------------------

    def update(self, more: Any, future: Any = None) -> ForecastResult:
        """Take in the rows that came since, without a refit: the same as one pass over all rows. Returns itself.

        Horizon, length of a step and seasons stay what the first rows said. Rows that cannot be used change nothing.

        Parameters
        ----------
        more
            Rows like the first ones, all of them later; the path of a file with them.
        future
            Known inputs after these rows. What was known of them before, and is later, stays known.
        """
        rows = [self._after(one) for one in self._rows_of(more)]
        learner, inputs = self.learner.copy(), self.learner.choices.inputs
        before = None
        if learner.beside is not None:
            before = learner.beside.take_future(sum(len(one.values) for one in rows))
        for one in rows:
            learner.take_in(one)
        if before is not None:
            learner.add_future(before)
        if future is not None:
            learner.add_future(future_rows(future, self.reading, inputs, len(learner.columns)))
        run = self._run_of(learner)
        if self.clock.kind == "rows":
            self.clock = self.clock.after(learner.rows - self.learner.rows)
        self.learner = learner
        for stale in ("frame", "verdict", "inputs"):
            self.__dict__.pop(stale, None)
        self.__dict__["run"] = run
        return self

    def _rows_of(self, more: Any) -> list[Rows]:
        """Rows of a file, a frame or an array, their columns in the order of the table."""
        reading, targets = self.reading, self.run.columns
        if is_path(more) or hasattr(more, "columns"):
            asked = replace(reading, columns=reading.columns or (() if reading.panel else targets))
            table = (asked if is_path(more) else asked.at_time_of(more)).open(more)
            return [self._ordered(one, table.columns) for one, _ in table.chunks]
        # A series, or an array: its place says which column it is.
        table, inputs = read_frame(more), reading.inputs
        if len(table.columns) != len(targets) + len(inputs):
            beside = f", with {len(inputs)} inputs beside them" if inputs else ""
            raise ValueError(f"{len(table.columns)} columns came, and {len(targets)} are forecast{beside}; pass all.")
        return [one for one, _ in table.chunks]

    def _ordered(self, rows: Rows, columns: Sequence[str]) -> Rows:
        """Columns in the order of the table; a series of which nothing came is missing."""
        strange = [name for name in columns if name not in self.run.columns]
        if strange:
            raise ValueError(
                f"{shorten(strange[0])} was not among the first rows; call hippozoo.forecast with all rows."
            )
        inputs = rows.values[:, len(columns) :]
        values = np.full((len(rows.values), len(self.run.columns)), np.nan)
        values[:, [self.run.columns.index(name) for name in columns]] = rows.values[:, : len(columns)]
        values = np.concatenate([values, inputs], axis=1) if inputs.size else values
        return Rows(rows.first, rows.times, values, rows.offsets)

    def _after(self, rows: Rows) -> Rows:
        """Numbered from the last row on; refused where they are not later than it."""
        last = self.learner.grid.last_time
        if (rows.times is None) != (self.learner.grid.step is None):
            raise ValueError("the first rows had times and these have none, or the other way round; pass rows alike.")
        if rows.times is not None and rows.times[0] <= last:
            moments = self.clock.times(np.array([rows.times[0], last]), is_local=False)
            began, seen = (str(one).replace("T", " ").removesuffix(".000000") for one in moments)
            raise ValueError(f"the rows begin at {began}, and rows until {seen} were seen; pass the rows after that.")
        return Rows(self.learner.rows + 1, rows.times, rows.values, rows.offsets)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one file; `hippozoo.load` reads it, and `update` goes on."""
        checkpoint.save(path, self)
