"""Volterra HiPPO for scikit-learn: rows are time steps, columns are inputs."""

from __future__ import annotations

from typing import Any, no_type_check

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from hippozoo._internal.arguments import whole_number
from hippozoo.estimators._settings import Fitted, learner_named, memory_named, name_of
from hippozoo.zoo.volterra import RidgeRLS, VolterraModel, VolterraState

__all__ = ["SklearnVolterraRegressor"]


class SklearnVolterraRegressor(Fitted, RegressorMixin, BaseEstimator):
    """Regression on a polynomial of the past of all inputs; row t is predicted from the rows up to t.

    Parameters
    ----------
    order
        Coefficients kept of the past of each input.
    timescale
        How far back, in the unit of `dt`.
    system
        Which past: ``"legt"`` (a window), ``"legs"`` or ``"lagt"`` (fading), ``"fout"`` (a window, by harmonics).
    degree
        Highest degree of products.
    rank
        None for all products; else the number of products of linear functionals in each degree from 2 on (nlms or
        sgd).
    learner
        ``"rls"`` (ridge regression, exact; costs the square of the number of products), ``"nlms"`` or ``"sgd"``.
    rate
        Learning rate of nlms and sgd; None for their default.
    ridge
        Ridge of rls.
    passes
        How often `fit` goes through the rows; more than one helps nlms and sgd only.
    dt
        Time between rows.
    random_state
        Seed of the low-rank readout's start.

    Examples
    --------
    >>> from hippozoo.estimators import SklearnVolterraRegressor
    >>> u = np.random.default_rng(0).normal(size=(800, 1))
    >>> y = u[:, 0] * np.roll(u[:, 0], 1)
    >>> model = SklearnVolterraRegressor(order=4, timescale=4.0).fit(u[:600], y[:600])
    >>> bool(model.score(u[600:], y[600:]) > 0.9)
    True
    """

    n_features_in_: int
    _fitted = ("model_", "state_")

    # By scikit-learn's rules a constructor takes anything, and fit complains.
    @no_type_check
    def __init__(
        self,
        order: int = 4,
        timescale: float = 4.0,
        system: str = "legt",
        degree: int = 2,
        rank: int | None = None,
        learner: str = "rls",
        rate: float | None = None,
        ridge: float = 1e-3,
        passes: int = 1,
        dt: float = 1.0,
        random_state: int | None = 0,
    ) -> None:
        self.order = order
        self.timescale = timescale
        self.system = system
        self.degree = degree
        self.rank = rank
        self.learner = learner
        self.rate = rate
        self.ridge = ridge
        self.passes = passes
        self.dt = dt
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> SklearnVolterraRegressor:
        """Learn from a record, from its beginning; earlier learning is forgotten."""
        passes = whole_number("passes", self.passes, why="how often fit goes through the rows")
        X, y = validate_data(self, X, y, y_numeric=True, dtype=np.float64)
        return self._learnt(X, y, None, passes)

    def partial_fit(self, X: Any, y: Any) -> SklearnVolterraRegressor:
        """Learn from the rows that follow those seen before; of the settings only `rate` may change in between."""
        begun = hasattr(self, "state_")
        X, y = validate_data(self, X, y, y_numeric=True, dtype=np.float64, reset=not begun)
        return self._learnt(X, y, self.state_ if begun else None, 1)

    def predict(self, X: Any) -> np.ndarray:
        """The targets of a record of its own, which begins with an empty memory."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        empty = self.state_._replace(memory=self.model_.memory.initial_state(self.n_features_in_))
        return self.model_.predict(empty, X)[0]

    def predict_next(self, X: Any) -> np.ndarray:
        """The targets of rows that follow those learnt from; the memory goes on from there."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return self.model_.predict(self.state_, X)[0]

    def kernel(self, k: int, length: int | None = None) -> np.ndarray:
        """The kernel of degree k at sample lags, (inputs, length) * k."""
        check_is_fitted(self)
        whole = self.model_.kernel(self.state_, k, length)
        return whole if self.n_features_in_ > 1 else whole.reshape([n for side in whole.shape for n in (1, side)])

    def _learnt(
        self, X: np.ndarray, y: np.ndarray, state: VolterraState | None, passes: int
    ) -> SklearnVolterraRegressor:
        memory = memory_named(self.system, self.order, self.timescale, self.dt)
        learner = learner_named(self.learner, self.rate, self.ridge)
        model = VolterraModel(memory, self.degree, self.rank, learner, channels=X.shape[1])
        if state is None:
            state = model.initial_state(np.random.default_rng(self.random_state))
        else:
            _check_unchanged(self.model_, model)
        for number in range(passes):
            if number:
                state = state._replace(memory=memory.initial_state(X.shape[1]))
            _, state = model.learn(state, X, y.astype(np.float64))
        self.model_ = model
        self.state_ = state
        return self


def _check_unchanged(old: VolterraModel, new: VolterraModel) -> None:
    """What was learnt has a meaning under the settings that it was learnt with, and under no others."""
    was, now = _settings(old), _settings(new)
    changed = [
        f"{name} was {was[name]!r} and is now {now[name]!r}" for name in was if was[name] != now.get(name, was[name])
    ]
    if changed:
        raise ValueError(
            f"{', '.join(changed)}, and what was learnt before cannot be carried over; set it back to go on, or call "
            "fit to begin anew."
        )


def _settings(model: VolterraModel) -> dict[str, Any]:
    system, learner = model.memory.system, model.learner
    settings = {
        "order": system.order,
        "timescale": system.timescale,
        "system": name_of(system),
        "dt": model.memory.dt,
        "degree": model.degree,
        "rank": model.rank,
        "learner": name_of(learner),
    }
    # A learning rate may fall as learning goes on; a ridge is in the covariance from the first row on.
    return settings | ({"ridge": learner.ridge} if isinstance(learner, RidgeRLS) else {})
