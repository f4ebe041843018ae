"""Fitting a forecaster to many series, or to one long series in chunks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from hippozoo._internal.arguments import shorten
from hippozoo.scale._dask import dask_module, is_a
from hippozoo.scale.folder import PARTITION_BYTES
from hippozoo.scale.reading import SeriesRows, TableLayout, masked
from hippozoo.scale.whole_series import half_of, tasks_of
from hippozoo.zoo.forecasting import Forecaster, ForecasterLike, ForecasterState, StateLike
from hippozoo.zoo.forecasting.state import Detail

__all__ = ["fit_forecaster", "normalised", "side_by_side", "with_learnt"]

Validate = Literal["stretches", "series"]
# How many results one task merges.
_FAN_IN = 8
# Numbers of states held at once where many series are learnt side by side.
_HELD = 2**22


def fit_forecaster(
    forecaster: ForecasterLike[Any],
    series: Any,
    *,
    validate: Validate = "stretches",
    normalise: bool = False,
    id: str | None = None,
    column: str | Sequence[str] | None = None,
    time: str | None = None,
    partition_bytes: int = PARTITION_BYTES,
) -> Any:
    """What many series, or the chunks of a long one, have taught; computed at once, on the present Dask scheduler.

    *Many series*: equal to ``reduce(forecaster.merge, states)`` of the states of all series, to 1e-9, whatever the
    partitions and workers. Statistics and the errors of validated stretches add up; the present, and the stretch that
    is under way, are those of the first series.

    *One long series in chunks*, a Dask array ``(time,)``: equal to learning it in one go, to 1e-9. The state goes from
    chunk to chunk, one after the other, so that one chunk at a time is held.

    Parameters
    ----------
    forecaster
        What to fit: a `Forecaster`, or an `EnsembleForecaster`; the state that is returned is one of its own.
    series
        As of `states`; an array is ``(time,)``, ``(series, time)`` or ``(series, time, channels)``. A series that lies
        in several partitions is brought together in one of them, and must fit into the memory of a worker.
    validate
        ``"stretches"``: every series validates the map that it has learnt by itself, on its own later stretches. Bands
        of a map shared by all are then too wide. ``"series"``, for one map shared by a panel: the map of one half of
        the series is scored on the other half. It needs no more passes, and a small part of the time.
    normalise
        Take each series relative to its own mean, in units of its own deviation: for panels of one kind and many sizes.
    id, column, time, partition_bytes
        As of `states`. Several columns are the channels of a series.

    Examples
    --------
    >>> import dask, dask.bag
    >>> from hippozoo.systems import LegT
    >>> from functools import reduce
    >>> forecaster = Forecaster(LegT(8, 20.0), horizon=4.0)
    >>> waves = [np.cos(np.arange(100) / k) for k in (3, 4, 5)]
    >>> with dask.config.set(scheduler="synchronous"):
    ...     state = fit_forecaster(forecaster, dask.bag.from_sequence(waves))
    >>> here = reduce(forecaster.merge, [forecaster.learn(forecaster.initial_state(), wave) for wave in waves])
    >>> bool(np.allclose(state.learnt[0][0].yx, here.learnt[0][0].yx, rtol=1e-9))
    True
    """
    if not isinstance(forecaster, ForecasterLike):
        raise TypeError(
            f"forecaster={shorten(forecaster)}: pass a Forecaster of hippozoo.zoo.forecasting, or one made by "
            f"hippozoo.ensemble.forecaster_for."
        )
    if validate not in ("stretches", "series"):
        raise ValueError(f"validate={shorten(validate)} is unknown; pass 'stretches' or 'series'.")
    if validate == "series" and (not isinstance(forecaster, Forecaster) or forecaster.together == "joint"):
        raise ValueError(
            "validate='series' is for one map shared by a panel; pass a Forecaster without together='joint', or "
            "validate='stretches'."
        )
    dask = dask_module()
    if is_a(series, "dask.array", "Array") and series.ndim == 1:
        if normalise or validate == "series":
            raise ValueError("one long series is no panel; leave normalise and validate out.")
        return _fit_in_chunks(forecaster, series)
    results = tasks_of(_Fit(forecaster, validate, normalise), series, id, column, time, partition_bytes)
    merged = dask.delayed(_merged)
    while len(results) > 1:
        results = [merged(forecaster, results[at : at + _FAN_IN]) for at in range(0, len(results), _FAN_IN)]
    (found,) = dask.compute(results[0])
    halves = [one for one in found if one is not None]
    if not halves:
        raise ValueError("there is no series to fit to; pass at least one.")
    if len(halves) == 1 or not isinstance(forecaster, Forecaster):
        return halves[0]
    return _cross_validated(forecaster, *halves)


def _fit_in_chunks(forecaster: ForecasterLike[Any], series: Any) -> Any:
    dask = dask_module()
    if series.dtype.kind not in "fiu" or not series.size:
        raise ValueError(f"series has dtype {series.dtype} and shape {series.shape}; pass real numbers, one at least.")
    state, learn = forecaster.initial_state(), dask.delayed(_learnt_from)
    for block in series.to_delayed():
        state = learn(forecaster, state, block)
    return dask.compute(state)[0]


def _learnt_from(forecaster: ForecasterLike[Any], state: Any, block: np.ndarray) -> Any:
    values, mask = masked(np.asarray(block, float))
    return forecaster.learn(state, values, mask=mask)


Halves = tuple[StateLike | None, StateLike | None]


@dataclass(frozen=True, eq=False)
class _Fit:
    """Learn the series of a partition and merge them; two sums for a panel that is validated across series."""

    forecaster: ForecasterLike[Any]
    validate: Validate
    normalise: bool

    def __call__(self, series: Iterator[SeriesRows], reading: TableLayout | None, number: int) -> Halves:
        given = map(normalised, series) if self.normalise else series
        if self.validate == "stretches":
            total: Halves = (None, None)
            for one in given:
                total = _merged(self.forecaster, [total, (_learnt_alone(self.forecaster, one, reading), None)])
            return total
        total, forecaster = (None, None), self.forecaster
        assert isinstance(forecaster, Forecaster)  # fit_forecaster has refused any other
        for batch in side_by_side(given, forecaster):
            for half in (0, 1):
                chosen = [one for one in batch if half_of(one) == half]
                if chosen:
                    state = _pooled(forecaster, chosen, reading)
                    total = _merged(self.forecaster, [total, (state, None) if half == 0 else (None, state)])
        return total


def _learnt_alone(forecaster: ForecasterLike[Any], series: SeriesRows, reading: TableLayout | None) -> StateLike:
    single = series.values.shape[1] == 1
    values, mask = masked(series.values[:, 0] if single else series.values)
    state = forecaster.initial_state(None if single else values.shape[1])
    return forecaster.learn(state, values, reading and reading.steps(series, float(forecaster.dt)), mask)


def _pooled(forecaster: Forecaster, series: list[SeriesRows], reading: TableLayout | None) -> ForecasterState:
    """What series of one length teach one map for all of them; their statistics add up, and no stretch is validated.

    The state is one of a single series, and its present is that of the first.
    """
    if any(one.values.shape[1] != 1 for one in series):
        raise ValueError("validate='series' takes series of one column; name it with column=.")
    values, mask = masked(np.concatenate([one.values for one in series], axis=1))
    dt, many = reading and reading.steps(series[0], float(forecaster.dt)), _shared(forecaster)
    state = many.learn(_unvalidated(many, len(series)), values, dt, mask)
    first = forecaster.learn(_unvalidated(forecaster), values[:, 0], dt, None if mask is None else mask[:, 0])
    detail = Detail(state.detail.squares.sum(axis=0)[None], state.detail.weight.sum()[None])
    return replace(first, learnt=state.learnt, detail=detail)


def side_by_side(series: Iterator[SeriesRows], forecaster: Forecaster) -> Iterator[list[SeriesRows]]:
    """Series of one length, as many as may be learnt at once; those with times one by one."""
    waiting: dict[int, list[SeriesRows]] = {}
    width = sum(system.order for system in forecaster.histories) + forecaster.future.order
    for one in series:
        if one.ticks is not None:
            yield [one]
            continue
        batch = waiting.setdefault(len(one.values), [])
        batch.append(one)
        if len(batch) * min(len(one.values), 4096) * width >= _HELD:
            yield waiting.pop(len(one.values))
    yield from waiting.values()


def normalised(series: SeriesRows) -> SeriesRows:
    """A series relative to its mean, in units of its deviation. One that stands still keeps its unit."""
    known = ~np.isnan(series.values)
    count = np.maximum(known.sum(axis=0), 1)
    mean = np.where(known, series.values, 0.0).sum(axis=0) / count
    size = np.sqrt((np.where(known, series.values - mean, 0.0) ** 2).sum(axis=0) / count)
    size = np.where(size > 1e-12 * np.abs(mean), size, 1.0)
    return SeriesRows(series.name, (series.values - mean) / size, series.ticks, mean, size)


def _merged(forecaster: ForecasterLike[Any], results: Sequence[Halves]) -> Halves:
    """Neighbours merged from the left, so that the present is that of the first."""
    found: list[StateLike | None] = [None, None]
    for result in results:
        for half, state in enumerate(result):
            before = found[half]
            if state is not None:
                found[half] = state if before is None else forecaster.merge(before, state)
    return found[0], found[1]


def _unvalidated(forecaster: Forecaster, series: int | None = None) -> ForecasterState:
    """The state that has learnt nothing, and never validates a stretch."""
    state = forecaster.initial_state(series)
    return replace(state, validation=replace(state.validation, boundary=math.inf))


def _shared(forecaster: Forecaster) -> Forecaster:
    return forecaster if forecaster.together == "shared" else replace(forecaster, together="shared")


def _cross_validated(forecaster: Forecaster, one: ForecasterState, other: ForecasterState) -> ForecasterState:
    """Two halves of a panel together, the map of each scored on the other; bands and candidates follow from that."""
    both = forecaster.merge(one, other)
    validation, solver = both.validation, forecaster.solver
    errors, weight = np.zeros_like(validation.errors), np.zeros_like(validation.weight)
    for known, unseen in ((one, other), (other, one)):
        for g, (theirs, here) in enumerate(zip(known.learnt, unseen.learnt, strict=True)):
            if theirs[0].weight and here[0].weight:
                errors[g] += solver.errors(theirs, here, 1)
                weight[g] += here[0].weight
    return replace(both, validation=replace(validation, errors=errors, weight=weight))


def with_learnt(forecaster: Forecaster, learnt: ForecasterState, series: int) -> tuple[Forecaster, ForecasterState]:
    """A forecaster and a state of so many series, about to begin, that know what one state has learnt."""
    many = _shared(forecaster)
    state = many.initial_state(series)
    detail = Detail(np.repeat(learnt.detail.squares, series, axis=0), np.repeat(learnt.detail.weight, series))
    return many, replace(state, learnt=learnt.learnt, validation=learnt.validation, detail=detail)
