"""Other series, most of them used in no study here: errors beside the last value, a season repeated, Theta and ETS.

``python -m benchmarks.other_series`` writes results/other-series/metrics.json and table.md. Every method forecasts from
the same origins, the last ones of each series, and knows nothing of what came after them. The verdict is what
`hippozoo forecast` says of the series as a table; it knows the last value, the mean, the drift, a damped trend and
seasons, but neither Theta nor ETS.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from hippozoo.forecast_command import forecast_table, verdicts
from hippozoo.tasks.data_files import data_file
from hippozoo.tasks.long_term import load_long_term
from hippozoo.zoo.forecasting import forecaster_for

__all__ = ["SERIES", "Case", "errors"]

ORIGINS = 16
# Theta and ETS are fitted anew at every origin: to so many of the last values.
FITTED = 1500
# The longest season that ETS is given.
ETS_SEASON = 60


@dataclass(frozen=True)
class Case:
    """A series, how far it is forecast, and the seasons that anybody with such data knows of."""

    make: Callable[[], np.ndarray]
    horizon: int
    seasons: tuple[int, ...] = ()


def _packaged(name: str, column: str) -> Callable[[], np.ndarray]:
    def make() -> np.ndarray:
        import statsmodels.api as sm

        found = getattr(sm.datasets, name).load_pandas().data[column]
        return np.asarray(found.interpolate(), float)

    return make


def _el_nino() -> np.ndarray:
    import statsmodels.api as sm

    return np.asarray(sm.datasets.elnino.load_pandas().data.iloc[:, 1:], float).ravel()


def _taxi() -> np.ndarray:
    path = data_file("nab/realKnownCause/nyc_taxi.csv", None)
    return np.loadtxt(path, delimiter=",", skiprows=1, usecols=1)


def _pegged() -> np.ndarray:
    """A rate that is pegged, moves a little, and is pegged anew: like the one of the issue, which is not at hand."""
    rng = np.random.default_rng(0)
    level = np.repeat([0.186, 0.1905, 0.197, 0.211, 0.2085], [240, 90, 120, 200, 150])
    return level + 2e-5 * np.cumsum(rng.normal(size=len(level))) / 10 + 1e-5 * rng.normal(size=len(level))


def _quiet_step() -> np.ndarray:
    rng = np.random.default_rng(1)
    return np.where(np.arange(600) < 450, 1.0, 0.9) + 1e-4 * rng.normal(size=600)


SERIES: dict[str, Case] = {
    "taxi rides, half-hours (day and week)": Case(_taxi, 48, (48, 336)),
    "ETTh1, oil temperature, hours": Case(lambda: load_long_term("ETTh1").values[:, -1], 96, (24,)),
    "ETTh1, load HUFL, hours": Case(lambda: load_long_term("ETTh1").values[:, 0], 24, (24, 168)),
    "CO2 in the air, weeks": Case(_packaged("co2", "co2"), 26, (52,)),
    "US product, quarters": Case(_packaged("macrodata", "realgdp"), 8),
    "US prices, quarters": Case(_packaged("macrodata", "cpi"), 8),
    "US investment, quarters": Case(_packaged("macrodata", "realinv"), 8),
    "US unemployment, quarters": Case(_packaged("macrodata", "unemp"), 8),
    "sea temperature (El Niño), months": Case(_el_nino, 12, (12,)),
    "sunspots, years": Case(_packaged("sunspots", "SUNACTIVITY"), 11, (11,)),
    "Nile, years": Case(_packaged("nile", "volume"), 5),
    "pegged exchange rate (made)": Case(_pegged, 30),
    "quiet signal with a step (made)": Case(_quiet_step, 24),
}


def _theta(past: np.ndarray, horizon: int, season: int) -> np.ndarray:
    from statsmodels.tsa.forecasting.theta import ThetaModel

    period = season if 1 < season <= len(past) // 3 else None
    multiplied = bool(past.min() > 0)
    fitted = ThetaModel(
        past,
        period=period or 2,
        deseasonalize=period is not None,
        method="multiplicative" if multiplied else "additive",
    ).fit()
    return np.asarray(fitted.forecast(horizon))


def _ets(past: np.ndarray, horizon: int, season: int) -> np.ndarray:
    from statsmodels.tsa.holtwinters import ExponentialSmoothing

    seasonal = 1 < season <= min(ETS_SEASON, len(past) // 3)
    fitted = ExponentialSmoothing(
        past,
        trend="add",
        damped_trend=True,
        seasonal="add" if seasonal else None,
        seasonal_periods=season if seasonal else None,
    ).fit()
    return np.asarray(fitted.forecast(horizon))


def errors(case: Case, values: np.ndarray) -> tuple[dict[str, float], float]:
    """Mean absolute error of every method over all origins, and the share inside our 95 % bands."""
    H, first = case.horizon, case.seasons[0] if case.seasons else 1
    # Origins a horizon apart where there is room, over the last third of the series else; at all phases of a day.
    begin = max(len(values) - ORIGINS * (H + 1) - H, 2 * len(values) // 3)
    origins = np.unique(np.linspace(begin, len(values) - H, ORIGINS).round().astype(int))
    forecaster = forecaster_for(H, season=case.seasons or None)
    state, at = forecaster.initial_state(), 0
    found: dict[str, list[float]] = {}
    inside: list[float] = []
    for origin in origins:
        state, at = forecaster.learn(state, values[at:origin]), origin
        truth, past = values[origin : origin + H], values[:origin]
        forecast = forecaster.forecast(state)
        lower, upper = forecast.band(forecast.leads(), 0.95)
        inside.append(float(np.mean((lower <= truth) & (truth <= upper))))
        made = {"hippozoo": forecast.samples(), "last value": np.full(H, past[-1])}
        for season in case.seasons:
            made[f"season {season}"] = past[origin - season + np.arange(H) % season]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made["Theta"] = _theta(past[-FITTED:], H, first)
            made["ETS"] = _ets(past[-FITTED:], H, first)
        for name, ahead in made.items():
            found.setdefault(name, []).append(float(np.mean(np.abs(ahead - truth))))
    return {name: float(np.mean(one)) for name, one in found.items()}, float(np.mean(inside))


def verdict(case: Case, values: np.ndarray) -> str:
    """What the command says of the series as a table."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "series.csv"
        path.write_text("y\n" + "\n".join(map(repr, values.tolist())))
        run = forecast_table(path, horizon=case.horizon, season=case.seasons or 1)
        return verdicts(run)[0].sentence


def run(folder: Path) -> None:
    """All of it, as numbers and as a table; written after every series."""
    found: dict[str, Any] = {}
    for name, case in SERIES.items():
        values = case.make()
        scores, inside = errors(case, values)
        said = verdict(case, values[-6000:])
        found[name] = {
            "horizon": case.horizon,
            "values": len(values),
            "mean_absolute_error": scores,
            "inside_95": inside,
            "verdict": said,
        }
        print(name, {key: f"{one:.4g}" for key, one in scores.items()}, f"{inside:.3f}", said, flush=True)
        folder.mkdir(parents=True, exist_ok=True)
        content = {"origins": ORIGINS, "theta_and_ets_fitted_to_the_last": FITTED, "series": found}
        (folder / "metrics.json").write_text(json.dumps(content, indent=1) + "\n")
        (folder / "table.md").write_text(table(found))


def table(found: dict[str, Any]) -> str:
    """Errors in units of the last value's, as Markdown."""
    heads = "series | steps ahead | hippozoo | best season | Theta | ETS | inside 95 % | the command says"
    rows = [f"| {heads} |", "|" + "---|" * 8]
    for name, one in found.items():
        scores = one["mean_absolute_error"]
        unit = scores["last value"]
        seasons = [error for method, error in scores.items() if method.startswith("season")]
        season = f"{min(seasons) / unit:.2f}" if seasons else ""
        cells = [f"{scores[method] / unit:.2f}" for method in ("hippozoo", "Theta", "ETS")]
        rows.append(
            f"| {name} | {one['horizon']} | {cells[0]} | {season} | {cells[1]} | {cells[2]} | {one['inside_95']:.0%} | "
            f"{one['verdict']} |"
        )
    return "\n".join([*rows, "", "Mean absolute errors, relative to the last value's.", ""])


if __name__ == "__main__":
    run(Path("results/other-series"))
