"""What a stream teaches a linear forecast: second-order statistics that add up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

__all__ = ["Moments"]

# What memories hold of a constant wavers by this share of it: 1e-14 as a rule, 9e-12 seen at order 256 over a window
# of 100,000 samples.
_WAVERING = 1e-11


@dataclass(frozen=True, eq=False)
class Moments:
    """Weight, means and centred sums of products of pairs (x, y): x a history, y the future that came after it.

    Sums of separate series, or of pieces of one, `merge` to those of all together, in any order. Products are
    centred at the running means, so that a signal far from zero loses no digits.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(100, 3)), rng.normal(size=(100, 2))
    >>> whole = Moments.empty(3, 2).add(x, y)
    >>> parts = Moments.empty(3, 2).add(x[:30], y[:30]).merge(Moments.empty(3, 2).add(x[30:], y[30:]))
    >>> bool(np.allclose(whole.yx, parts.yx)), parts.weight
    (True, 100.0)
    """

    weight: float  #: How many pairs, each counted by its weight.
    mean_x: Float[np.ndarray, " inputs"]  #: Weighted mean of x.
    mean_y: Float[np.ndarray, " outputs"]  #: Weighted mean of y.
    xx: Float[np.ndarray, "inputs inputs"]  #: Weighted sum of (x - mean_x)(x - mean_x)'.
    yx: Float[np.ndarray, "outputs inputs"]  #: Of (y - mean_y)(x - mean_x)'.
    yy: Float[np.ndarray, "outputs outputs"]  #: Of (y - mean_y)(y - mean_y)'.
    #: Weighted sums of the squared levels of the signals that x and y tell of, as far as they were given: rounding is a
    #: share of them, also where x and y are differences from the level.
    level_squares: Float[np.ndarray, " signals"]

    @staticmethod
    def empty(inputs: int, outputs: int, signals: int = 1) -> Moments:
        """Nothing seen yet; x and y are made of equal parts, one for each of `signals`."""
        xx, yx, yy = [np.zeros(shape) for shape in ((inputs, inputs), (outputs, inputs), (outputs, outputs))]
        return Moments(0.0, np.zeros(inputs), np.zeros(outputs), xx, yx, yy, np.zeros(signals))

    def add(
        self,
        x: Float[np.ndarray, "pairs inputs"],
        y: Float[np.ndarray, "pairs outputs"],
        weights: Float[np.ndarray, " pairs"] | None = None,
        levels: Float[np.ndarray, "pairs signals"] | None = None,
    ) -> Moments:
        """These moments and those of the pairs (x[i], y[i]); pairs of weight 0 count as never seen.

        `levels` says where the signals stood, so that rounding is not taken for a change of x.
        """
        levels = np.zeros((len(x), len(self.level_squares))) if levels is None else levels
        if weights is not None and not weights.all():
            counted = weights > 0
            x, y, weights, levels = x[counted], y[counted], weights[counted], levels[counted]
        if not len(x):
            return self
        inputs = x.shape[1]
        # One symmetric product of [x, y] with itself costs less than three of its parts.
        both = np.concatenate([x, y], axis=1)
        if weights is None or (weights == 1).all():
            total, mean = float(len(x)), both.mean(axis=0)
            level_squares = (levels**2).sum(axis=0)
            both -= mean
        else:
            total = float(weights.sum())
            mean = weights @ both / total
            level_squares = weights @ levels**2
            both -= mean
            both *= np.sqrt(weights)[:, None]
        products = both.T @ both
        parts = products[:inputs, :inputs], products[inputs:, :inputs], products[inputs:, inputs:]
        return self.merge(Moments(total, mean[:inputs], mean[inputs:], *parts, level_squares))

    def merge(self, other: Moments) -> Moments:
        """The moments of both sets of pairs together."""
        if not other.weight:
            return self
        if not self.weight:
            return other
        total = self.weight + other.weight
        share = other.weight / total
        dx, dy = other.mean_x - self.mean_x, other.mean_y - self.mean_y
        between = [self.weight * share * np.outer(a, b) for a, b in ((dx, dx), (dy, dx), (dy, dy))]
        xx, yx, yy = [a + b + c for a, b, c in zip(self._products, other._products, between, strict=True)]
        means = self.mean_x + share * dx, self.mean_y + share * dy
        return Moments(total, *means, xx, yx, yy, self.level_squares + other.level_squares)

    def faded(self, factor: float) -> Moments:
        """The same means and covariances with `factor` of the weight: how drifting data are forgotten."""
        xx, yx, yy = [one * factor for one in self._products]
        return Moments(self.weight * factor, self.mean_x, self.mean_y, xx, yx, yy, self.level_squares * factor)

    @property
    def _products(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.xx, self.yx, self.yy

    def part(self, inputs: slice, outputs: slice) -> Moments:
        """The moments of some numbers of x and y; levels are left out."""
        products = self.xx[inputs, inputs], self.yx[outputs, inputs], self.yy[outputs, outputs]
        return Moments(self.weight, self.mean_x[inputs], self.mean_y[outputs], *products, np.zeros(1))

    def covariances(self, centred: bool = True) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """``cov_xx, cov_yx, cov_yy``; around zero in place of the means where `centred` is False."""
        if not self.weight:
            return self.xx, self.yx, self.yy
        products = [one / self.weight for one in self._products]
        if not centred:
            x, y = self.mean_x, self.mean_y
            products = [one + np.outer(a, b) for one, a, b in zip(products, (x, y, y), (x, x, y), strict=True)]
        return products[0], products[1], products[2]

    @property
    def rounding(self) -> Float[np.ndarray, " signals"]:
        """The variance that rounding alone may give all that tells of a signal; 0 if its level was not given."""
        return _WAVERING**2 * self.level_squares / max(self.weight, 1e-300)

    @property
    def still(self) -> Bool[np.ndarray, " inputs"]:
        """The numbers of x that tell of a signal which stood still: all that ever changed in them is rounding."""
        signals = len(self.level_squares)
        variance = np.diag(self.xx).reshape(signals, -1).sum(axis=1) / max(self.weight, 1e-300)
        return np.repeat(variance < self.rounding, len(self.mean_x) // signals)

    def errors_of(
        self, forecast_map: Float[np.ndarray, "outputs inputs"], intercept: Float[np.ndarray, " outputs"]
    ) -> Float[np.ndarray, "outputs outputs"]:
        """Weighted sum of ee' over these pairs, where e = y - (forecast_map x + intercept): no pair is needed."""
        half = forecast_map @ self.yx.T
        scatter = self.yy - half - half.T + forecast_map @ self.xx @ forecast_map.T
        bias = self.mean_y - forecast_map @ self.mean_x - intercept
        return scatter + self.weight * np.outer(bias, bias)
