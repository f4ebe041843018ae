"""A forecast: a function of lead, with its uncertainty."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri

from hippozoo._arguments import positive_number, real_array, shorten, whole_number
from hippozoo.systems import LegT
from hippozoo.zoo.forecasting.future import lead_basis

__all__ = ["Forecast", "checked_probability"]


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
    lower
        Values below it cannot be; None if all can.
    by
        What the forecast of each channel was made by, and the share of each.

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
    lower: float | int | None = None
    by: tuple[dict[str, float], ...] = ()

    @property
    def horizon(self) -> float:
        """The longest lead, in the user's time unit."""
        return self.future.timescale

    def mean(self, lead: Float[np.ndarray, "*leads"] | float) -> Float[np.ndarray, "..."]:
        """The expected value at each lead; channels first."""
        return self.bounded(np.tensordot(self.coefficients, lead_basis(self.future, lead), axes=([-1], [-1])))

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
        mean, deviations = self.mean(lead), float(ndtri(checked_probability(probability)))
        # The median is the mean, also where the variance is still infinite.
        return self.bounded(np.asarray(mean + deviations * np.sqrt(self.variance(lead)) if deviations else mean))

    def paths(self, count: int, rng: np.random.Generator) -> Float[np.ndarray, "count *channels leads"]:
        """Futures that may come, sample by sample: drawn from what the forecast expects and how sure it is.

        Examples
        --------
        >>> future = LegT(order=4, timescale=8.0)
        >>> forecast = Forecast(future, np.array([20.0, 0, 0, 0]), np.diag([4.0, 0, 0, 0]), dt=1.0)
        >>> drawn = forecast.paths(1000, np.random.default_rng(0))
        >>> drawn.shape, bool(abs(drawn[:, 3].std() - 2) < 0.1)
        ((1000, 8), True)
        """
        number, leads = whole_number("count", count), self.leads()
        values, axes = np.linalg.eigh(self.covariance)
        root = axes * np.sqrt(np.maximum(values, 0.0))[..., None, :]
        drawn = np.einsum("...ij,n...j->n...i", root, rng.normal(size=(number, *self.coefficients.shape)))
        fine = rng.normal(size=(number, *self.coefficients.shape[:-1], len(leads))) * np.sqrt(self.detail_at(leads))
        return self.bounded((self.coefficients + drawn) @ lead_basis(self.future, leads).T + fine)

    def channel(self, number: int) -> Forecast:
        """The forecast of one channel of several by itself.

        Examples
        --------
        >>> both = Forecast(LegT(2, 8.0), np.array([[1.0, 0.0], [2.0, 0.0]]), np.zeros((2, 2, 2)))
        >>> both.channel(1).samples(3).tolist()
        [2.0, 2.0, 2.0]
        """
        detail = None if self.detail is None else self.detail[number]
        by = self.by[number : number + 1]
        return Forecast(
            self.future, self.coefficients[number], self.covariance[number], self.dt, detail, self.lower, by
        )

    def bounded(self, values: np.ndarray) -> np.ndarray:
        """The values, none below what can be."""
        return values if self.lower is None else np.asarray(np.maximum(values, self.lower))

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


def checked_probability(probability: float) -> float:
    """One number strictly between 0 and 1."""
    share = real_array("probability", probability)
    if share.ndim or not 0 < share < 1:
        raise ValueError(f"probability={shorten(probability)}; pass one number between 0 and 1.")
    return float(share)
