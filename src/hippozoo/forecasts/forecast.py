"""A forecast: a function of lead, with its uncertainty."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from jaxtyping import Float

from hippozoo._internal.arguments import positive_number, real_array, shorten, whole_number

__all__ = ["Forecast", "checked_probability"]

Leads = Float[np.ndarray, "*leads"] | float


class Forecast(ABC):
    """What is expected of the future, at any lead from 0 to the horizon; lead 0 is the present.

    The k-th sample to come fills the leads [k - 1, k) * dt; `samples` reads it in the middle of its cell. The paper's
    forecaster gives a `GaussianForecast`, the ensemble an `EnsembleForecast` of `hippozoo.ensemble`.
    """

    # Fields of one of the two and computed by the other, so that neither is an abstract property:
    # the longest lead, time between samples, what it was made by and the share of each,
    # the forecast in the basis of System 1, and the covariance of the errors of that.
    horizon: float
    dt: float
    by: tuple[dict[str, float], ...]
    coefficients: Float[np.ndarray, "*channels order"]
    covariance: Float[np.ndarray, "*channels order order"]

    @abstractmethod
    def mean(self, lead: Leads) -> Float[np.ndarray, "..."]:
        """The expected value at each lead; channels first."""

    @abstractmethod
    def variance(self, lead: Leads) -> Float[np.ndarray, "..."]:
        """Expected squared error at each lead; channels first."""

    @abstractmethod
    def quantile(self, lead: Leads, probability: float) -> Float[np.ndarray, "..."]:
        """The value that the signal stays below with this probability."""

    @abstractmethod
    def sample_covariance(self) -> Float[np.ndarray, "*channels leads leads"]:
        """Of the errors of the samples that fit into the horizon."""

    @abstractmethod
    def paths(self, count: int, rng: np.random.Generator) -> Float[np.ndarray, "count *channels leads"]:
        """Futures that may come, sample by sample."""

    @abstractmethod
    def channel(self, number: int) -> Forecast:
        """The forecast of one channel of several by itself."""

    @abstractmethod
    def bounded(self, values: np.ndarray) -> np.ndarray:
        """The values, none below what can be."""

    def band(self, lead: Leads, coverage: float = 0.8) -> tuple[Float[np.ndarray, "..."], Float[np.ndarray, "..."]]:
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
