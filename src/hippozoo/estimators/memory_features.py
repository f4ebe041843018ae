"""Series to memory features for scikit-learn: rows are series, columns are time."""

from __future__ import annotations

from typing import Any, no_type_check

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from hippozoo._internal.arguments import real_array
from hippozoo.estimators._settings import Fitted, memory_named
from hippozoo.memory import Stream, hold_missing

__all__ = ["MemoryFeatures"]


class MemoryFeatures(Fitted, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Turns each series into the coefficients that a memory keeps of it at its end.

    A missing value (NaN) holds the last one before it; before the first, the first is held. Series of several channels
    are (series, time, channels), and their features stand channel after channel.

    Parameters
    ----------
    order
        Number of features of a channel.
    timescale
        How far back, in columns, or in the unit of `times`; None for the whole series.
    system
        Which past: ``"legt"`` (a window), ``"legs"`` or ``"lagt"`` (fading), ``"fout"`` (a window, by harmonics).
    times
        When each column was measured, rising; a value holds until the next, the last one for the usual step. None for
        even columns, one unit apart.

    Examples
    --------
    >>> series = np.vstack([np.full(50, 2.0), np.linspace(0.0, 1.0, 50)])
    >>> made = MemoryFeatures(order=8).fit(series)
    >>> features = made.transform(series)
    >>> features.shape, features[:, 0].round(1).tolist()  # the first one is about the mean
    ((2, 8), [2.0, 0.5])
    >>> stream = made.stream()  # the same features, value by value
    >>> for value in series[1]:
    ...     stream.push(value)
    >>> bool(np.allclose(stream.state, features[1]))
    True
    """

    _fitted = ("memory_", "channels_")

    # By scikit-learn's rules a constructor takes anything, and fit complains.
    @no_type_check
    def __init__(self, order: int = 8, timescale: float | None = None, system: str = "legt", times: Any = None) -> None:
        self.order = order
        self.timescale = timescale
        self.system = system
        self.times = times

    def fit(self, X: Any, y: Any = None) -> MemoryFeatures:
        """Look at the length of the series."""
        X = self._checked(X, reset=True)
        steps = self._steps(X.shape[1])
        length = float(X.shape[1]) if steps is None else float(steps.sum())
        usual = 1.0 if steps is None else float(np.median(steps))
        timescale = length if self.timescale is None else self.timescale
        self.memory_ = memory_named(self.system, self.order, timescale, usual)
        self.channels_ = 1 if X.ndim == 2 else X.shape[2]
        return self

    def transform(self, X: Any) -> np.ndarray:
        """The features of each series, (series, channels * order)."""
        check_is_fitted(self)
        X = self._checked(X, reset=False)
        channels = 1 if X.ndim == 2 else X.shape[2]
        if channels != self.channels_:
            raise ValueError(f"X has {channels} channels, but fit saw {self.channels_}; pass series of the same kind.")
        # (time, series * channels), each column a stream of its own.
        rows = np.ascontiguousarray(X.reshape(len(X), X.shape[1], channels).transpose(1, 0, 2).reshape(X.shape[1], -1))
        seen = np.isfinite(rows)
        if not seen.all():
            if not seen.any(axis=0).all():
                empty = int(np.flatnonzero(~seen.any(axis=0))[0]) // channels
                raise ValueError(f"series {empty} has no values in at least one channel; leave it out.")
            rows = hold_missing(rows, seen, held=rows[seen.argmax(axis=0), np.arange(rows.shape[1])])
        steps = self._steps(len(rows))
        found = self.memory_.final(rows) if steps is None else self.memory_.final(rows, dt=steps)
        return found.reshape(len(X), -1)

    def stream(self) -> Stream:
        """A stream whose state is the features of the values pushed so far; with `times`, push times too."""
        check_is_fitted(self)
        return Stream(self.memory_, channels=None if self.channels_ == 1 else self.channels_)

    def _checked(self, X: Any, *, reset: bool) -> np.ndarray:
        checked: Any = validate_data(
            self, X, dtype=np.float64, reset=reset, ensure_all_finite="allow-nan", allow_nd=True
        )
        return checked

    def _steps(self, count: int) -> np.ndarray | None:
        """How long each column holds; None where they are even."""
        if self.times is None:
            return None
        times = real_array("times", self.times)
        if times.shape != (count,) or count < 2 or np.diff(times).min() <= 0:
            raise ValueError(f"times has shape {times.shape}; pass one for each of the {count} columns, rising.")
        steps = np.diff(times)
        return np.append(steps, np.median(steps))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.three_d_array = True
        return tags

    @property
    def _n_features_out(self) -> int:
        return self.channels_ * self.memory_.system.order
