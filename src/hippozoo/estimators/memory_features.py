"""Series to memory features for scikit-learn: rows are series, columns are time."""

from __future__ import annotations

from typing import Any, no_type_check

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from hippozoo.estimators._saved import fitted_state, restore_fitted
from hippozoo.estimators._settings import memory_named

__all__ = ["MemoryFeatures"]


class MemoryFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Turns each series into the coefficients that a memory keeps of it at its end.

    Parameters
    ----------
    order
        Number of features.
    timescale
        How far back, in columns; None for the whole series.
    system
        Which past: ``"legt"`` (a window), ``"legs"`` or ``"lagt"`` (fading), ``"fout"`` (a window, by harmonics).

    Examples
    --------
    >>> series = np.vstack([np.full(50, 2.0), np.linspace(0.0, 1.0, 50)])
    >>> features = MemoryFeatures(order=8).fit_transform(series)
    >>> features.shape, features[:, 0].round(1).tolist()  # the first one is about the mean
    ((2, 8), [2.0, 0.5])
    """

    # By scikit-learn's rules a constructor takes anything, and fit complains.
    @no_type_check
    def __init__(self, order: int = 8, timescale: float | None = None, system: str = "legt") -> None:
        self.order = order
        self.timescale = timescale
        self.system = system

    def fit(self, X: Any, y: Any = None) -> MemoryFeatures:
        """Look at the length of the series."""
        X = validate_data(self, X, dtype=np.float64)
        length = float(X.shape[1])
        self.memory_ = memory_named(self.system, self.order, length if self.timescale is None else self.timescale, 1.0)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """The features of each series, (series, order)."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return self.memory_.final(np.ascontiguousarray(X.T))

    def state_dict(self) -> dict[str, Any]:
        """What `fit` has seen, for `hippozoo.checkpoint`."""
        return fitted_state(self, ("memory_",))

    def load_state_dict(self, known: dict[str, Any]) -> None:
        """Go on where another one of the same settings stood."""
        restore_fitted(self, known)

    @property
    def _n_features_out(self) -> int:
        return self.memory_.system.order
