"""What learning to forecast costs, in arrays and one reading at a time, against river and statsmodels."""

from __future__ import annotations

from benchmarks.timing import peak_megabytes, row, seconds  # first: it sets one thread  # isort: skip

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from river import linear_model, optim, preprocessing, time_series
from statsmodels.tsa.ar_model import AutoReg

from hippozoo.ensemble import EnsembleForecaster, forecaster_for
from hippozoo.systems import LegT
from hippozoo.tasks.gp_mixture import GaussianMixture
from hippozoo.zoo.forecasting import Forecaster, ForecasterLike

__all__ = ["run"]

LENGTH = 1_000_000
LAGS = 64
HORIZON = 32
# The peers are timed on fewer samples and scaled up; an autoregression refitted on ever more data only gets slower.
SNARIMAX_SAMPLES = 1_000
AUTOREG_SAMPLES = 10_000
REFIT = 100
# One reading at a time: so many, of a wave with noise, one step ahead after each.
READINGS = 10_000


def learn(forecaster: ForecasterLike[Any], signal: np.ndarray) -> Any:
    """All samples, by blocks."""
    return forecaster.learn(forecaster.initial_state(), signal)


def snarimax(signal: np.ndarray) -> time_series.SNARIMAX:
    """One update per sample, from as many lags as we keep coefficients."""
    regressor = preprocessing.StandardScaler() | linear_model.LinearRegression(optimizer=optim.SGD(0.005))
    model = time_series.SNARIMAX(p=LAGS, d=0, q=0, regressor=regressor)
    for sample in signal:
        model.learn_one(float(sample))
    return model


def autoreg(signal: np.ndarray) -> Any:
    """An autoregression of 64 lags, fitted anew to all data after every 100 samples."""
    fitted = None
    for end in range(10 * LAGS, len(signal) + 1, REFIT):
        fitted = AutoReg(signal[:end], LAGS).fit()
    return fitted


def one_by_one(forecaster: ForecasterLike[Any], values: list[float]) -> np.ndarray:
    """Seconds of each reading: learn it, and forecast one step."""
    state, took = forecaster.initial_state(), np.empty(len(values))
    for number, value in enumerate(values):
        began = time.perf_counter()
        state = forecaster.learn_one(state, value)
        forecaster.forecast(state).mean(0.5)
        took[number] = time.perf_counter() - began
    return took


def river_one_by_one(model: Any, values: list[float]) -> float:
    """Mean seconds of a reading: learn it, and forecast one step."""
    for value in values[:100]:
        model.learn_one(value)
    began = time.perf_counter()
    for value in values:
        model.learn_one(value)
        model.forecast(horizon=1)
    return (time.perf_counter() - began) / len(values)


def readings() -> list[dict[str, Any]]:
    """What one reading costs, block work included: the defaults, with a season, and one candidate."""
    rng = np.random.default_rng(0)
    values = (np.sin(np.arange(READINGS) / 4) + 0.1 * rng.normal(size=READINGS)).tolist()
    one = EnsembleForecaster(LegT(24, 48.0), 24.0, ridge=0.1, anchor="last", simple=False)
    ours: dict[str, Callable[[], EnsembleForecaster]] = {
        "defaults": lambda: forecaster_for(24),
        "defaults and a season": lambda: forecaster_for(24, season=24),
        "one candidate": lambda: one,
    }
    holt = time_series.HoltWinters(alpha=0.3, beta=0.1, seasonality=24, gamma=0.3)
    rivals = {
        "river HoltWinters": river_one_by_one(holt, values),
        "river SNARIMAX(p=24)": river_one_by_one(time_series.SNARIMAX(p=24, d=0, q=0), values[:1000]),
    }
    rows = []
    for name, build in ours.items():
        forecaster = build()
        one_by_one(forecaster, values[:600])  # compiles
        took = one_by_one(forecaster, values)
        mean, slowest = float(took.mean()), float(np.percentile(took, 99))
        title = f"one reading, {name}: {mean * 1e6:.0f} µs, 99th percentile {slowest * 1e6:.0f} µs"
        for rival, seconds_each in rivals.items():
            rows.append(row(title, mean, seconds_each, against=rival, samples=1))
        whole = seconds(lambda forecaster=forecaster: learn(forecaster, np.array(values)), 2)
        rows.append(row(f"the same in one array, {name}", whole / READINGS, mean, against="one by one", samples=1))
    return rows


def run() -> list[dict[str, Any]]:
    """Learning per sample; the forecasts are checked against the Gaussian-process optimum first."""
    process = GaussianMixture()
    signal = process.sample(LENGTH, np.random.default_rng(0))
    test = process.sample(20_000, np.random.default_rng(1))
    forecaster = Forecaster(LegT(LAGS, 32.0), float(HORIZON), rank=4, ridge=1e-6, future_order=LAGS, intercept=False)
    ahead = forecaster.replay(learn(forecaster, signal[:100_000]), test, np.array([0.5]))[600:-1, 0]
    optimum = float(process.weights_of(np.array([1.0]))[1][0])
    assert np.mean((ahead - test[601:]) ** 2) < 1.15 * optimum

    ours = seconds(lambda: learn(forecaster, signal), 2)
    peak = peak_megabytes(lambda: learn(forecaster, signal[:200_000]))
    per_river = seconds(lambda: snarimax(signal[:SNARIMAX_SAMPLES]), 1) * LENGTH / SNARIMAX_SAMPLES
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        per_statsmodels = seconds(lambda: autoreg(signal[:AUTOREG_SAMPLES]), 1) * LENGTH / AUTOREG_SAMPLES
    name = f"learn to forecast {HORIZON} steps, order {LAGS}"
    rows = [
        row(name, ours, per_river, against="river SNARIMAX(p=64), one step", target=20, samples=LENGTH, peak=peak),
        row(name, ours, per_statsmodels, against="AutoReg(64) refitted every 100", target=20, samples=LENGTH),
        # Ten seconds for a million samples on one core.
        row(f"{name}, 1e6 samples: {ours:.1f} s", ours, 10.0, against="10 s", target=1, samples=LENGTH),
    ]
    several = Forecaster(
        (LegT(32, 32.0), LegT(64, 128.0)), float(HORIZON), anchor=("last", "none"), ridge=(0.1, 1e-3, 1e-5)
    )
    candidates = seconds(lambda: learn(several, signal[:200_000]), 2)
    rows.append(row("12 candidates side by side", candidates, samples=200_000))
    mixed = forecaster_for(HORIZON)
    learn(mixed, signal[:1000])
    mixture = seconds(lambda: learn(mixed, signal[:50_000]), 2) * 4
    rows.append(row("the default mixture", mixture, candidates, against="12 candidates, one chosen", samples=200_000))
    return rows + readings()
