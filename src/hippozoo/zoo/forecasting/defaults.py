"""A forecaster for people who do not want to choose: candidates that run side by side."""

from __future__ import annotations

from typing import Any

from hippozoo._arguments import positive_number
from hippozoo.systems import LegT
from hippozoo.zoo.forecasting.forecaster import Forecaster

__all__ = ["forecaster_for"]


def forecaster_for(
    horizon: float | int, dt: float | int = 1.0, season: float | int | None = None, **choices: Any
) -> Forecaster:
    """A forecaster over `horizon` that chooses its window, anchor and ridge as the stream goes on.

    Two histories run side by side, of about twice and eight times the horizon; with a `season`, one of two seasons
    too. The most careful candidate comes first and is used until there was enough data to compare.

    Parameters
    ----------
    horizon, dt
        As of `Forecaster`.
    season
        A period that the data may have, in the same unit.
    choices
        Any argument of `Forecaster`, in place of what is chosen here.

    Examples
    --------
    >>> forecaster = forecaster_for(24.0, season=168.0)
    >>> [system.timescale for system in forecaster.histories]
    [48.0, 192.0, 336.0]
    >>> len(forecaster.candidates)
    18
    """
    reach, step = (positive_number(name, value) for name, value in (("horizon", horizon), ("dt", dt)))
    windows = [max(16 * step, 2 * reach), max(64 * step, 8 * reach)]
    if season is not None:
        windows.append(2 * positive_number("season", season, why="a period, in your time unit"))
    settings: dict[str, Any] = {
        "history": tuple(LegT(_order(window / step), window) for window in dict.fromkeys(windows)),
        "anchor": ("last", "none"),
        "ridge": (1e-1, 1e-3, 1e-5),
    }
    return Forecaster(horizon=reach, dt=step, **(settings | choices))


def _order(samples: float) -> int:
    """A coefficient for every second sample, within reason."""
    return int(min(96, max(8, samples // 2)))
