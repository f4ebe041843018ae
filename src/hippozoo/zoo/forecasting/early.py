"""Before any forecast was compared with what came: how much of a map to believe, and how wrong it may be.

Few futures taught such a map: neighbouring ones overlap, and of n steps of them only n / H are independent. What needs
no learning, to go on with the last value or with a mean of the past, shows its errors on every pair.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
from jaxtyping import Float

from hippozoo.forecasts.leads import lead_basis
from hippozoo.systems import LegT
from hippozoo.zoo.forecasting.moments import Moments
from hippozoo.zoo.forecasting.regression import ForecastMap, reduced_rank

__all__ = ["early_covariance", "shrunk_map"]

# A simple forecast must reach directions in which x never varied: a map without any ridge leaves these out.
_LEAST_RIDGE = 1e-6


def shrunk_map(
    moments: Moments,
    simple: list[Float[np.ndarray, "outputs inputs"]],
    share: float,
    rank: int | None,
    ridge: float | int,
    future_metric: Float[np.ndarray, "outputs outputs"] | None,
    intercept: bool,
    scale: Float[np.ndarray, " inputs"] | None = None,
    channels: int = 1,
    sharing: int = 1,
) -> ForecastMap:
    r"""The map of these moments, of which there is at least one pair, held towards forecasts that need no learning.

    Simple forecasts S are averaged, and added to them are 0, 1, 2, … numbers of x, its principal ones first, and the
    mean error of S or not: each such map is as good as its errors on the pairs, times (k + f) / (k - f), Akaike's final
    prediction error. Maps are averaged by their likelihood, (mean square)^(-k/2), every further number being half as
    likely beforehand. So each direction of x counts by the probability that it is needed, from 0 to 1, and what comes
    out is again one linear map of the rank asked for.

    k is the number of independent errors. Where errors are all of one kind along the horizon, as those of a random walk
    are, it is n / H; white errors are independent from step to step, and k is n. In between k is n / H times
    :math:`(\mathrm{tr} E)^2 / \mathrm{tr} E^2`, the number of independent values in one horizon of errors of
    covariance E.

    `simple` are maps of forecasts that need no learning; a step takes `share` of the horizon. So many `channels` are in
    x and y, side by side, and so many are `sharing` the pairs, one after the other, and may all have told the same. The
    other arguments are those of `reduced_rank`.
    """
    inputs, outputs = len(moments.mean_x), len(moments.mean_y)
    unit = np.ones(inputs) if scale is None else scale
    metric = np.eye(outputs) if future_metric is None else future_metric
    ridge = max(float(ridge), _LEAST_RIDGE)
    futures, most = moments.weight * share / sharing, 1 / share

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


def early_covariance(
    moments: Moments,
    share: float,
    residual: Float[np.ndarray, "order order"],
    freedom: float,
    simple: list[Float[np.ndarray, " inputs"]],
    departures: list[Float[np.ndarray, " order"]],
    scored: tuple[Float[np.ndarray, "order order"], float] | None = None,
    sharing: int = 1,
) -> Float[np.ndarray, "order order"]:
    r"""Of the errors of a forecast of one channel that nothing has been compared with yet: no better than it can show.

    A forecast departs from a simple one by d, and as long as nobody knows whether rightly, the mean square of its
    errors is that of the simple one plus :math:`d d^T`. Of these the least is taken.

    Few independent errors, k of them, may be small by chance: they are widened as Student's t with k + 2 degrees of
    freedom is, by (k + 2) / k, and 1 / k of them is replaced by their mean over an octave of leads on either side, so
    that a band is not narrow where the one path that was seen happened to cross its forecast.

    The first stretch of the stream that is kept from a map shows its errors while it lasts; few as they are, they are
    widened too. Where independent futures outnumber the degrees of freedom f of the map (many short series that were
    merged), its residual is an answer too, times (k + f) / (k - f): Akaike's final prediction error.

    `residual` is the covariance of the errors of the map on its moments, with its degrees of freedom. Rows read a
    constant future (`simple`) off x, and the forecast departs from each by `departures`. `scored` are mean products of
    errors on pairs kept from the map, and their weight.
    """
    order, futures = len(residual), moments.weight * share / sharing
    found = [] if scored is None else [_widened(scored[0], scored[1] * share / sharing)]
    for row, departure in zip(simple, departures, strict=True):
        forecast_map = np.zeros((order, len(row)))
        forecast_map[0] = row
        errors = moments.errors_of(forecast_map, np.zeros(order)) / max(moments.weight, 1e-300)
        found.append(_widened(errors, futures) + np.outer(departure, departure))
    if futures > freedom:
        found.append(residual * (futures + freedom) / (futures - freedom))
    return min(found, key=np.trace)


def _widened(errors: Float[np.ndarray, "order order"], futures: float) -> Float[np.ndarray, "order order"]:
    """What few independent errors may stand for."""
    # Even the first pair is one of them.
    independent = 1.0 + futures
    return (independent + 2) / independent * (errors + (_level(errors) - errors) / independent)


def _level(errors: Float[np.ndarray, "order order"]) -> Float[np.ndarray, "order order"]:
    """Errors of the same size and of one sign at all leads, their variance the mean over the leads around."""
    lead, mass, basis = _gauss_leads(len(errors))
    variance = np.maximum(((basis @ errors) * basis).sum(axis=1), 0.0)
    below = np.concatenate([[0.0], np.cumsum(mass * variance), [mass @ variance]])
    edges = np.concatenate([[0.0], np.cumsum(mass), [1.0]])
    begin, end = lead / 2, np.minimum(2 * lead, 1.0)
    around = (np.interp(end, edges, below) - np.interp(begin, edges, below)) / (end - begin)
    size = (mass * np.sqrt(np.maximum(around, 0.0))) @ basis
    return np.outer(size, size)


@lru_cache(maxsize=8)
def _gauss_leads(order: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Nodes and weights of a Gauss rule over the horizon, which is 1 here, and the basis at them."""
    node, mass = np.polynomial.legendre.leggauss(2 * order)
    lead = (node + 1) / 2
    return lead, mass / 2, lead_basis(LegT(order, 1.0), lead)
