"""What does learning to forecast cost? (Against river's SNARIMAX, and statsmodels' autoregression refitted)."""

from __future__ import annotations

from benchmarks.timing import peak_megabytes, row, seconds  # first: it sets one thread  # isort: skip

import warnings
from typing import Any

import numpy as np
from river import linear_model, optim, preprocessing, time_series
from statsmodels.tsa.ar_model import AutoReg

from hippozoo.systems import LegT
from hippozoo.tasks.gp_mixture import GaussianMixture
from hippozoo.zoo.forecasting import Forecaster, ForecasterState

__all__ = ["run"]

LENGTH = 1_000_000
LAGS = 64
HORIZON = 32
# The peers are timed on fewer samples and scaled up; an autoregression refitted on ever more data only gets slower.
SNARIMAX_SAMPLES = 1_000
AUTOREG_SAMPLES = 10_000
REFIT = 100


def learn(forecaster: Forecaster, signal: np.ndarray) -> ForecasterState:
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
    return rows
