"""Columns that are learnt by one forecaster, and the back-test of its forecasts."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast

import numpy as np

from hippozoo._internal.arguments import whole_number
from hippozoo.apps.forecast.backtest import COVERAGES, BackTest
from hippozoo.apps.forecast.grid import Grid
from hippozoo.apps.forecast.inputs import InputNames
from hippozoo.ensemble import EnsembleForecaster, EnsembleState, find_seasons, forecaster_for
from hippozoo.ensemble.state import Rolled
from hippozoo.zoo.forecasting import ForecasterLike, StateLike, forecaster_with_candidates

__all__ = ["Choices", "Group", "Together", "groups_for"]

Together = Literal["independent", "joint", "panel"]
# Columns that are learnt at once, where each learns by itself.
_AT_ONCE = 48


@dataclass(frozen=True)
class Choices:
    """What was asked for; see `hippozoo.forecast`."""

    horizon: int | str | Any = None  # steps, or a length of time such as "2 days"; None for the usual one
    every: float | int | str | None = None  # length of a step
    season: int | Sequence[int] | None = None  # periods in steps; None to find those of each column; 1 for none
    coverages: Sequence[float | int] = COVERAGES
    lower: float | int | None = None
    upper: float | int | None = None
    together: Together = "independent"
    inputs: InputNames = field(default_factory=InputNames)
    has_bands: bool = True  # whether bands are judged too

    def __post_init__(self) -> None:
        if isinstance(self.horizon, int):
            whole_number("horizon", self.horizon, why="how many steps to forecast")
        for one in self.coverages:
            if not 0 < one < 1:
                why = "the share of values inside a band; pass a number between 0 and 1, for example 0.95."
                raise ValueError(f"coverage={one}: {why}")
        object.__setattr__(self, "coverages", tuple(sorted(set(self.coverages))))
        if self.together not in ("independent", "joint", "panel"):
            raise ValueError(f"together={self.together!r} is unknown; pass independent, joint or panel.")
        for what, given in (("upper bound", self.upper is not None), ("inputs (known, past, country)", self.inputs)):
            if self.together == "joint" and given:
                raise ValueError(f"together='joint' takes no {what}; omit one of them.")


@dataclass
class Group:
    """Columns that share a forecaster and whose values have come, and were missing, at the same steps so far.

    Where the forecaster has no simple experts, `beside` is an ensemble that has, for the rivals of the back-test.
    """

    columns: tuple[int, ...]
    forecaster: ForecasterLike[Any]
    state: StateLike
    test: BackTest
    beside: EnsembleForecaster | None = None
    beside_state: EnsembleState | None = None

    def learn(self, values: np.ndarray) -> None:
        """Learn the next steps, (steps, columns), and test forecasts on the way."""
        begin, mask = 0, np.isfinite(values)
        while begin < len(values):
            end = begin + self.test.steps_until_bands(mask[begin:])
            self._learn_piece(values[begin:end], mask[begin:end])
            if self.test.bands_are_due():
                self._issue_bands()
            begin = end

    def _learn_piece(self, values: np.ndarray, mask: np.ndarray) -> None:
        if isinstance(self.forecaster, EnsembleForecaster):
            begin, started = 0, round(self.state.time)
            for state, rolled in self.forecaster.roll(cast("EnsembleState", self.state), values, mask):
                self.state, end = state, round(state.time) - started
                self.test.take_in(values[begin:end], rolled)
                begin = end
            return
        self.state = self.forecaster.learn(self.state, values, mask=mask)
        assert self.beside is not None
        assert self.beside_state is not None
        self.beside_state = self.beside.learn(self.beside_state, values, mask=mask)
        self.test.take_in(values)

    def _issue_bands(self) -> None:
        forecast = self.forecaster.forecast(self.state)
        if self.beside is not None:
            # No forecasts were read off on the way: those whose bands are judged stand for them.
            mean = forecast.mean(forecast.leads(self.test.horizon))
            rolled = Rolled(np.array([self.test.steps]), mean[:, None], self._experts()[:, None])
            self.test.take_in(np.empty((0, len(self.columns))), rolled)
        self.test.add_bands(forecast)

    def simple(self, channel: int, rival: str) -> np.ndarray:
        """What a rival of the back-test forecasts; of several of one name the mean."""
        places = [place for place, name in enumerate(self.test.names) if name == rival]
        return self._experts()[channel][:, places].mean(axis=1)

    def _experts(self) -> np.ndarray:
        """What each expert forecasts now."""
        maker, state = (self.forecaster, self.state) if self.beside is None else (self.beside, self.beside_state)
        return cast("EnsembleForecaster", maker).forecast(cast("EnsembleState", state)).issued.experts

    def split(self, values: np.ndarray) -> Iterator[Group]:
        """Groups whose values come, and are missing, at the same of the next steps."""
        known = np.isfinite(values)
        patterns: dict[bytes, list[int]] = {}
        for place in range(len(self.columns)):
            patterns.setdefault(np.packbits(known[:, place]).tobytes(), []).append(place)
        if len(patterns) == 1:
            yield self
            return
        state = cast("EnsembleState", self.state)
        for places in patterns.values():
            chosen = np.array(places)
            yield Group(
                tuple(self.columns[place] for place in places),
                self.forecaster,
                replace(state, mixture=state.mixture.channels(chosen)),
                self.test.columns(places),
            )


def groups_for(choices: Choices, horizon: int, opening: np.ndarray, grid: Grid) -> list[Group]:
    """One group for each way to learn; columns that learn by themselves are grouped by their seasons."""
    count, alone = opening.shape[1], choices.together == "independent"
    if choices.season is not None:
        given = (choices.season,) if isinstance(choices.season, int) else tuple(choices.season)
        found = {one for one in (whole_number("season", each) for each in given) if one > 1}
        seasons = [tuple(sorted(found))] * count
    else:
        usual = grid.usual_periods()
        known: dict[str, Any] = {} if usual is None else {"usual": usual}
        looked_at = [opening[:, c] for c in range(count)] if alone else [opening]
        seasons = [find_seasons(values, **known) for values in looked_at] * (1 if alone else count)
    alike: dict[tuple[int, ...], list[int]] = {}
    for column, one in enumerate(seasons):
        alike.setdefault(one, []).append(column)
    most = _AT_ONCE if alone else count
    return [
        _group(choices, horizon, found, tuple(columns[first : first + most]))
        for found, columns in alike.items()
        for first in range(0, len(columns), most)
    ]


def _group(choices: Choices, horizon: int, seasons: tuple[int, ...], columns: tuple[int, ...]) -> Group:
    common: dict[str, Any] = {"season": seasons or None, "lower": choices.lower}
    beside, beside_state = None, None
    # Joint columns belong to one map; all else is forecast by an ensemble.
    if choices.together == "joint":
        forecaster = forecaster_with_candidates(float(horizon), together="joint", **common)
        beside = forecaster_for(float(horizon), **common)
        beside_state = beside.initial_state(len(columns))
    else:
        inputs = {"known": choices.inputs.ahead, "past": len(choices.inputs.past)}
        forecaster = forecaster_for(float(horizon), together=choices.together, upper=choices.upper, **inputs, **common)
    names = (beside or cast("EnsembleForecaster", forecaster)).mixer.names
    test = BackTest.begin(horizon, names, seasons, len(columns), tuple(map(float, choices.coverages)))
    if not choices.has_bands:
        test.due = sys.maxsize
    return Group(columns, forecaster, forecaster.initial_state(len(columns)), test, beside, beside_state)
