"""Forecasts of a panel by one map, with bands, written as Parquet."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hippozoo._internal.arguments import shorten
from hippozoo._internal.files import CannotWriteError, make_folder, write_whole
from hippozoo.scale._dask import dask_module
from hippozoo.scale.fit import normalised, side_by_side, with_learnt
from hippozoo.scale.folder import PARTITION_BYTES
from hippozoo.scale.reading import SeriesRows, TableLayout, masked
from hippozoo.scale.whole_series import tasks_of
from hippozoo.zoo.forecasting import Forecaster, ForecasterState

__all__ = ["forecast_panel"]

# Series whose covariances are held at once.
_TOGETHER = 256


def forecast_panel(
    forecaster: Forecaster,
    learnt: ForecasterState,
    series: Any,
    out: str | Path,
    *,
    coverages: Sequence[float] = (0.8, 0.95),
    normalise: bool = False,
    id: str | None = None,
    column: str | None = None,
    time: str | None = None,
    partition_bytes: int = PARTITION_BYTES,
) -> int:
    """Forecast every series of a panel by the map that was learnt, and write Parquet; gives the number of series.

    A row is one step of one series: its name, ``step`` (1 is the next), ``time`` where the series have times, ``mean``,
    and for each band ``lower_80``, ``upper_80`` and so on. Every task writes one file, whole or not at all: a task that
    is run again writes the same file again.

    Parameters
    ----------
    forecaster
        The one that was fitted.
    learnt
        What `fit_forecaster` has given.
    series
        As of `fit_forecaster`, of one column; elements of a bag are pairs (name, array).
    out
        The folder, seen by all workers. Parquet files of another run in it are refused.
    coverages
        The bands, as shares of values inside.
    normalise
        As it was when fitting.
    id, column, time, partition_bytes
        As of `states`.

    Examples
    --------
    >>> import dask, dask.bag, pandas
    >>> from tempfile import TemporaryDirectory
    >>> from hippozoo.scale import fit_forecaster
    >>> from hippozoo.systems import LegT
    >>> forecaster = Forecaster(LegT(16, 40.0), horizon=4.0)
    >>> waves = dask.bag.from_sequence([(k, np.cos(np.arange(200) / k)) for k in (3, 4, 5, 6)])
    >>> with dask.config.set(scheduler="synchronous"), TemporaryDirectory() as folder:
    ...     learnt = fit_forecaster(forecaster, waves, validate="series")
    ...     count = forecast_panel(forecaster, learnt, waves, folder)
    ...     table = pandas.read_parquet(folder)
    >>> count, len(table), list(table.columns)[:4]
    (4, 16, ['series', 'step', 'mean', 'lower_80'])
    """
    if not isinstance(forecaster, Forecaster) or not isinstance(learnt, ForecasterState):
        raise TypeError(
            f"a panel is forecast by one map; pass a Forecaster and the state that it has learnt, not "
            f"{shorten(forecaster)} and {shorten(learnt)}."
        )
    if forecaster.together == "joint" or len(learnt.learnt) != 1:
        raise ValueError(
            "a panel is forecast by one map; pass a Forecaster without together='joint', and a state of one channel."
        )
    for one in coverages:
        if not 0 < one < 1:
            raise ValueError(f"coverage={one}: the share of values inside a band; pass a number between 0 and 1.")
    dask = dask_module()
    work = _Forecast(forecaster, learnt, str(Path(out).absolute()), tuple(coverages), normalise, id or "series")
    tasks = tasks_of(work, series, id, column, time, partition_bytes)
    folder = make_folder(out)
    ours = {_name(number) for number in range(len(tasks))}
    strange = sorted(path.name for path in folder.rglob("*.parquet") if path.name not in ours)
    if strange:
        raise CannotWriteError(folder, f"it holds {strange[0]}, which is not of this run; pass an empty folder")
    return int(sum(dask.compute(*tasks)))


def _name(number: int) -> str:
    return f"part-{number:06d}.parquet"


@dataclass(frozen=True, eq=False)
class _Forecast:
    """Forecast the series of a partition and write them."""

    forecaster: Forecaster
    learnt: ForecasterState
    out: str
    coverages: tuple[float, ...]
    normalise: bool
    id: str

    def __call__(self, series: Iterator[SeriesRows], reading: TableLayout | None, number: int) -> int:
        pandas = dask_module("pandas")
        found: list[tuple[Any, np.ndarray, np.ndarray | None]] = []
        given = map(normalised, series) if self.normalise else series
        for batch in side_by_side(given, self.forecaster):
            for begin in range(0, len(batch), _TOGETHER):
                chosen = batch[begin : begin + _TOGETHER]
                numbers = self._numbers(chosen, reading)
                for one, table in zip(chosen, numbers, strict=True):
                    found.append((one.name, table * one.size + one.mean, self._times(one, reading, table.shape[1])))
        if not found:
            return 0
        steps = found[0][1].shape[1]
        ends = [f"{side}_{share * 100:g}" for share in self.coverages for side in ("lower", "upper")]
        columns: dict[str, Any] = {
            self.id: [name for name, _, _ in found for _ in range(steps)],
            "step": np.tile(np.arange(1, steps + 1), len(found)),
        }
        if found[0][2] is not None:
            times = np.concatenate([one for _, _, one in found if one is not None])
            columns["time"] = pandas.to_datetime(times) if reading is not None and reading.dates else times
        columns |= {name: np.concatenate([one[k] for _, one, _ in found]) for k, name in enumerate(["mean", *ends])}
        content = io.BytesIO()
        pandas.DataFrame(columns).to_parquet(content, index=False)
        write_whole(Path(self.out) / _name(number), content.getvalue())
        return len(found)

    def _numbers(self, series: list[SeriesRows], reading: TableLayout | None) -> np.ndarray:
        """(series, mean and ends of bands, steps)."""
        for one in series:
            if one.values.shape[1] != 1:
                raise ValueError(f"series {shorten(one.name)} has several columns; name one with column=.")
        values, mask = masked(np.concatenate([one.values for one in series], axis=1))
        steps = reading and reading.steps(series[0], float(self.forecaster.dt))
        many, state = with_learnt(self.forecaster, self.learnt, len(series))
        state = many.follow(state, values, steps, mask)
        forecast = many.forecast(state)
        leads = forecast.leads()
        bands = [side for share in self.coverages for side in forecast.band(leads, share)]
        return np.stack([forecast.mean(leads), *bands], axis=1)

    def _times(self, series: SeriesRows, reading: TableLayout | None, steps: int) -> np.ndarray | None:
        if series.ticks is None or reading is None:
            return None
        ahead = np.arange(1, steps + 1) * float(self.forecaster.dt) / reading.tick
        return series.ticks[-1] + (np.rint(ahead).astype(np.int64) if reading.dates else ahead)
