"""How much of a map to believe that few futures taught: as much as their errors tell it from a simple forecast."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from hippozoo.zoo.forecasting.moments import Moments
from hippozoo.zoo.forecasting.regression import ForecastMap, reduced_rank

__all__ = ["SmallSampleShrinkage"]

# A simple forecast must reach directions in which x never varied: a map without any ridge leaves these out.
_LEAST_RIDGE = 1e-6


@dataclass(frozen=True, eq=False)
class SmallSampleShrinkage:
    r"""Maps from pairs of which few are independent, held towards forecasts that need no learning.

    Simple forecasts S are averaged, and added to them are 0, 1, 2, … numbers of x, its principal ones first, and the
    mean error of S or not: each such map is as good as its errors on the pairs, times (k + f) / (k - f), Akaike's final
    prediction error. Maps are averaged by their likelihood, (mean square)^(-k/2), every further number being half as
    likely beforehand. So each direction of x counts by the probability that it is needed, from 0 to 1, and what comes
    out is again one linear map of the rank asked for.

    k is the number of independent errors. Of n steps of futures n / H do not overlap; where errors are all of one kind
    along the horizon, as those of a random walk are, that is k. White errors are independent from step to step, and k
    is n. In between k is n / H times :math:`(\mathrm{tr} E)^2 / \mathrm{tr} E^2`, the number of independent values in
    one horizon of errors of covariance E.

    Examples
    --------
    Five futures of noise, which hardly one number of the past can explain: the forecast stays at the mean.

    >>> rng = np.random.default_rng(0)
    >>> moments = Moments.empty(8, 4).add(rng.normal(size=(5, 8)), rng.normal(size=(5, 4)))
    >>> mean_of_the_past = np.eye(4, 8) * [1, 0, 0, 0, 0, 0, 0, 0]
    >>> held = SmallSampleShrinkage(share=0.25).solve(moments, [mean_of_the_past], None, 0.0, None, True)
    >>> free = reduced_rank(moments).forecast_map
    >>> bool(np.abs(held.forecast_map - mean_of_the_past).max() < 0.1 < np.abs(free - mean_of_the_past).max())
    True
    """

    share: float  # of the horizon, that one step takes

    def solve(
        self,
        moments: Moments,
        simple: list[Float[np.ndarray, "outputs inputs"]],
        rank: int | None,
        ridge: float | int,
        future_metric: Float[np.ndarray, "outputs outputs"] | None,
        intercept: bool,
        scale: Float[np.ndarray, " inputs"] | None = None,
        channels: int = 1,
        sharing: int = 1,
    ) -> ForecastMap:
        """The map of these moments, of which there is at least one pair; most arguments are those of `reduced_rank`.

        `simple` are maps of forecasts that need no learning. So many `channels` are in x and y, side by side, and so
        many are `sharing` the pairs, one after the other, and may all have told the same.
        """
        inputs, outputs = len(moments.mean_x), len(moments.mean_y)
        unit = np.ones(inputs) if scale is None else scale
        metric = np.eye(outputs) if future_metric is None else future_metric
        ridge = max(float(ridge), _LEAST_RIDGE)
        futures, most = moments.weight * self.share / sharing, 1 / self.share

        def independent(errors: np.ndarray) -> tuple[float, float]:
            """Mean square of errors of this covariance, and how many of them are independent."""
            weighted = metric @ errors
            total, squares = float(np.trace(weighted)), float(np.sum(weighted * weighted.T))
            values = total**2 / squares / channels if squares > 0 else 1.0
            return total, 1 + futures * min(max(values, 1.0), most)

        zero = np.zeros(outputs)
        found = [independent(moments.errors_of(one, zero) / moments.weight) for one in simple]
        evidence = min(k for _, k in found)
        believed = _shares(np.array([-evidence / 2 * np.log(max(total, 1e-300)) for total, _ in found]))
        S = np.einsum("s,sij->ij", believed, np.stack(simple))

        # From here on x is in its units, and the future is what S leaves of it.
        cov_xx, cov_yx, cov_yy = moments.covariances(centred=intercept)
        left = cov_yx - S @ cov_xx
        errors = cov_yy - S @ cov_yx.T - left @ S.T
        cov_xx, left = cov_xx / np.outer(unit, unit), left / unit
        still = moments.still
        cov_xx = np.where(still | still[:, None], 0.0, cov_xx)
        penalty = ridge * np.trace(cov_xx) / inputs
        variance, axes = np.linalg.eigh(cov_xx)
        variance, axes = np.maximum(variance[::-1], 0.0), axes[:, ::-1]
        axes = np.where(still[:, None], 0.0, axes)
        inverse = np.where(variance > 0, 1 / np.where(variance > 0, variance + penalty, 1.0), 0.0)
        along = left @ axes
        bias = moments.mean_y - S @ moments.mean_x if intercept else zero

        # Not more numbers than there could be independent pairs.
        count = min(inputs, int(futures * most) + 1)
        log_shares = np.full((count + 1, 2), -np.inf)
        for d in range(count + 1):
            if d:
                w, v, g = inverse[d - 1], variance[d - 1], along[:, d - 1]
                errors = errors - (2 * w - w * w * v) * np.outer(g, g)
            for level in range(1 + intercept):
                total, k = independent(errors if level or not intercept else errors + np.outer(bias, bias))
                freedom = float(variance[:d] @ inverse[:d]) + level
                if freedom < k:
                    expected = max(total, 1e-300) * (k + freedom) / (k - freedom)
                    log_shares[d, level] = -evidence / 2 * np.log(expected) - (d + level) * np.log(2)
        shares = _shares(log_shares)
        needed = np.append(shares.sum(axis=1)[::-1].cumsum()[::-1][1:], np.zeros(inputs - count))
        learnt = (along * (inverse * needed)) @ axes.T
        wanted = S * unit + learnt

        # The moments of a future that follows this map, ridge and all: their map of limited rank is the one wanted.
        mean_y = S @ moments.mean_x + shares[:, 1].sum() * bias
        yx = wanted @ (cov_xx + penalty * np.eye(inputs)) * unit
        yx = yx if intercept else yx - np.outer(mean_y, moments.mean_x)
        held = replace(moments, mean_y=mean_y, yx=yx * moments.weight)
        fitted = reduced_rank(held, rank, ridge, future_metric, intercept, scale)
        residual = moments.errors_of(fitted.forecast_map, fitted.intercept) / moments.weight
        return replace(fitted, residual=residual)


def _shares(logarithms: np.ndarray) -> np.ndarray:
    """Probabilities of which these are the logarithms, up to a constant."""
    weights = np.exp(logarithms - logarithms.max())
    return weights / weights.sum()
