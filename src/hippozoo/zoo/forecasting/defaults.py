"""A forecaster of several candidates for people who do not want to choose: the best one on unseen data forecasts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hippozoo._internal.arguments import positive_number
from hippozoo.forecasts.settings import as_season, several, usual_histories
from hippozoo.zoo.forecasting.forecaster import Forecaster

__all__ = ["forecaster_with_candidates"]


def forecaster_with_candidates(
    horizon: float | int,
    dt: float | int = 1.0,
    season: float | int | Sequence[float | int] | None = None,
    **choices: Any,
) -> Forecaster:
    """A `Forecaster` over `horizon` that chooses among histories, anchors and ridges by validation.

    Histories are about two and eight horizons long, and two seasons of each period. For forecasts that are at least as
    good as simple ones, also of short and of troubled streams, see `hippozoo.ensemble.forecaster_for`; this one has a
    rank, a metric, joint channels, and one map that `explain` opens up.

    Parameters
    ----------
    horizon, dt
        As of `Forecaster`.
    season
        A period that the data may have, in the same unit, or several of them (a day and a week).
    choices
        Any argument of `Forecaster`, in place of what is chosen here.

    Examples
    --------
    >>> forecaster = forecaster_with_candidates(24, season=24, rank=4)
    >>> [system.timescale for system in forecaster.histories], len(forecaster.candidates)
    ([48.0, 192.0], 12)
    """
    reach, step = (positive_number(name, value) for name, value in (("horizon", horizon), ("dt", dt)))
    given = as_season(season)
    periods = () if given is None else several(given)
    seasons = [2 * positive_number("season", one, why="a period, in your time unit") for one in periods]
    settings: dict[str, Any] = {
        "history": usual_histories(reach, step, 96, *seasons),
        "anchor": ("last", "none"),
        "ridge": (1e-1, 1e-3, 1e-5),
    }
    return Forecaster(horizon=reach, dt=step, **(settings | choices))
