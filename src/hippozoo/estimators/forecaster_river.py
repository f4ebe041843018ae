"""Streaming forecasts for river: one sample in, any number of steps ahead out."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np
from river.time_series.base import Forecaster as RiverForecaster

from hippozoo._internal.arguments import shorten, whole_number
from hippozoo.ensemble import EnsembleForecast, EnsembleForecaster, EnsembleState, forecaster_for
from hippozoo.estimators._inputs import Waiting, forecasts_until, quantile_of, take_in, up_to_now
from hippozoo.tables.numbers import LARGEST

__all__ = ["RiverHippoForecaster"]


class RiverHippoForecaster(RiverForecaster):
    """Forecasts by Forecasting HiPPO: closed form, without a learning rate, without a refit.

    Features `x` are columns whose future is known, such as a holiday or a price: numbers, with the same names from the
    first value on; one that is missing holds its last value. `forecast` then takes those to come as `xs`. A missing
    target (None or NaN) lets time pass.

    Parameters
    ----------
    horizon
        How many steps ahead are learnt; further ahead it goes on from its own forecasts.
    season
        A period that the data may have, in steps.
    forgetting
        Steps in which what was learnt fades to 1/e, for data that drift.

    Examples
    --------
    >>> import math
    >>> from hippozoo.estimators import RiverHippoForecaster
    >>> model = RiverHippoForecaster(horizon=12)
    >>> for t in range(500):
    ...     model.learn_one(math.sin(t / 4))
    >>> max(abs(y - math.sin((500 + k) / 4)) for k, y in enumerate(model.forecast(horizon=12))) < 0.1
    True
    >>> low, high = model.forecast_band(horizon=12)[11]
    >>> low < math.sin(511 / 4) < high
    True

    A price whose future is known:

    >>> price = np.random.default_rng(0).normal(size=406)
    >>> model = RiverHippoForecaster(horizon=6)
    >>> for t in range(400):
    ...     model.learn_one(3.0 * price[t], {"price": price[t]})
    >>> ahead = model.forecast(horizon=6, xs=[{"price": one} for one in price[400:]])
    >>> bool(np.abs(ahead - 3.0 * price[400:]).max() < 1.5)
    True
    """

    def __init__(
        self, horizon: int = 24, season: float | int | None = None, forgetting: float | int | None = None
    ) -> None:
        steps = whole_number("horizon", horizon, why="how many steps ahead are learnt")
        self.horizon = horizon
        self.season = season
        self.forgetting = forgetting
        self._forecaster: EnsembleForecaster = forecaster_for(steps, season=season, forgetting=forgetting)
        self._state: EnsembleState = self._forecaster.initial_state()
        self._names: tuple[str, ...] = ()
        self._waiting = Waiting.none(1)
        self._begun = False

    def learn_one(self, y: float | None, x: dict | None = None) -> None:
        """Take in one value, and the features that hold with it."""
        try:
            value = math.nan if y is None else float(y)
        except (TypeError, ValueError, OverflowError) as error:
            raise type(error)(
                f"y={shorten(y)} is not one number; pass a finite number, or None if it is missing."
            ) from None
        if abs(value) > LARGEST:
            raise ValueError(
                f"y={y} is infinite or too large; pass a number below {LARGEST:g}, or None if it is missing."
            )
        names = self._names if self._begun else tuple(map(str, x or ()))
        row = _features(x, names)
        if not self._begun and names:
            self._forecaster = forecaster_for(
                int(self.horizon), season=self.season, forgetting=self.forgetting, known=len(names)
            )
            self._state = self._forecaster.initial_state()
        self._names, self._begun = names, True
        if not names:
            self._state = self._forecaster.learn_one(self._state, None if math.isnan(value) else value)
            return
        self._state, self._waiting = take_in(
            self._forecaster, self._state, self._waiting, np.array([[value]]), row[None]
        )

    def forecast(self, horizon: int, xs: list[dict] | None = None) -> list:
        """The next `horizon` values; `xs` holds the features of each step, where there are any."""
        forecasts, wanted = self._ahead(horizon, xs)
        return np.concatenate([one.samples() for one in forecasts])[:wanted].tolist()

    def forecast_band(
        self, horizon: int, coverage: float = 0.8, xs: list[dict] | None = None
    ) -> list[tuple[float, float]]:
        """Lower and upper bounds of the next `horizon` values."""
        if not isinstance(coverage, numbers.Real) or not 0 < coverage < 1:
            raise ValueError(f"coverage={shorten(coverage)}; pass a number between 0 and 1, for example 0.8.")
        forecasts, wanted = self._ahead(horizon, xs)
        ends = [quantile_of(forecasts, (1 + side * float(coverage)) / 2)[:wanted].tolist() for side in (-1, 1)]
        return list(zip(*ends, strict=True))

    def _present(self, wanted: int, xs: list[dict] | None) -> EnsembleState:
        """The state after all values, with the features of the steps to come; the last ones hold after that."""
        if not self._names:
            return self._state
        if xs is None or len(xs) < wanted:
            raise ValueError(
                f"xs={shorten(xs)}: values came with the features {', '.join(map(repr, self._names))}; pass those of "
                f"{wanted} steps to come, one dict for each."
            )
        rows = np.stack([_features(x, self._names) for x in xs[:wanted]])
        return up_to_now(self._forecaster, self._state, self._waiting, rows)

    def _ahead(self, horizon: int, xs: list[dict] | None) -> tuple[list[EnsembleForecast], int]:
        """Forecasts one after the other, and how many steps are wanted of them."""
        wanted = whole_number("horizon", horizon, why="how many steps ahead")
        return forecasts_until(self._forecaster, self._present(wanted, xs), wanted), wanted

    def state_dict(self) -> dict[str, Any]:
        """What was learnt, for `hippozoo.checkpoint`."""
        return {"state": self._state, "names": self._names, "waiting": tuple(self._waiting), "begun": self._begun}

    def load_state_dict(self, known: dict[str, Any]) -> None:
        """Go on where another forecaster of the same settings stood."""
        if not isinstance(known["state"], EnsembleState):
            raise TypeError(f"state={shorten(known['state'])} is no state of a forecaster; pass a state_dict().")
        self._state, self._names, self._begun = known["state"], tuple(known["names"]), bool(known["begun"])
        self._waiting = Waiting(*known["waiting"])
        self._forecaster = forecaster_for(
            int(self.horizon), season=self.season, forgetting=self.forgetting, known=len(self._names)
        )

    @property
    def state(self) -> EnsembleState:
        """What was learnt so far."""
        return self._state

    @property
    def forecaster(self) -> EnsembleForecaster:
        """The forecaster behind it."""
        return self._forecaster

    @classmethod
    def _unit_test_params(cls) -> Any:
        yield {"horizon": 4}


def _features(x: dict | None, names: tuple[str, ...]) -> np.ndarray:
    """The features as a row, NaN where one is missing; refused where one is no number, or not known by its name."""
    given = {str(name): value for name, value in (x or {}).items()}
    strange = [name for name in given if name not in names]
    if strange:
        raise ValueError(f"x has {strange[0]!r}, which the first value had not; pass the same features from it on.")
    row = np.full(len(names), np.nan)
    for place, name in enumerate(names):
        try:
            row[place] = math.nan if given.get(name) is None else float(given[name])
        except (TypeError, ValueError):
            raise TypeError(
                f"x[{name!r}]={shorten(given[name])} is not a number; make a feature of 0 and 1 for each word, for "
                f"example by river.preprocessing.OneHotEncoder."
            ) from None
    return row
