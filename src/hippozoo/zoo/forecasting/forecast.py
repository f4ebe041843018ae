"""A forecast by one map: coefficients of System 1, and Gaussian errors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri

from hippozoo._internal.arguments import whole_number
from hippozoo.forecasts.forecast import Forecast, Leads, checked_probability
from hippozoo.forecasts.leads import lead_basis
from hippozoo.systems import LegT

__all__ = ["GaussianForecast"]


@dataclass(frozen=True, eq=False)
class GaussianForecast(Forecast):
    """A forecast by one map: coefficients of System 1, and the covariance of their errors, which are Gaussian.

    Examples
    --------
    >>> future = LegT(order=4, timescale=8.0)
    >>> forecast = GaussianForecast(future, np.array([20.0, 0, 0, 0]), np.diag([4.0, 0, 0, 0]), dt=1.0)
    >>> forecast.mean(np.array([0.0, 3.3, 8.0])).tolist()
    [20.0, 20.0, 20.0]
    >>> lower, upper = forecast.band(5.0, coverage=0.95)
    >>> float(lower.round(2)), float(upper.round(2))
    (16.08, 23.92)
    """

    future: LegT  #: System 1, in whose basis the forecast is written.
    coefficients: Float[np.ndarray, "*channels order"]  #: The expected coefficients, (order,) or (channels, order).
    #: Of the coefficients' errors, (order, order) or (channels, order, order).
    covariance: Float[np.ndarray, "*channels order order"]
    dt: float = 1.0  #: Time between samples.
    #: Variance of what is too fine for the basis, for each cell of the horizon, (cells,) or (channels, cells); it adds
    #: to the uncertainty of a value. None for none.
    detail: Float[np.ndarray, "*channels cells"] | None = None
    lower: float | int | None = None  #: Values below it cannot be; None if all can.
    by: tuple[dict[str, float], ...] = ()  #: What the forecast of each channel was made by, and the share of each.

    @property
    def horizon(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The longest lead, in the user's time unit."""
        return self.future.timescale

    def mean(self, lead: Leads) -> Float[np.ndarray, "..."]:
        """The expected value at each lead; channels first."""
        return self.bounded(np.tensordot(self.coefficients, lead_basis(self.future, lead), axes=([-1], [-1])))

    def variance(self, lead: Leads) -> Float[np.ndarray, "..."]:
        """Expected squared error at each lead; channels first."""
        basis = lead_basis(self.future, lead)
        products = np.tensordot(self.covariance, basis, axes=([-1], [-1]))
        # (…, order, *leads): the order axis stands just before the leads.
        moved = np.moveaxis(products, self.coefficients.ndim - 1, -1)
        variance = np.maximum((moved * basis).sum(axis=-1), 0.0)
        return np.asarray(variance if self.detail is None else variance + self.detail_at(lead))

    def sample_covariance(self) -> Float[np.ndarray, "*channels leads leads"]:
        """Of the errors of the samples that fit into the horizon."""
        basis, detail = lead_basis(self.future, self.leads()), self.detail_at(self.leads())
        return basis @ self.covariance @ basis.T + np.eye(len(basis)) * detail[..., None, :]

    def detail_at(self, lead: Leads) -> Float[np.ndarray, "..."]:
        """The variance of what is too fine for the basis, at each lead; channels first."""
        if self.detail is None:
            return np.zeros((*self.coefficients.shape[:-1], *np.shape(lead)))
        cell = np.minimum(np.asarray(lead) / self.dt, self.detail.shape[-1] - 1).astype(int)
        return np.asarray(self.detail[..., cell])

    def quantile(self, lead: Leads, probability: float) -> Float[np.ndarray, "..."]:
        """The value that the signal stays below with this probability, errors being Gaussian."""
        mean, deviations = self.mean(lead), float(ndtri(checked_probability(probability)))
        # The median is the mean, also where the variance is still infinite.
        return self.bounded(np.asarray(mean + deviations * np.sqrt(self.variance(lead)) if deviations else mean))

    def paths(self, count: int, rng: np.random.Generator) -> Float[np.ndarray, "count *channels leads"]:
        """Futures that may come, sample by sample: drawn from what the forecast expects and how sure it is."""
        number, leads = whole_number("count", count), self.leads()
        values, axes = np.linalg.eigh(self.covariance)
        root = axes * np.sqrt(np.maximum(values, 0.0))[..., None, :]
        drawn = np.einsum("...ij,n...j->n...i", root, rng.normal(size=(number, *self.coefficients.shape)))
        fine = rng.normal(size=(number, *self.coefficients.shape[:-1], len(leads))) * np.sqrt(self.detail_at(leads))
        return self.bounded((self.coefficients + drawn) @ lead_basis(self.future, leads).T + fine)

    def channel(self, number: int) -> GaussianForecast:
        """The forecast of one channel of several by itself."""
        detail = None if self.detail is None else self.detail[number]
        by = self.by[number : number + 1]
        return GaussianForecast(
            self.future, self.coefficients[number], self.covariance[number], self.dt, detail, self.lower, by
        )

    def bounded(self, values: np.ndarray) -> np.ndarray:
        """The values, none below what can be."""
        return values if self.lower is None else np.asarray(np.maximum(values, self.lower))
