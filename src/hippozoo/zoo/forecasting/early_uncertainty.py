"""How wrong a forecast may be before any was compared with what came: no better than it can show."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from hippozoo.forecasts.leads import lead_basis
from hippozoo.systems import LegT
from hippozoo.zoo.forecasting.moments import Moments

__all__ = ["EarlyUncertainty"]


@dataclass(frozen=True, eq=False)
class EarlyUncertainty:
    r"""The uncertainty of forecasts that nothing has been compared with yet.

    The errors of a map on the pairs it was learnt from say nothing while it has as many numbers to choose as there
    were futures to choose them by: neighbouring futures overlap, and of n steps of them only n / H are independent.
    What needs no learning shows its errors on every pair: to go on with the last value, or with a mean of the past.
    A forecast departs from such a simple one by d, and as long as nobody knows whether rightly, the mean square of its
    errors is that of the simple one plus :math:`d d^T`. Of these the least is taken.

    Few independent errors, k of them, may be small by chance: they are widened as Student's t with k + 2 degrees of
    freedom is, by (k + 2) / k, and 1 / k of them is replaced by their mean over an octave of leads on either side, so
    that a band is not narrow where the one path that was seen happened to cross its forecast.

    The first stretch of the stream that is kept from a map shows its errors while it lasts; few as they are, they are
    widened too. Where independent futures outnumber the degrees of freedom f of the map (many short series that were
    merged), its residual is an answer too, times (k + f) / (k - f): Akaike's final prediction error.

    Examples
    --------
    A map that learnt three differences by heart has no residual; going on with the last value has.

    >>> from hippozoo.zoo.forecasting.regression import reduced_rank
    >>> rng = np.random.default_rng(0)
    >>> moments = Moments.empty(8, 4).add(rng.normal(size=(3, 8)), rng.normal(size=(3, 4)))
    >>> fitted = reduced_rank(moments)
    >>> still, nothing = np.zeros(8), np.zeros(4)
    >>> found = EarlyUncertainty(future_order=4, share=0.25).covariance(
    ...     moments, fitted.residual, fitted.freedom, [still], [nothing]
    ... )
    >>> bool(np.trace(fitted.residual) < 1e-12), bool(np.trace(found) > 1)
    (True, True)
    """

    future_order: int  # coefficients of System 1
    share: float  # of the horizon, that one step takes

    def covariance(
        self,
        moments: Moments,
        residual: Float[np.ndarray, "order order"],
        freedom: float,
        simple: list[Float[np.ndarray, " inputs"]],
        departures: list[Float[np.ndarray, " order"]],
        scored: tuple[Float[np.ndarray, "order order"], float] | None = None,
        sharing: int = 1,
    ) -> Float[np.ndarray, "order order"]:
        """Of the errors of a forecast of one channel.

        By its moments, in which `sharing` channels may all have told the same; the covariance of the errors of its map
        on them, and the map's degrees of freedom; rows that read a constant future (`simple`) off x, and by how much
        the forecast departs from each; mean products of errors on pairs kept from the map, and their weight.
        """
        futures = moments.weight * self.share / sharing
        found = [] if scored is None else [self._widened(scored[0], scored[1] * self.share / sharing)]
        for row, departure in zip(simple, departures, strict=True):
            forecast_map = np.zeros((self.future_order, len(row)))
            forecast_map[0] = row
            errors = moments.errors_of(forecast_map, np.zeros(self.future_order)) / max(moments.weight, 1e-300)
            found.append(self._widened(errors, futures) + np.outer(departure, departure))
        if futures > freedom:
            found.append(residual * (futures + freedom) / (futures - freedom))
        return min(found, key=np.trace)

    def _widened(self, errors: Float[np.ndarray, "order order"], futures: float) -> Float[np.ndarray, "order order"]:
        """What few independent errors may stand for."""
        # Even the first pair is one of them.
        independent = 1.0 + futures
        return (independent + 2) / independent * (errors + (self._level(errors) - errors) / independent)

    def _level(self, errors: Float[np.ndarray, "order order"]) -> Float[np.ndarray, "order order"]:
        """Errors of the same size and of one sign at all leads, their variance the mean over the leads around."""
        lead, mass, basis = self._leads
        variance = np.maximum(((basis @ errors) * basis).sum(axis=1), 0.0)
        below = np.concatenate([[0.0], np.cumsum(mass * variance), [mass @ variance]])
        edges = np.concatenate([[0.0], np.cumsum(mass), [1.0]])
        begin, end = lead / 2, np.minimum(2 * lead, 1.0)
        around = (np.interp(end, edges, below) - np.interp(begin, edges, below)) / (end - begin)
        size = (mass * np.sqrt(np.maximum(around, 0.0))) @ basis
        return np.outer(size, size)

    @cached_property
    def _leads(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Nodes and weights of a Gauss rule over the horizon, which is 1 here, and the basis at them."""
        node, mass = np.polynomial.legendre.leggauss(2 * self.future_order)
        lead = (node + 1) / 2
        return lead, mass / 2, lead_basis(LegT(self.future_order, 1.0), lead)
