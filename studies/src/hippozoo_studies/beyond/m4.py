"""M4, hourly and weekly: forecasts with the defaults, beside Naive2, seasonal naive, AR, Theta and ETS.

Each series is forecast once, from its training values, by `forecaster_for(horizon, season=…)`: one setting for all
series of a frequency, and the seasons that anybody with such data knows of (a day and a week of hours, a year of
weeks). Everything else about the mixture was settled on the last horizon of each *training* series.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtri

from hippozoo._internal.files import write_whole
from hippozoo.ensemble import forecaster_for
from hippozoo_studies import QUIET, Claim, Context, Finished, Result, drawing
from hippozoo_studies.data.m4 import (
    FREQUENCIES,
    PUBLISHED,
    Frequency,
    Protocol,
    load_m4,
    mase,
    msis,
    naive2,
    seasonal_index,
    smape,
)

PAPER = {"owa": {name: {model: row["owa"] for model, row in table.items() if "owa" in row}
                 for name, table in PUBLISHED.items()}}  # fmt: skip
SELECTS = ("frequencies", "methods")
MODEL = "method"
ASSEMBLES_PARTS = True
TARGETS = {
    "owa": {"hourly": 0.45, "weekly": 0.70},
    "msis": {"hourly": 7.5, "weekly": 17.0},
    "acd": {"hourly": 0.02, "weekly": 0.02},
}
_COVERAGE = 0.95

Ahead = tuple[np.ndarray, np.ndarray | None, np.ndarray | None]


@dataclass(frozen=True)
class Config:
    """Everything that may change the outcome."""

    frequencies: tuple[Frequency, ...] = ("hourly", "weekly")
    methods: tuple[str, ...] = ("hippozoo", "naive2", "seasonal naive", "ar", "theta", "ets")
    series: int | None = None  # the first so many of each frequency; all by default
    held_back: bool = False  # forecast the last horizon of the training values, and leave the test values alone


QUICK = Config(frequencies=("weekly",), methods=("hippozoo", "naive2"), series=4, held_back=True)


def units(config: Config) -> list[dict[str, Any]]:
    """One unit per frequency and method."""
    return [{"frequency": name, "method": method} for name in config.frequencies for method in config.methods]


def run_unit(config: Config, unit: dict[str, Any], context: Context = QUIET) -> dict[str, Any]:
    """Forecast every series once, and score it."""
    protocol = FREQUENCIES[unit["frequency"]]
    horizon, season = protocol.horizon, protocol.scoring_season
    forecast = METHODS[unit["method"]](protocol)
    every = load_m4(unit["frequency"], context.data)[: config.series]
    rows, seconds = [], []
    for number, series in enumerate(every):
        context.progress(number / len(every), series.name)
        train, test = series.train, series.test
        if config.held_back:
            train, test = train[:-horizon], train[-horizon:]
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            mean, lower, upper = forecast(train)
        seconds.append(time.perf_counter() - began)
        row: dict[str, Any] = {"smape": smape(test, mean), "mase": mase(test, mean, train, season)}
        if lower is not None and upper is not None:
            row["msis"] = msis(test, lower, upper, train, season)
            row["covered"] = float(np.mean((test >= lower) & (test <= upper)))
        rows.append(row)
    return {
        "series": len(rows),
        "seconds_per_series": float(np.mean(seconds)),
        "by_series": {
            key: np.array([row[key] for row in rows]).round(4) for key in rows[0] if all(key in row for row in rows)
        },
    }


# -- methods ----------------------------------------------------------------------------------------------------------


def _hippozoo(protocol: Protocol) -> Callable[[np.ndarray], Ahead]:
    forecaster = forecaster_for(protocol.horizon, season=protocol.seasons)

    def forecast(train: np.ndarray) -> Ahead:
        found = forecaster.forecast(forecaster.learn(forecaster.initial_state(), train))
        return found.samples(), *found.band(found.leads(), _COVERAGE)

    return forecast


def _around(mean: np.ndarray, deviation: np.ndarray) -> Ahead:
    reach = float(ndtri((1 + _COVERAGE) / 2)) * deviation
    return mean, mean - reach, mean + reach


def _naive2(protocol: Protocol) -> Callable[[np.ndarray], Ahead]:
    def forecast(train: np.ndarray) -> Ahead:
        lead = np.arange(1, protocol.horizon + 1)
        return _around(
            naive2(train, protocol.horizon, protocol.scoring_season), float(np.std(np.diff(train))) * np.sqrt(lead)
        )

    return forecast


def _seasonal_naive(protocol: Protocol) -> Callable[[np.ndarray], Ahead]:
    def forecast(train: np.ndarray) -> Ahead:
        m, lead = protocol.scoring_season, np.arange(protocol.horizon)
        repeats = lead // m + 1
        mean = train[len(train) + lead - m * repeats]
        return _around(mean, float(np.std(train[m:] - train[:-m])) * np.sqrt(repeats))

    return forecast


def _autoregression(protocol: Protocol) -> Callable[[np.ndarray], Ahead]:
    from statsmodels.tsa.ar_model import AutoReg

    def forecast(train: np.ndarray) -> Ahead:
        # Lags of two days, or of a quarter; with a constant, by least squares.
        lags = min(2 * protocol.scoring_season if protocol.scoring_season > 1 else 13, len(train) // 4)
        fitted = AutoReg(train, lags).fit()
        found = fitted.get_prediction(len(train), len(train) + protocol.horizon - 1)
        interval = np.asarray(found.conf_int(alpha=1 - _COVERAGE))
        return np.asarray(found.predicted_mean), interval[:, 0], interval[:, 1]

    return forecast


def _theta(protocol: Protocol) -> Callable[[np.ndarray], Ahead]:
    from statsmodels.tsa.forecasting.theta import ThetaModel

    def forecast(train: np.ndarray) -> Ahead:
        # Seasons are taken out as Naive2 does it.
        index, m = seasonal_index(train, protocol.scoring_season), protocol.scoring_season
        phase = np.arange(len(train) + protocol.horizon) % m
        fitted = ThetaModel(train / index[phase[: len(train)]], period=2, deseasonalize=False).fit()
        ahead = index[phase[len(train) :]]
        band = np.asarray(fitted.prediction_intervals(protocol.horizon, alpha=1 - _COVERAGE))
        mean = np.asarray(fitted.forecast(protocol.horizon)) * ahead
        return mean, band[:, 0] * ahead, band[:, 1] * ahead

    return forecast


def _exponential_smoothing(protocol: Protocol) -> Callable[[np.ndarray], Ahead]:
    from statsmodels.tsa.holtwinters import ExponentialSmoothing

    def forecast(train: np.ndarray) -> Ahead:
        # Additive and damped, with the season that scoring uses.
        m = protocol.scoring_season
        seasonal = {"seasonal": "add", "seasonal_periods": m} if m > 1 and len(train) > 2 * m else {}
        fitted = ExponentialSmoothing(
            train,
            trend="add",
            damped_trend=True,
            initialization_method="estimated" if m == 1 else "heuristic",
            **seasonal,
        ).fit()
        return np.asarray(fitted.forecast(protocol.horizon)), None, None

    return forecast


METHODS: dict[str, Callable[[Protocol], Callable[[np.ndarray], Ahead]]] = {
    "hippozoo": _hippozoo,
    "naive2": _naive2,
    "seasonal naive": _seasonal_naive,
    "ar": _autoregression,
    "theta": _theta,
    "ets": _exponential_smoothing,
}


# -- results ----------------------------------------------------------------------------------------------------------


def assemble(config: Config, finished: list[Finished]) -> Result:
    """Scores by frequency and method, the targets, and each series' MASE for the figure."""
    metrics: dict[str, Any] = {
        key: {name: {} for name in config.frequencies}
        for key in ("owa", "smape", "mase", "msis", "acd", "seconds_per_series", "series")
    }
    arrays: dict[str, Any] = {name: {} for name in config.frequencies}
    for one in finished:
        name, method, found = one.unit["frequency"], one.unit["method"], one.result
        scores = {key: np.asarray(values) for key, values in found["by_series"].items()}
        for key in ("smape", "mase", "msis"):
            if key in scores:
                metrics[key][name][method] = float(scores[key].mean())
        if "covered" in scores:
            metrics["acd"][name][method] = float(abs(scores["covered"].mean() - _COVERAGE))
        metrics["seconds_per_series"][name][method] = found["seconds_per_series"]
        metrics["series"][name] = found["series"]
        arrays[name][method] = scores["mase"]
    for name in config.frequencies:
        base = {key: metrics[key][name].get("naive2") for key in ("smape", "mase")}
        if None in base.values():
            continue
        for method in metrics["smape"][name]:
            ratios = [metrics[key][name][method] / base[key] for key in ("smape", "mase")]
            metrics["owa"][name][method] = float(np.mean(ratios))
    return Result(metrics, claims(metrics), arrays)


def claims(metrics: dict[str, Any]) -> list[Claim]:
    """What was aimed at."""
    found = []
    for key, table in TARGETS.items():
        for name, target in table.items():
            ours = metrics[key].get(name, {}).get("hippozoo")
            if ours is not None:
                text = f"{name}: {key.upper()} at most {target}"
                found.append(Claim(text, round(ours, 3) <= target, f"{ours:.3f} on {metrics['series'][name]} series"))
    return found


def report(result: Result, folder: Path) -> None:
    """The table as text, and each series' error beside that of Naive2."""
    from hippozoo.plotting import ink

    write_whole(folder / "table.md", table(result).encode())
    names = [name for name, found in result.arrays.items() if {"hippozoo", "naive2"} <= set(found)]
    if not names:
        return
    with drawing(folder, "series", (4.4 * len(names), 4.2)) as figure:
        for ax, name in zip(np.atleast_1d(figure.subplots(1, len(names))), names, strict=True):
            ours, base = (np.maximum(result.arrays[name][one], 1e-3) for one in ("hippozoo", "naive2"))
            ax.loglog(base, ours, "o", color="C0", markersize=3, alpha=0.6)
            ends = [min(base.min(), ours.min()), max(base.max(), ours.max())]
            ax.plot(ends, ends, color=ink(), linewidth=1)
            better = np.mean(ours < base)
            ax.set(
                title=f"{name}: better in {better:.0%} of {len(ours)} series",
                xlabel="MASE of Naive2",
                ylabel="MASE of hippozoo",
            )


def table(result: Result) -> str:
    """Ours and the classics in the same run, and what was published for all series, as Markdown."""
    columns = ("smape", "mase", "owa", "msis", "acd", "seconds_per_series")
    heads = ("sMAPE", "MASE", "OWA", "MSIS", "ACD", "seconds per series")
    lines = []
    for name in result.metrics["smape"]:
        lines += [f"## {name}, {result.metrics['series'].get(name, 0)} series", ""]
        lines += ["| | " + " | ".join(heads) + " |", "|" + "---|" * (len(heads) + 1)]
        for method in result.metrics["smape"][name]:
            cells = [result.metrics[key][name].get(method) for key in columns]
            lines.append(f"| {method} | " + " | ".join("" if one is None else f"{one:.3f}" for one in cells) + " |")
        for model, row in PUBLISHED[name].items():
            cells = [row.get(key) for key in columns]
            shown = " | ".join("" if one is None else f"{one:.3f}" for one in cells)
            lines.append(f"| {model}, published, all series | {shown} |")
        lines.append("")
    return "\n".join(lines)
