"""The M4 competition: hourly and weekly series, how forecasts are scored, and what was published.

Protocol and figures: Makridakis, Spiliotis and Assimakopoulos (2020), "The M4 Competition: 100,000 time series and 61
forecasting methods". Files hold a series per line, its name first, oldest value next, without padding.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from jaxtyping import Float

from hippozoo._internal.arguments import shorten
from hippozoo.tasks.data_files import data_file

__all__ = ["FREQUENCIES", "PUBLISHED", "Frequency", "Series", "load_m4", "mase", "msis", "naive2", "smape"]

Frequency = Literal["hourly", "weekly"]


@dataclass(frozen=True)
class Protocol:
    """How a frequency is scored, and the seasons that a user of such data knows of.

    `scoring_season` is m of MASE and Naive2; `seasons` are a day and a week of hours, or a year of weeks.
    """

    horizon: int
    scoring_season: int
    seasons: tuple[int, ...]


FREQUENCIES: dict[str, Protocol] = {"hourly": Protocol(48, 24, (24, 168)), "weekly": Protocol(13, 1, (52,))}

#: On all series: sMAPE, MASE and OWA, and MSIS where it was published.
PUBLISHED: dict[str, dict[str, dict[str, float]]] = {
    "hourly": {
        "Naive2": {"smape": 18.383, "mase": 2.395, "owa": 1.0, "msis": 71.2},
        "seasonal naive": {"smape": 13.912, "mase": 1.193, "owa": 0.627},
        "Theta": {"smape": 18.138, "mase": 2.455, "owa": 1.006},
        "damped trend": {"smape": 19.265, "mase": 2.956, "owa": 1.141},
        "ARIMA": {"owa": 0.577, "msis": 7.5},
        "ETS": {"msis": 17.5},
        "Smyl": {"smape": 9.328, "mase": 0.893, "owa": 0.440, "msis": 7.9},
        "Doornik": {"smape": 8.913, "mase": 0.801, "owa": 0.410, "msis": 6.1},
    },
    "weekly": {
        "Naive2": {"smape": 9.161, "mase": 2.777, "owa": 1.0, "msis": 26.4},
        "Theta": {"smape": 9.093, "mase": 2.637, "owa": 0.971},
        "damped trend": {"smape": 8.866, "mase": 2.404, "owa": 0.917},
        "ARIMA": {"msis": 19.6},
        "ETS": {"msis": 20.4},
        "Smyl": {"smape": 7.817, "mase": 2.356, "owa": 0.851, "msis": 22.0},
        "Darin": {"smape": 6.582, "mase": 2.107, "owa": 0.739},
    },
}


@dataclass(frozen=True, eq=False)
class Series:
    """One series: what may be learnt from, and what came after it."""

    name: str
    train: Float[np.ndarray, " time"]
    test: Float[np.ndarray, " horizon"]


def load_m4(frequency: Frequency, data: str | Path | None = None) -> list[Series]:
    """All series of a frequency that are there."""
    if frequency not in FREQUENCIES:
        raise ValueError(f"frequency={shorten(frequency)} is unknown; pass one of {tuple(FREQUENCIES)}.")
    train, test = (_read(data_file(f"m4/{frequency}-{part}.csv", data)) for part in ("train", "test"))
    horizon = FREQUENCIES[frequency].horizon
    for name in train:
        if len(test.get(name, ())) != horizon:
            raise ValueError(
                f"series {name!r} of m4/{frequency}-test.csv has {len(test.get(name, ()))} values, expected {horizon}; "
                f"get both files from the same place."
            )
    return [Series(name, values, test[name]) for name, values in train.items()]


def _read(path: Path) -> dict[str, np.ndarray]:
    found: dict[str, np.ndarray] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()[1:], 2):
        name, *cells = line.split(",")
        try:
            values = np.array([float(cell.strip('"')) for cell in cells if cell.strip('"')])
        except ValueError as error:
            raise ValueError(f"{path.name}, line {number}: {error}; expected a name and numbers.") from None
        if not len(values) or not np.isfinite(values).all():
            raise ValueError(f"{path.name}, line {number}: {name!r} holds no values, or one that is not finite.")
        found[name.strip('"')] = values
    return found


def smape(truth: Float[np.ndarray, " leads"], forecast: Float[np.ndarray, " leads"]) -> float:
    """Symmetric mean absolute percentage error.

    Examples
    --------
    >>> smape(np.array([100.0]), np.array([300.0]))
    100.0
    """
    size = np.abs(truth) + np.abs(forecast)
    return float(200 * np.mean(np.abs(truth - forecast) / np.where(size > 0, size, 1.0)))


def scale_of(train: Float[np.ndarray, " time"], season: int) -> float:
    """The mean absolute change over a season: the unit of MASE and MSIS."""
    return float(np.mean(np.abs(train[season:] - train[:-season])))


def mase(
    truth: Float[np.ndarray, " leads"],
    forecast: Float[np.ndarray, " leads"],
    train: Float[np.ndarray, " time"],
    season: int,
) -> float:
    """Mean absolute error in units of the mean change over a season.

    Examples
    --------
    >>> mase(np.array([5.0]), np.array([3.0]), np.arange(4.0), season=1)
    2.0
    """
    return float(np.mean(np.abs(truth - forecast))) / scale_of(train, season)


def msis(
    truth: Float[np.ndarray, " leads"],
    lower: Float[np.ndarray, " leads"],
    upper: Float[np.ndarray, " leads"],
    train: Float[np.ndarray, " time"],
    season: int,
) -> float:
    """Mean scaled interval score of 95 % intervals: their width, and forty times what they miss by.

    Examples
    --------
    >>> msis(np.array([5.0]), np.array([1.0]), np.array([4.0]), np.arange(4.0), season=1)
    43.0
    """
    below, above = np.maximum(lower - truth, 0.0), np.maximum(truth - upper, 0.0)
    return float(np.mean(upper - lower + 40 * (below + above))) / scale_of(train, season)


def naive2(train: Float[np.ndarray, " time"], horizon: int, season: int) -> Float[np.ndarray, " horizon"]:
    """The last value after multiplicative seasonal adjustment, where a test finds a season.

    Examples
    --------
    >>> day = np.array([1.0, 2.0, 3.0, 2.0])
    >>> bool(np.allclose(naive2(np.tile(day, 10), 4, season=4), day))
    True
    """
    index = seasonal_index(train, season)
    time = np.arange(len(train) + horizon) % season
    return train[-1] / index[time[len(train) - 1]] * index[time[len(train) :]]


def seasonal_index(train: Float[np.ndarray, " time"], season: int) -> Float[np.ndarray, " season"]:
    """Factors of the classical decomposition; ones where the autocorrelation shows no season."""
    if season == 1 or len(train) < 3 * season:
        return np.ones(season)
    centred = train - train.mean()
    products = np.array([centred[lag:] @ centred[: len(train) - lag] for lag in range(season + 1)])
    correlation = products / products[0] if products[0] > 0 else products
    limit = 1.645 * np.sqrt((1 + 2 * np.sum(correlation[1:season] ** 2)) / len(train))
    if abs(correlation[season]) <= limit:
        return np.ones(season)
    kernel = np.ones(season + 1 - season % 2)
    if season % 2 == 0:
        kernel[[0, -1]] = 0.5
    trend = np.convolve(train, kernel / season, "valid")
    half = len(kernel) // 2
    ratio, phase = train[half : half + len(trend)] / trend, (np.arange(len(trend)) + half) % season
    index = np.array([ratio[phase == one].mean() for one in range(season)])
    return index / index.mean()
