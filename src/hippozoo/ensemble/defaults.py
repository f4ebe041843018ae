"""A forecaster for people who do not want to choose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hippozoo._internal.arguments import positive_number
from hippozoo.ensemble.forecaster import EnsembleForecaster
from hippozoo.forecasts.settings import as_season, usual_histories

__all__ = ["forecaster_for"]

# Arguments of the paper's forecaster, which has one map; why an ensemble does not take them.
_OF_ONE_MAP = ("rank", "delay", "intercept", "warmup", "future_metric", "future_order")


def forecaster_for(
    horizon: float | int,
    dt: float | int = 1.0,
    season: float | int | Sequence[float | int] | None = None,
    *,
    lower: float | int | None = None,
    upper: float | int | None = None,
    known: int = 0,
    past: int = 0,
    **choices: Any,
) -> EnsembleForecaster:
    """An `EnsembleForecaster` over `horizon` for people who do not want to choose.

    Simple forecasts (last value, mean, drift, damped trend, each season repeated) run side by side with maps of two
    histories, of about twice and eight times the horizon, and of the changes from season to season; each counts by how
    well it has done.

    Parameters
    ----------
    horizon, dt
        As of `EnsembleForecaster`.
    season
        A period that the data may have, in the same unit, or several of them (a day and a week).
    lower, upper
        Bounds that values cannot cross, such as 0 and 100 for a percentage.
    known, past
        How many inputs there are beside the signal: known over the horizon, and known up to now only.
    choices
        Any argument of `EnsembleForecaster`, in place of what is chosen here. ``rank``, ``delay``, ``intercept``,
        ``warmup``, ``future_metric`` and ``together="joint"`` belong to one map: see
        `hippozoo.zoo.forecasting.forecaster_with_candidates`. An ensemble weighs simple forecasts and maps at every
        lead by itself, so there is no single map whose rank could be limited or whose errors a metric could weigh; and
        a joint map of C channels has C times as many inputs, which a short table cannot tell apart. Joint maps are for
        columns that lead one another: docs/forecasting.md has errors of both.

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
    for name in (*_OF_ONE_MAP, *(("together",) if choices.get("together") == "joint" else ())):
        if name in choices:
            raise TypeError(
                f"{name}={choices[name]!r} belongs to one map, and an ensemble has many; leave it out, or take "
                f"hippozoo.zoo.forecasting.forecaster_with_candidates(horizon, {name}=…)."
            )
    reach, step = (positive_number(name, value) for name, value in (("horizon", horizon), ("dt", dt)))
    season = as_season(season)
    settings: dict[str, Any] = {
        "history": usual_histories(reach, step, 48),
        "anchor": ("last", "none") if season is None else ("last", "none", "season"),
        "season": season,
        "lower": lower,
        "upper": upper,
        "known": known,
        "past": past,
    }
    return EnsembleForecaster(horizon=reach, dt=step, **(settings | choices))
