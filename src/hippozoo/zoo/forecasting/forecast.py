"""A forecast: a function of lead, with its uncertainty."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri

from hippozoo._arguments import positive_number, real_array, shorten, whole_number
from hippozoo.systems import LegT
from hippozoo.zoo.forecasting.future import lead_basis

__all__ = ["Forecast"]


@dataclass(frozen=True, eq=False)
class Forecast:
    """What is expected of the future, at any lead from 0 to the horizon; lead 0 is the present.

    The k-th sample to come fills the leads [k - 1, k) * dt; `samples` reads it in the middle of its cell.

    Parameters
    ----------
    future
        System 1, in whose basis the forecast is written.
    coefficients
        The expected coefficients, (order,) or (channels, order).
    covariance
        Of the coefficients' errors, (order, order) or (channels, order, order).
    dt
        Time between samples.
    detail
        Variance of what is too fine for the basis, for each cell of the horizon, (cells,) or (channels, cells); it
        adds to the uncertainty of a value. None for none.

    Examples
    --------
    >>> future = LegT(order=4, timescale=8.0)
    >>> forecast = Forecast(future, np.array([20.0, 0, 0, 0]), np.diag([4.0, 0, 0, 0]), dt=1.0)
    >>> forecast.mean(np.array([0.0, 3.3, 8.0])).tolist()
    [20.0, 20.0, 20.0]
    >>> lower, upper = forecast.band(5.0, coverage=0.95)
    >>> float(lower.round(2)), float(upper.round(2))
    (16.08, 23.92)
    """

    future: LegT
    coefficients: Float[np.ndarray, "*channels order"]
    covariance: Float[np.ndarray, "*channels order order"]
    dt: float = 1.0
    detail: Float[np.ndarray, "*channels cells"] | None = None

    @property
    def horizon(self) -> float:
        """The longest lead, in the user's time unit."""
        return self.future.timescale

    def mean(self, lead: Float[np.ndarray, "*leads"] | float) -> Float[np.ndarray, "..."]:
        """The expected value at each lead; channels first."""
        return np.tensordot(self.coefficients, lead_basis(self.future, lead), axes=([-1], [-1]))

    def variance(self, lead: Float[np.ndarray, "*leads"] | float) -> Float[np.ndarray, "..."]:
        """Expected squared error at each lead; channels first."""
        basis = lead_basis(self.future, lead)
        products = np.tensordot(self.covariance, basis, axes=([-1], [-1]))
        # (…, order, *leads): the order axis stands just before the leads.
        moved = np.moveaxis(products, self.coefficients.ndim - 1, -1)
        variance = np.maximum((moved * basis).sum(axis=-1), 0.0)
        return np.asarray(variance if self.detail is None else variance + self.detail_at(lead))

    def detail_at(self, lead: Float[np.ndarray, "*leads"] | float) -> Float[np.ndarray, "..."]:
        """The variance of what is too fine for the basis, at each lead; channels first."""
        if self.detail is None:
            return np.zeros((*self.coefficients.shape[:-1], *np.shape(lead)))
        cell = np.minimum(np.asarray(lead) / self.dt, self.detail.shape[-1] - 1).astype(int)
        return np.asarray(self.detail[..., cell])

    def quantile(self, lead: Float[np.ndarray, "*leads"] | float, probability: float) -> Float[np.ndarray, "..."]:
        """The value that the signal stays below with this probability, errors being Gaussian."""
        share = real_array("probability", probability)
        if share.ndim or not 0 < share < 1:
            raise ValueError(f"probability={shorten(probability)}; pass one number between 0 and 1.")
        mean, deviations = self.mean(lead), float(ndtri(share))
        # The median is the mean, also where the variance is still infinite.
        return np.asarray(mean + deviations * np.sqrt(self.variance(lead)) if deviations else mean)

    def band(
        self, lead: Float[np.ndarray, "*leads"] | float, coverage: float = 0.8
    ) -> tuple[Float[np.ndarray, "..."], Float[np.ndarray, "..."]]:
        """Lower and upper bound between which the signal is found with this probability."""
        inside = positive_number("coverage", coverage, why="the share of values inside the band")
        if inside >= 1:
            raise ValueError(f"coverage={coverage}: no band holds everything; pass a number below 1, for example 0.95.")
        return self.quantile(lead, (1 - inside) / 2), self.quantile(lead, (1 + inside) / 2)

    def leads(self, count: int | None = None) -> Float[np.ndarray, " count"]:
        """The middles of the cells of the next `count` samples: (k - 1/2) dt; as many as fit by default."""
        fitting = int(self.horizon / self.dt * (1 + 1e-9))
        count = fitting if count is None else whole_number("count", count)
        if count > fitting:
            raise ValueError(
                f"count={count}, but {fitting} samples fit into the horizon {self.horizon}; learn a longer one."
            )
        return (np.arange(count) + 0.5) * self.dt

    def samples(self, count: int | None = None) -> Float[np.ndarray, "*channels count"]:
        """The next `count` samples: the mean in the middle of each one's cell."""
        return self.mean(self.leads(count))
