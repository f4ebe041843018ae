"""Streaming forecasts for sktime: point, interval and variance; `update` learns and never refits."""

from __future__ import annotations

from typing import Any, no_type_check

import numpy as np
import pandas as pd
from scipy.linalg import block_diag
from sktime.forecasting.base import BaseForecaster

from hippozoo._internal.arguments import positive_number, shorten, whole_number
from hippozoo.checkpoint import CheckpointError
from hippozoo.ensemble import forecaster_for
from hippozoo.estimators._inputs import Waiting, forecasts_until, quantile_of, take_in, up_to_now
from hippozoo.estimators._rows import (
    check_rows,
    described_rows,
    few_rows,
    restored_rows,
    spacing_of,
    with_missing_rows,
)  # fmt: skip
from hippozoo.zoo.forecasting import Forecast, ForecasterLike, StateLike, forecaster_with_candidates

__all__ = ["HippoForecaster"]


class HippoForecaster(BaseForecaster):
    """Forecasts by Forecasting HiPPO: one pass, closed form, with predictive intervals.

    ``fit(y[:n])`` then ``update(y[n:])`` equals ``fit(y)`` to rounding, for the same horizon: learning goes on where
    it stopped. ``update(..., update_params=False)`` moves the present without learning; it never goes back, and rows
    that are handed over twice are learnt once.

    Missing values hold the last one seen. So do missing rows: an integer index counts steps, and a PeriodIndex or a
    DatetimeIndex with a ``freq`` (of its own, or one that sktime infers from the rows given to `fit`) says which rows
    there could have been. The rows of a DatetimeIndex without one are taken to be evenly spaced.

    `X` holds columns whose future is known: holidays, a weather forecast, a price. Pass it to `fit`, `update` and, for
    the steps to come, to `predict`. A row that X does not have holds the one before it. With a rank or joint columns X
    is not used, as the tag ``capability:exogenous`` says.

    Parameters
    ----------
    horizon : int or None
        How many steps ahead are learnt; `fit` then needs no ``fh``, and `predict` takes any: further ahead the
        forecaster goes on from its own forecasts. By default the furthest of the ``fh`` given to `fit`, which stays.
    season : float or None
        A period that the data may have, in steps.
    windows : float, tuple of float or None
        Lengths of the histories to choose from, in steps; by default about 2 and 8 horizons, and 2 seasons.
    order : int
        Coefficients kept of each history, at most.
    rank : int or None
        Through how many numbers the past may speak.
    ridge : float or tuple of float
        Ridges to choose from.
    anchor : str or tuple of str
        ``"last"``, ``"none"`` or both to choose from: learn differences from the last value, or values.
    together : str
        ``"independent"``, ``"shared"`` or ``"joint"``: how several columns learn.
    forgetting : float or None
        Steps in which what was learnt fades to 1/e.

    Attributes
    ----------
    forecaster_ : hippozoo.ensemble.EnsembleForecaster, or with a rank or ``together="joint"``
        hippozoo.zoo.forecasting.Forecaster
    state_ : hippozoo.ensemble.EnsembleState, or hippozoo.zoo.forecasting.ForecasterState

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from hippozoo.estimators import HippoForecaster
    >>> y = pd.Series(np.sin(np.arange(600) * 2 * np.pi / 24))
    >>> forecaster = HippoForecaster(season=24).fit(y[:500], fh=[1, 12, 24])
    >>> forecaster = forecaster.update(y[500:576])
    >>> error = forecaster.predict() - y[[576, 587, 599]]
    >>> bool(error.abs().max() < 0.1)
    True

    A price whose future is known moves what is sold one step later.

    >>> rng = np.random.default_rng(0)
    >>> X = pd.DataFrame({"price": rng.normal(size=406)})
    >>> sold = pd.Series(20.0 - 3.0 * X["price"].shift(1, fill_value=0.0))
    >>> forecaster = HippoForecaster().fit(sold[:400], X[:400], fh=[1, 2, 3, 4, 5, 6])
    >>> bool((forecaster.predict(X=X[400:]) - sold[400:]).abs().max() < 1.5)
    True
    """

    _tags = {  # noqa: RUF012 (sktime's own convention)
        "authors": ["The hippozoo developers"],
        "python_dependencies": ["hippozoo"],
        "y_inner_mtype": "pd.DataFrame",
        "X_inner_mtype": "pd.DataFrame",
        "capability:multivariate": True,
        "capability:exogenous": True,
        "capability:insample": False,
        "capability:pred_int": True,
        "capability:pred_int:insample": False,
        "capability:missing_values": True,
        "capability:update": True,
        "requires-fh-in-fit": True,
    }

    # Nothing is ever refitted, so no data need be kept.
    _config = {"remember_data": False}  # noqa: RUF012

    @no_type_check  # sktime reads the signature, which type checks during tests would hide
    def __init__(
        self,
        horizon=None,
        season=None,
        windows=None,
        order=64,
        rank=None,
        ridge=(1e-1, 1e-3, 1e-5),
        anchor=("last", "none"),
        together="independent",
        forgetting=None,
    ):
        self.horizon = horizon
        self.season = season
        self.windows = windows
        self.order = order
        self.rank = rank
        self.ridge = ridge
        self.anchor = anchor
        self.together = together
        self.forgetting = forgetting
        super().__init__()
        # Where sktime keeps data if a user switches that on again (config remember_data).
        self._y = None
        self._X = None
        self._seen_until = None
        self._spacing = None
        self._inputs: tuple[Any, ...] | None = None
        self._waiting = Waiting.none(1)
        if horizon is not None:
            self.set_tags(**{"requires-fh-in-fit": False})
        if rank is not None or together == "joint":
            self.set_tags(**{"capability:exogenous": False})  # one map, without inputs; sktime then passes no X

    def _fit(self, y: pd.DataFrame, X: Any = None, fh: Any = None) -> HippoForecaster:
        if self.horizon is None:
            steps = max(int(max(fh.to_relative(self.cutoff))), 1)
        else:
            steps = whole_number("horizon", self.horizon, why="how many steps ahead can be forecast")
        spacing = spacing_of(y.index, self.cutoff, fh)
        rows = with_missing_rows(y, y.index[0], spacing)
        self._inputs = None if X is None or not X.shape[1] else tuple(X.columns)
        self.forecaster_ = self._build(steps)
        self._waiting = Waiting.none(y.shape[1])
        self.state_, self._waiting = self._take_in(self.forecaster_.initial_state(y.shape[1]), rows, X)
        self._seen_until, self._spacing = y.index[-1], spacing
        return self

    def _update_y_X(self, y: Any, X: Any = None, enforce_index_type: Any = None) -> None:
        # Here sktime moves the present on, before `_update`: rows that will be refused are refused before that.
        if isinstance(y, pd.DataFrame) and not isinstance(y.index, pd.MultiIndex):
            check_rows(y)
            if self._seen_until is not None:
                self._rows_of_inputs(X, self._fresh(y).index)
        super()._update_y_X(y, X, enforce_index_type)

    def _update(self, y: pd.DataFrame, X: Any = None, update_params: bool = True) -> HippoForecaster:
        fresh = self._fresh(y)
        if len(fresh):
            self.state_, self._waiting = self._take_in(self.state_, fresh, X, learn=update_params)
            self._seen_until = y.index[-1]
        return self

    def _predict(self, fh: Any, X: Any = None) -> pd.DataFrame:
        samples = np.concatenate([one.samples() for one in self._forecasts(fh, X)], axis=1)
        rows = self._steps(fh) - 1
        return pd.DataFrame(samples[:, rows].T, index=self._index(fh), columns=self._get_columns(method="predict"))

    def _predict_quantiles(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, fh: Any, X: Any, alpha: Any
    ) -> pd.DataFrame:
        # Given here, because sktime would otherwise ask for a further package to hold a normal distribution.
        rows, forecasts = self._steps(fh) - 1, self._forecasts(fh, X)
        found = np.stack([quantile_of(forecasts, a)[:, rows] for a in alpha], axis=1)  # (columns, alpha, steps)
        columns = pd.MultiIndex.from_product([self._get_varnames(), alpha])
        return pd.DataFrame(found.reshape(-1, len(rows)).T, index=self._index(fh), columns=columns)

    def _predict_var(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, fh: Any = None, X: Any = None, cov: bool = False
    ) -> pd.DataFrame:
        index, columns = self._index(fh), self._get_columns(method="predict_var")
        blocks = []
        for forecast in self._forecasts(fh, X):
            block = forecast.sample_covariance()
            # What a forecast from forecasts does not know adds to what the one before it did not.
            blocks.append(block + blocks[-1][:, -1:, -1:] if blocks else block)
        rows = self._steps(fh) - 1
        whole = np.stack([np.asarray(block_diag(*one)) for one in zip(*blocks, strict=True)])
        chosen = whole[:, rows][:, :, rows]
        if cov:
            tables = [pd.DataFrame(one, index=index, columns=index) for one in chosen]
            # Columns of several variables are (variable, step), by sktime's rules.
            return tables[0] if len(tables) == 1 else pd.concat(tables, axis=1, keys=self._get_varnames())
        return pd.DataFrame(np.diagonal(chosen, axis1=1, axis2=2).T.copy(), index=index, columns=columns)

    # -- saving -----------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """What was learnt and which rows were seen, for `hippozoo.checkpoint`; empty before `fit`."""
        if not self.is_fitted:
            return {}
        if self._is_vectorized:
            raise CheckpointError(
                "a forecaster that was fitted to a panel or a hierarchy holds one for each series; save those of "
                "its forecasters_ instead."
            )
        fh, columns = self._fh, self._get_columns(method="predict")
        assert columns is not None  # it is fitted
        return {
            "forecaster": self.forecaster_,
            "state": self.state_,
            "rows": described_rows(self.cutoff, self._seen_until, self._spacing),
            "kind": self._y_mtype_last_seen,
            "columns": [name if isinstance(name, int) else str(name) for name in columns],
            "name": self._converter_store_y.get("name"),
            "fh": None if fh is None else [int(step) for step in fh.to_relative(self.cutoff).to_numpy()],
            "relative": fh is None or bool(fh.is_relative),
            "inputs": None if self._inputs is None else list(map(str, self._inputs)),
            "waiting": tuple(self._waiting),
        }

    def load_state_dict(self, known: dict[str, Any]) -> None:
        """Go on where another forecaster of the same settings stood."""
        if not known:
            return
        cutoff, seen, spacing = restored_rows(known["rows"])
        # sktime keeps books of what it was fitted to: a few rows of that kind fill them in.
        rows = few_rows(cutoff, spacing)
        values = np.zeros((len(rows), len(known["columns"])))
        frame = pd.DataFrame(values, index=rows, columns=known["columns"])
        kinds = {"np.ndarray": values, "pd.DataFrame": frame, "pd.Series": frame.iloc[:, 0].rename(known["name"])}
        if known["kind"] not in kinds:
            raise CheckpointError(f"rows of kind {shorten(known['kind'])} are not known; one of {sorted(kinds)} is.")
        names = known["inputs"]
        given = None if names is None else pd.DataFrame(np.zeros((len(rows), len(names))), index=rows, columns=names)
        self.fit(kinds[known["kind"]], given, fh=known["fh"])
        self.forecaster_, self.state_ = known["forecaster"], known["state"]
        self._seen_until, self._spacing, self._waiting = seen, spacing, Waiting(*known["waiting"])
        self._set_cutoff(cutoff)
        if self._fh is not None and not known["relative"]:
            self._fh = self._fh.to_absolute(cutoff)

    # -- between sktime and the forecaster --------------------------------------------------------------------------

    def _build(self, steps: int) -> ForecasterLike[Any]:
        choices: dict[str, Any] = {
            "ridge": _tuple(self.ridge),
            "anchor": _tuple(self.anchor),
            "together": self.together,
            "forgetting": self.forgetting,
        }
        # A rank and joint columns belong to one map; all else is forecast by an ensemble.
        make = forecaster_for
        if self.rank is not None or self.together == "joint":
            make, choices = forecaster_with_candidates, choices | {"rank": self.rank}
        elif self._inputs is not None:
            choices |= {"known": len(self._inputs)}
        plain = make(steps, season=self.season, **choices)
        most = whole_number("order", self.order, why="coefficients kept of each history, at most")
        if self.windows is None:
            windows = [system.timescale for system in plain.histories]
        else:
            given = list(self.windows) if np.ndim(self.windows) else [self.windows]
            windows = [positive_number("windows", one, why="lengths of histories, in steps") for one in given]
        kind = type(plain.histories[0])
        histories = tuple(kind(int(min(most, max(2, window))), window) for window in windows)
        return make(steps, season=self.season, history=histories, **choices)

    def _fresh(self, y: pd.DataFrame) -> pd.DataFrame:
        """The rows after the last one seen, missing ones included; sliding windows hand the others over again."""
        seen = self._seen_until
        try:
            backwards, fresh = bool(y.index[-1] < seen), y.loc[y.index > seen]
        except (TypeError, ValueError) as error:  # numbers and dates, days and months, with and without a time zone
            raise type(error)(
                f"the rows to update with have the index {shorten(y.index[-1])}, those seen so far end at "
                f"{shorten(seen)}, and the two cannot be compared ({error}); pass an index like the one given to fit."
            ) from None
        if backwards:
            raise ValueError(
                f"the rows to update with end at {y.index[-1]}, but rows until {seen} were seen already, and a stream "
                "does not run backwards; pass rows that go on from there, or call fit to begin anew."
            )
        return with_missing_rows(fresh, seen, self._spacing) if len(fresh) else fresh

    def _take_in(
        self, state: StateLike, y: pd.DataFrame, X: Any = None, learn: bool = True
    ) -> tuple[StateLike, Waiting]:
        values = y.to_numpy(dtype=float)
        mask = ~np.isnan(values)
        known = self._rows_of_inputs(X, y.index)
        if known is not None:
            return take_in(self.forecaster_, state, self._waiting, values, known, learn=learn)
        gaps = None if mask.all() else mask
        take = self.forecaster_.learn if learn else self.forecaster_.follow
        return take(state, values, mask=gaps), self._waiting

    def _rows_of_inputs(self, X: Any, index: pd.Index, needed: pd.Index | None = None) -> np.ndarray | None:
        """The rows of X at these steps, NaN where it has none; None of a forecaster without X."""
        if self._inputs is None:
            return None
        listed = ", ".join(map(repr, self._inputs))
        if X is None:
            raise ValueError(f"the forecaster was fitted with X ({listed}); pass the rows of X here too.")
        if tuple(map(str, X.columns)) != tuple(map(str, self._inputs)):
            raise ValueError(f"X has the columns {', '.join(map(repr, X.columns))}; fit had {listed}.")
        missing = [] if needed is None else needed[~needed.isin(X.index)]
        if len(missing):
            raise ValueError(f"X has no row at {missing[0]}, and the forecast needs it; pass X up to {index[-1]}.")
        try:
            return X.reindex(index).to_numpy(dtype=float)
        except (TypeError, ValueError):
            raise TypeError("X holds something that is no number; make a column of 0 and 1 for each word.") from None

    def _forecasts(self, fh: Any, X: Any = None) -> list[Forecast]:
        """From the state after all rows that were seen; inputs are given as far as forecasts go, the last ones held."""
        state, furthest = self.state_, int(self._steps(fh).max())
        if self._inputs is not None:
            every = type(fh)(list(range(1, furthest + 1)), is_relative=True).to_absolute_index(self.cutoff)
            known = self._rows_of_inputs(X, every, self._index(fh))
            assert known is not None
            state = up_to_now(self.forecaster_, state, self._waiting, known)
        return forecasts_until(self.forecaster_, state, furthest)

    def _steps(self, fh: Any) -> np.ndarray:
        return np.asarray(fh.to_relative(self.cutoff).to_numpy(), dtype=int)

    def _index(self, fh: Any) -> pd.Index:
        return fh.to_absolute_index(self.cutoff)

    @classmethod
    def get_test_params(cls, parameter_set="default") -> Any:
        """Small forecasters for the checks of sktime."""
        return [
            {"windows": (8,), "order": 4, "ridge": 0.1, "anchor": "last"},
            {"horizon": 3, "windows": (6, 12), "order": 4, "ridge": (0.1, 1e-3), "rank": 2, "together": "shared"},
        ]


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, (list, tuple)) else value
