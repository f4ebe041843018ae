"""A forecaster for people who do not want to choose: a mixture of candidates that run side by side."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np

from hippozoo._arguments import positive_number
from hippozoo.systems import LegT
from hippozoo.zoo.forecasting.forecaster import Forecaster

__all__ = ["forecaster_for"]


# Arguments that only a forecaster without a mixture knows, and what they are by default.
_PLAIN: dict[str, Any] = {
    "rank": None,
    "delay": "exact",
    "intercept": True,
    "warmup": 0.0,
    "future_metric": None,
}


def forecaster_for(
    horizon: float | int,
    dt: float | int = 1.0,
    season: float | int | Sequence[float | int] | None = None,
    *,
    lower: float | int | None = None,
    **choices: Any,
) -> Forecaster:
    """A forecaster over `horizon` for people who do not want to choose: a guarded, calibrated mixture.

    Simple forecasts (last value, mean, drift, damped trend, each season repeated) run side by side with maps of two
    histories, of about twice and eight times the horizon, and of the changes from season to season; each counts by how
    well it has done.

    Parameters
    ----------
    horizon, dt
        As of `Forecaster`.
    season
        A period that the data may have, in the same unit, or several of them (a day and a week).
    lower
        A bound that values cannot fall below.
    choices
        Any argument of `Forecaster`, in place of what is chosen here. ``rank``, ``delay``, ``intercept``, ``warmup``,
        ``future_metric`` and ``together="joint"`` belong to one map and not to a mixture: with one of these the best
        candidate is chosen, without guard, calibration and seasons, and `Forecast.by` says so. The reasons: a mixture
        weighs simple forecasts and maps at every lead by itself, so there is no single map whose rank could be limited
        or whose errors a metric could weigh; and a joint map of C channels has C times as many inputs, which a short
        table cannot tell apart. Joint maps are for columns that lead one another: docs/forecasting.md has errors of
        both.

    Examples
    --------
    >>> forecaster = forecaster_for(24, season=(24, 168))
    >>> [system.timescale for system in forecaster.histories], forecaster.seasons
    ([48.0, 192.0], (24, 168))
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> load = np.sin(np.arange(1000) * 2 * np.pi / 24) + 0.1 * rng.normal(size=1000)
    >>> forecast = forecaster.forecast(forecaster.learn(forecaster.initial_state(), load))
    >>> bool(np.abs(forecast.samples() - np.sin(np.arange(1000, 1024) * 2 * np.pi / 24)).max() < 0.3)
    True
    """
    reach, step = (positive_number(name, value) for name, value in (("horizon", horizon), ("dt", dt)))
    windows = [max(16 * step, 2 * reach), max(64 * step, 8 * reach)]
    if isinstance(season, (Sequence, np.ndarray)) and not isinstance(season, str):
        season = tuple(season) or None
    plain = choices.get("together") == "joint" or any(
        not _same(choices.get(name, default), default) for name, default in _PLAIN.items()
    )
    mixed = choices.get("mixture", not plain)
    if not mixed and season is not None:
        given = season if isinstance(season, tuple) else (season,)
        windows += [2 * positive_number("season", one, why="a period, in your time unit") for one in given]
    settings: dict[str, Any] = {
        "history": tuple(LegT(_order(window / step, 48 if mixed else 96), window) for window in dict.fromkeys(windows)),
        "anchor": ("last", "none"),
        "ridge": (1e-1, 1e-3, 1e-5),
        "lower": lower,
    }
    if mixed:
        seasonal = () if season is None else ("season",)
        settings |= {
            "anchor": ("last", "none", *seasonal),
            "ridge": (1e-1, 1e-2),
            "mixture": True,
            "season": season,
            "guard": True,
            "calibrated": True,
        }
    return Forecaster(horizon=reach, dt=step, **(settings | choices))


def _order(samples: float, most: int) -> int:
    """A coefficient for every second sample, within reason."""
    return int(min(most, max(8, samples // 2)))


def _same(given: Any, default: Any) -> bool:
    return given is default or (isinstance(given, Real) and given == default) or given == (None,)
