"""Forecasts made on the way, each knowing only what had come before it, beside those that anybody could make."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from hippozoo.zoo.forecasting import Forecast

__all__ = ["COVERAGES", "FORECAST", "BackTest", "Comparison", "season_rival"]

COVERAGES = (0.8, 0.95)
FORECAST = "forecast"
# Origins that are kept; when there are more, every second one is dropped and the rest is spaced wider.
_ORIGINS = 128
# Errors of all origins together, in numbers: a wide table keeps fewer origins.
_NUMBERS = 10_000_000
_GOLDEN = (math.sqrt(5) - 1) / 2
# The damped trend: how much a new value moves level and slope, what is left of the slope with every step, and from how
# many of the last values it is worked out.
_LEVEL, _SLOPE, _DAMPING, _TREND_STEPS = 0.5, 0.05, 0.97, 128
# Stretches whose results are compared with each other for the error bar.
_STRETCHES = 12
_FEWEST_STRETCHES = 4
# An error below this share of the largest one of a simple forecast, or of the largest value, is rounding.
_EXACT, _ROUNDING = 1e-9, 16 * float(np.finfo(float).eps)


def season_rival(period: int) -> str:
    """The name of the forecast that repeats the last `period` steps."""
    return f"season {period}"


@dataclass(frozen=True, eq=False)
class Comparison:
    """Absolute errors of all methods on the same origins.

    Parameters
    ----------
    steps
        After how many steps each forecast was made.
    errors
        For each method (origins, steps ahead, columns), NaN where nothing came.
    left_out
        Rivals that could not be compared, and why.
    largest
        The largest absolute value that came in each column, which says what is rounding; None if nobody knows.

    Examples
    --------
    >>> errors = {"forecast": np.ones((8, 2, 1)), "last value": np.full((8, 2, 1), 2.0)}
    >>> Comparison(2 * np.arange(8), errors, {}).better_by("last value", 0, horizon=2)
    (0.5, 0.0)
    """

    steps: np.ndarray
    errors: dict[str, np.ndarray]
    left_out: dict[str, str]
    largest: np.ndarray | None = None

    def by_step(self) -> dict[str, np.ndarray]:
        """Mean absolute error of each method, (steps ahead, columns); NaN where nothing ever came."""
        return {name: _known_mean(one, axis=0) for name, one in self.errors.items()}

    @cached_property
    def by_column(self) -> dict[str, np.ndarray]:
        """Mean absolute error of each method, one for each column."""
        return {name: _known_mean(one, axis=(0, 1)) for name, one in self.errors.items()}

    def exact(self, method: str, column: int) -> bool:
        """Whether the errors of a method are none, or rounding: beside its rivals, or beside the values."""
        error = self.by_column[method][column]
        simple = np.fmax.reduce([one[column] for name, one in self.by_column.items() if name != FORECAST], initial=0.0)
        largest = 0.0 if self.largest is None else self.largest[column]
        return bool(error <= max(_EXACT * simple, _ROUNDING * largest))

    def better_by(self, rival: str, column: int, horizon: int) -> tuple[float | None, float | None]:
        """By which share of the rival's error the forecast is better, and the standard error of that.

        Forecasts from origins near to each other meet the same weather, and overlap. So the error bar is a jackknife
        over stretches of the table, each at least one horizon long; None where there are fewer than four.
        """
        # Origins before which the column had not begun, or after which it was silent, say nothing.
        known = np.isfinite(self.errors[FORECAST][:, :, column]).any(axis=1)
        steps = self.steps[known]
        ours, theirs = (np.nansum(self.errors[name][known, :, column], axis=1) for name in (FORECAST, rival))
        if not theirs.sum():
            return (0.0 if not ours.sum() else None), None
        better = 1 - ours.sum() / theirs.sum()
        span = steps[-1] - steps[0] + horizon
        count = int(min(_STRETCHES, span // horizon, len(steps)))
        if count < _FEWEST_STRETCHES:
            return float(better), None
        stretch = np.minimum((steps - steps[0]) * count // span, count - 1)
        without = []
        for one in range(count):
            rest = theirs[stretch != one].sum()
            if rest and (stretch == one).any():
                without.append(1 - ours[stretch != one].sum() / rest)
        if len(without) < _FEWEST_STRETCHES:
            return float(better), None
        spread = np.asarray(without) - np.mean(without)
        return float(better), float(np.sqrt((len(without) - 1) / len(without) * (spread**2).sum()))


@dataclass
class _Totals:
    """What mean and drift of each column need of the past."""

    first: np.ndarray
    first_step: np.ndarray
    last: np.ndarray
    last_step: np.ndarray
    total: np.ndarray
    count: np.ndarray

    @classmethod
    def of(cls, columns: int) -> _Totals:
        unknown, none = np.full(columns, np.nan), np.zeros(columns, int)
        return cls(unknown, none, unknown, none, np.zeros(columns), none)

    def take_in(self, values: np.ndarray, step: int) -> None:
        """These values, the first of which is number `step`."""
        known = np.isfinite(values)
        some, place = known.any(axis=0), np.arange(values.shape[1])
        early, late = known.argmax(axis=0), len(values) - 1 - known[::-1].argmax(axis=0)
        fresh = some & np.isnan(self.first)
        self.first = np.where(fresh, values[early, place], self.first)
        self.first_step = np.where(fresh, step + early, self.first_step)
        self.last = np.where(some, values[late, place], self.last)
        self.last_step = np.where(some, step + late, self.last_step)
        self.total = self.total + np.where(known, values, 0.0).sum(axis=0)
        self.count = self.count + known.sum(axis=0)

    def mean(self) -> np.ndarray:
        return np.where(self.count > 0, self.total / np.maximum(self.count, 1), np.nan)

    def slope(self) -> np.ndarray:
        return (self.last - self.first) / np.maximum(self.last_step - self.first_step, 1)


@dataclass
class BackTest:
    """Forecasts that were made on the way, and what came: every one knew only what had come before it.

    They are made about every `stride` steps, the next when `due` steps have been seen. Steps without any value do not
    count: a long gap is no place to forecast from. Origins are shifted a little, each by another amount, so that they
    fall on all hours of the day and days of the week.

    Parameters
    ----------
    horizon
        Steps ahead.
    seasons
        Periods whose repetition is a rival.
    stride, due
        Steps between origins, and when the next one is due.
    coverages
        Bands that are judged.
    """

    horizon: int
    seasons: tuple[int, ...]
    stride: int
    due: int
    coverages: tuple[float, ...] = COVERAGES
    waiting: list[dict[str, Any]] = field(default_factory=list)
    done: list[dict[str, Any]] = field(default_factory=list)
    recent: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    steps: int = 0
    made: int = 0
    totals: _Totals | None = None

    def take_in(self, values: np.ndarray) -> None:
        """What came after the forecasts that wait."""
        for one in self.waiting:
            one["truth"] = np.concatenate([one["truth"], values[: self.horizon - len(one["truth"])]])
        # Where a gap came there is nothing to compare with.
        finished = [
            one for one in self.waiting if len(one["truth"]) == self.horizon and np.isfinite(one["truth"]).any()
        ]
        self.waiting = [one for one in self.waiting if len(one["truth"]) < self.horizon]
        self.done += map(self._scored, finished)
        keep = max((_TREND_STEPS, *self.seasons))
        self.recent = np.concatenate([self.recent, values])[-keep:] if self.recent.size else values[-keep:]
        self.totals = self.totals or _Totals.of(values.shape[1])
        self.totals.take_in(values, self.steps)
        self.steps += len(values)

    def _scored(self, one: dict[str, Any]) -> dict[str, Any]:
        """The errors in place of the forecasts."""
        truth = one["truth"]
        errors = {name: np.abs(made - truth) for name, made in one["made"].items()}
        inside = {}
        for share, (lower, upper) in one["bands"].items():
            held = ((lower <= truth) & (truth <= upper)).astype(float)
            inside[share] = np.where(np.isfinite(truth) & np.isfinite(upper - lower), held, np.nan)
        largest = np.fmax.reduce(np.abs(truth), axis=0, initial=0.0)
        return {"step": one["step"], "errors": errors, "inside": inside, "largest": largest}

    def steps_until_due(self, known: np.ndarray, seen: int) -> int:
        """How many of these steps, (steps, columns) with True for a value, to take in before the next forecast."""
        counted = np.cumsum(known.any(axis=1))
        return min(int(np.searchsorted(counted, max(self.due - seen, 1))) + 1, len(known))

    def issue(self, forecast: Forecast, held: np.ndarray, step: int, seen: int) -> None:
        """Make a forecast after `step` steps, `seen` of them with a value, and those that anybody could make."""
        assert self.totals is not None
        leads = forecast.leads(self.horizon)
        # Nobody can forecast a column that has not begun: what is made of it is not judged.
        begun = self.totals.count > 0
        made = {FORECAST: forecast.mean(leads).T} | self._simple(held)
        made = {name: np.where(begun, one, np.nan) for name, one in made.items()}
        bands = {
            share: tuple(np.where(begun, side.T, np.nan) for side in forecast.band(leads, share))
            for share in self.coverages
        }
        self.waiting.append({"step": step, "truth": np.empty((0, len(held))), "made": made, "bands": bands})
        size = self.horizon * len(held) * len(made)
        if len(self.done) + len(self.waiting) > max(16, min(_ORIGINS, _NUMBERS // size)):
            self.done = self.done[::2]
            self.stride *= 2
        shift = [int(k * _GOLDEN % 1 * self.stride) for k in (self.made, self.made + 1)]
        self.due = seen + max(1, self.stride + shift[1] - shift[0])
        self.made += 1

    def _simple(self, held: np.ndarray) -> dict[str, np.ndarray]:
        """Last value, mean of all, the line from the first to the last value, a damped trend, and each season again."""
        assert self.totals is not None
        ahead = np.arange(1, self.horizon + 1)[:, None]
        mean, slope = self.totals.mean(), self.totals.slope()
        made = {
            "last value": np.tile(held, (self.horizon, 1)),
            "mean": np.tile(np.where(np.isfinite(mean), mean, held), (self.horizon, 1)),
            "drift": held + np.where(np.isfinite(slope), slope, 0.0) * ahead,
            "damped trend": _damped_trend(self.recent[-_TREND_STEPS:], held, self.horizon),
        }
        for period in self.seasons:
            if self.steps >= period:
                last = self.recent[-period:]
                last = np.where(np.isfinite(last), last, held)
                made[season_rival(period)] = last[(ahead[:, 0] - 1) % period]
        return made

    def compare(self) -> Comparison | None:
        """All methods on the same origins; None where there is none yet.

        A season that has not been seen at an early origin is compared on the later ones, and so are all others. Only
        if fewer than half of the origins are left for it, it is left out, and that is said.
        """
        usable = [one for one in self.done if np.isfinite(one["errors"][FORECAST]).any()]
        if not usable:
            return None
        left_out = {}
        methods = [FORECAST, "last value", "mean", "drift"]
        for period in self.seasons:
            name = season_rival(period)
            with_it = sum(name in one["errors"] for one in usable)
            if 2 * with_it >= len(usable):
                methods.append(name)
            else:
                left_out[name] = f"{period} steps were seen before {with_it} of {len(usable)} origins only"
        methods.append("damped trend")
        kept = [one for one in usable if all(name in one["errors"] for name in methods)]
        return Comparison(
            np.array([one["step"] for one in kept]),
            {name: np.stack([one["errors"][name] for one in kept]) for name in methods},
            left_out,
            np.max([one["largest"] for one in kept], axis=0),
        )

    def coverage(self, column: int) -> dict[str, float | None]:
        """The share of a column's values inside each band; None where none came."""
        if not self.done:
            return {}
        found: dict[str, float | None] = {}
        for share in self.coverages:
            inside = np.concatenate([one["inside"][share][:, column] for one in self.done])
            known = inside[np.isfinite(inside)]
            found[f"{share * 100:g}%"] = float(known.mean()) if len(known) else None
        return found


def _damped_trend(values: np.ndarray, held: np.ndarray, horizon: int) -> np.ndarray:
    """Exponential smoothing with a damped trend of these values, (steps, columns); `held` where there is none."""
    level, slope = np.full(values.shape[1], np.nan), np.zeros(values.shape[1])
    for row in values:
        expected = level + _DAMPING * slope
        error = np.where(np.isfinite(row) & np.isfinite(level), row - expected, 0.0)
        level = np.where(np.isfinite(level), expected + _LEVEL * error, row)
        slope = _DAMPING * slope + _LEVEL * _SLOPE * error
    reach = np.cumsum(_DAMPING ** np.arange(1, horizon + 1))[:, None]
    return np.where(np.isfinite(level), level + slope * reach, held)


def _known_mean(errors: np.ndarray, axis: int | tuple[int, ...]) -> np.ndarray:
    count = np.isfinite(errors).sum(axis=axis)
    return np.where(count > 0, np.nansum(errors, axis=axis) / np.maximum(count, 1), np.nan)
