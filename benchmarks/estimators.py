"""The estimators beside those of the libraries that they serve, on data that these libraries bring along.

``python -m benchmarks.estimators`` writes results/estimators/metrics.json and table.md, in about two minutes. Nothing
was tuned for hippozoo: its models have their defaults, and the period of the data where they take one. river's
HoltWinters has the best of 18 settings by these very errors, and SNARIMAX the best of four.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["run"]

Rows = dict[str, dict[str, float]]


def regression_in_river(shown: Iterable[tuple[dict[str, float], float]], models: dict[str, Any]) -> Rows:
    """Each model predicts every row, then learns it: mean absolute error and microseconds of processor time a row."""
    rows = list(shown)
    found: Rows = {}
    for name, model in models.items():
        began, error = time.process_time(), 0.0
        for x, y in rows:
            error += abs(y - model.predict_one(x))
            model.learn_one(x, y)
        found[name] = {"error": error / len(rows), "us_per_row": 1e6 * (time.process_time() - began) / len(rows)}
    return found


def scaler_before_volterra() -> dict[str, Rows]:
    """With and without river's StandardScaler: where the level tells, and where the units differ."""
    from river import base, datasets, linear_model, preprocessing

    from hippozoo.estimators import RiverVolterraRegressor

    class LastTarget(base.Regressor):
        """The target of the row before."""

        last = 0.0

        def learn_one(self, x: dict[str, float], y: float) -> None:
            """Remember it."""
            self.last = y

        def predict_one(self, x: dict[str, float]) -> float:
            """Say it again."""
            return self.last

    def models(**settings: Any) -> dict[str, Any]:
        return {
            "RiverVolterraRegressor": RiverVolterraRegressor(**settings),
            "StandardScaler, then RiverVolterraRegressor": preprocessing.StandardScaler()
            | RiverVolterraRegressor(**settings),
            "StandardScaler, then river's LinearRegression": preprocessing.StandardScaler()
            | linear_model.LinearRegression(),
            "the last target again": LastTarget(),
        }

    rng = np.random.default_rng(0)
    u = rng.normal(size=6001)
    other = 1000 * rng.normal(size=6001)
    product = [({"u": u[t], "other": other[t]}, u[t] * u[t - 1]) for t in range(1, 6001)]
    return {
        "TrumpApproval (1,001 rows; mean absolute error in points)": regression_in_river(
            datasets.TrumpApproval(), models()
        ),
        "u(t) u(t-1) beside a feature 1,000 times as large (6,000 rows; mean absolute error)": regression_in_river(
            product, models(order=4, timescale=4.0)
        ),
    }


def forecasts_in_river() -> Rows:
    """24 steps ahead on WaterFlow, every 6 hours after two weeks: mean absolute error and time a reading."""
    from river import base, datasets, linear_model, optim, preprocessing, time_series

    from hippozoo.estimators import RiverHippoForecaster

    class Yesterday(base.Base):
        """The last 24 readings once more."""

        def __init__(self) -> None:
            self.day: list[float] = []

        def learn_one(self, y: float) -> None:
            """Keep one day."""
            self.day = [*self.day, y][-24:]

        def forecast(self, horizon: int) -> list[float]:
            """Repeat it."""
            return self.day[:horizon]

    values = [float(y) for _, y in datasets.WaterFlow()]
    models: dict[str, Any] = {
        "RiverHippoForecaster(horizon=24)": RiverHippoForecaster(horizon=24),
        "RiverHippoForecaster(horizon=24, season=24)": RiverHippoForecaster(horizon=24, season=24),
        "river's HoltWinters(alpha=.05, beta=.01, gamma=.5, seasonality=24)": time_series.HoltWinters(
            alpha=0.05, beta=0.01, gamma=0.5, seasonality=24
        ),
        "river's SNARIMAX(p=1, m=24, sp=2), scaled": time_series.SNARIMAX(
            p=1,
            d=0,
            q=0,
            m=24,
            sp=2,
            regressor=preprocessing.StandardScaler()
            | linear_model.LinearRegression(optimizer=optim.SGD(0.01), intercept_lr=0.3),
        ),
        "yesterday once more": Yesterday(),
    }
    found: Rows = {}
    for name, model in models.items():
        began, errors = time.process_time(), []
        for t, value in enumerate(values):
            if t >= 336 and t % 6 == 0 and t + 24 <= len(values):
                ahead = np.array(model.forecast(horizon=24))
                errors.append(np.mean(np.abs(ahead - values[t : t + 24])))
            model.learn_one(value)
        spent = 1e6 * (time.process_time() - began) / len(values)
        found[name] = {"error": float(np.mean(errors)), "us_per_row": spent}
    return found


def forecasts_in_sktime() -> Rows:
    """A year ahead of the airline passengers, from every month after six years: mean absolute error and seconds."""
    from sktime.datasets import load_airline
    from sktime.forecasting.exp_smoothing import ExponentialSmoothing
    from sktime.forecasting.naive import NaiveForecaster
    from sktime.forecasting.theta import ThetaForecaster

    from hippozoo.estimators import HippoForecaster

    y = load_airline()
    models: dict[str, tuple[Callable[[], Any], bool]] = {
        "HippoForecaster(season=12), updated": (lambda: HippoForecaster(season=12), True),
        "ExponentialSmoothing, multiplicative, refitted": (
            lambda: ExponentialSmoothing(trend="add", seasonal="multiplicative", sp=12),
            False,
        ),
        "ThetaForecaster(sp=12), refitted": (lambda: ThetaForecaster(sp=12), False),
        "NaiveForecaster(sp=12), refitted": (lambda: NaiveForecaster(sp=12), False),
    }
    found: Rows = {}
    steps = list(range(1, 13))
    for name, (make, updates) in models.items():
        began, errors = time.process_time(), []
        model = make().fit(y.iloc[:72], fh=steps)
        for origin in range(72, len(y) - 11):
            if origin > 72:
                if updates:
                    model.update(y.iloc[origin - 1 : origin])
                else:
                    model = make().fit(y.iloc[:origin], fh=steps)
            errors.append(np.mean(np.abs(model.predict().to_numpy() - y.iloc[origin : origin + 12].to_numpy())))
        found[name] = {"error": float(np.mean(errors)), "seconds": time.process_time() - began}
    return found


def regression_in_sklearn() -> Rows:
    """The Wray-Green system, 4,000 rows to learn from, 4,000 to test on: share of the variance left, and seconds."""
    from sklearn.linear_model import Ridge
    from sklearn.neural_network import MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures, StandardScaler

    from hippozoo.estimators import SklearnVolterraRegressor
    from hippozoo.tasks.wray_green import wray_green

    data = wray_green(8000, np.random.default_rng(0))
    signal, target = data.signal, data.target
    lagged = np.stack([np.concatenate([np.zeros(lag), signal[: len(signal) - lag]]) for lag in range(50)], axis=1)
    volterra = SklearnVolterraRegressor(order=12, timescale=50.0, degree=2)
    models: dict[str, tuple[Any, np.ndarray]] = {
        "SklearnVolterraRegressor(order=12, timescale=50)": (volterra, signal[:, None]),
        "Ridge on products of 50 lags (1,326 features)": (
            make_pipeline(PolynomialFeatures(2), StandardScaler(), Ridge(1e-3)),
            lagged,
        ),
        "MLPRegressor on 50 lags": (MLPRegressor(hidden_layer_sizes=(64,), max_iter=300, random_state=0), lagged),
        "Ridge on 50 lags": (Ridge(1e-3), lagged),
    }
    found: Rows = {}
    for name, (model, inputs) in models.items():
        began = time.process_time()
        model.fit(inputs[:4000], target[:4000])
        left = float(np.mean((model.predict(inputs)[4000:] - target[4000:]) ** 2) / target[4000:].var())
        found[name] = {"error": left, "seconds": time.process_time() - began}
    return found


def features_in_sklearn() -> Rows:
    """Digits as series of 64 pixels, half to learn from: errors of a logistic regression on few features."""
    from sklearn.datasets import load_digits
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, StandardScaler

    from hippozoo.estimators import MemoryFeatures

    images, labels = load_digits(return_X_y=True)
    half = len(labels) // 2

    def means(series: np.ndarray) -> np.ndarray:
        return series.reshape(len(series), 32, 2).mean(axis=2)

    found: Rows = {}
    for name, features in {
        "MemoryFeatures(order=32)": MemoryFeatures(order=32),
        "32 means of two pixels": FunctionTransformer(means),
        "all 64 pixels": FunctionTransformer(),
    }.items():
        began = time.process_time()
        model = make_pipeline(features, StandardScaler(), LogisticRegression(max_iter=2000))
        model.fit(images[:half], labels[:half])
        wrong = float(np.mean(model.predict(images[half:]) != labels[half:]))
        found[name] = {"error": wrong, "seconds": time.process_time() - began}
    return found


def run(folder: Path) -> None:
    """All tables, as numbers and as text."""
    tables: dict[str, Rows] = {
        **{f"river, regression: {name}": rows for name, rows in scaler_before_volterra().items()},
        "river, forecast: WaterFlow, 24 hours ahead (mean absolute error)": forecasts_in_river(),
        "sktime, forecast: airline passengers, 1 to 12 months ahead (mean absolute error)": forecasts_in_sktime(),
        "scikit-learn, regression: Wray-Green (share of the variance left)": regression_in_sklearn(),
        "scikit-learn, features: digits pixel by pixel (share of wrong labels)": features_in_sklearn(),
    }
    lines = []
    for title, rows in tables.items():
        cost, unit = ("us_per_row", "µs a row") if "us_per_row" in next(iter(rows.values())) else ("seconds", "s")
        lines += [f"**{title}**", "", f"| model | error | processor time ({unit}) |", "|---|---|---|"]
        lines += [f"| {name} | {row['error']:.3g} | {row[cost]:.3g} |" for name, row in rows.items()]
        lines.append("")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "metrics.json").write_text(json.dumps({"seed": 0, "tables": tables}, indent=1) + "\n", encoding="utf-8")
    (folder / "table.md").write_text("\n".join(lines), encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the other libraries
        run(Path("results/estimators"))
