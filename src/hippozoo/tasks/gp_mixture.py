"""A stationary Gaussian process with several timescales, and the best possible forecast of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.linalg import solve_toeplitz

from hippozoo._internal.arguments import real_array, whole_number

__all__ = ["GaussianMixture"]


@dataclass(frozen=True)
class GaussianMixture:
    r"""A zero-mean process whose covariance is a sum of RBF kernels, as in the forecasting experiment of the paper.

    :math:`\kappa(\Delta) = \sum_m w_m^2 \exp(-\Delta^2 / 2 \ell_m^2)`, the weights scaled so that
    :math:`\kappa(0) = 1`. Samples stand on the integers.

    Parameters
    ----------
    lengthscales, weights
        One of each per kernel.

    Examples
    --------
    >>> process = GaussianMixture()
    >>> signal = process.sample(1000, np.random.default_rng(0))
    >>> mean, variance = process.forecast(signal, np.array([1, 32]))
    >>> variance.round(3).tolist()  # the first sample to come, and the 32nd
    [0.011, 0.722]
    """

    lengthscales: tuple[float, ...] = (0.1, 3.0, 16.0, 32.0, 64.0)
    weights: tuple[float, ...] = (0.5, 2.0, 5.0, 5.0, 5.0)

    def __post_init__(self) -> None:
        lengths, weights = real_array("lengthscales", self.lengthscales), real_array("weights", self.weights)
        if lengths.ndim != 1 or lengths.shape != weights.shape or not lengths.size:
            raise ValueError(
                f"{lengths.size} lengthscales and {weights.size} weights; pass one of each per kernel, at least one."
            )
        if lengths.min() <= 0 or not weights.any():
            raise ValueError("lengthscales must be > 0 and some weight other than 0; pass such.")

    def covariance(self, lag: np.ndarray | float | int) -> np.ndarray:
        """The covariance of two samples, by the time between them."""
        squares = np.square(self.weights) / np.square(self.weights).sum()
        distance = np.asarray(lag, float)[..., None] / np.asarray(self.lengthscales)
        return np.asarray((squares * np.exp(-(distance**2) / 2)).sum(axis=-1))

    def sample(self, length: int, rng: np.random.Generator) -> Float[np.ndarray, " length"]:
        """One realisation, by circulant embedding: exact where the circle is longer than the process remembers."""
        whole_number("length", length)
        # Room for ten of the longest lengthscales beyond the signal, so that its ends do not know each other.
        size = 1 << int(np.ceil(np.log2(length + 10 * max(self.lengthscales) + 1)))
        around = np.minimum(np.arange(size), size - np.arange(size))
        spectrum = np.clip(np.fft.rfft(self.covariance(around)).real, 0.0, None)
        noise = np.fft.rfft(rng.normal(size=size))
        return np.fft.irfft(noise * np.sqrt(spectrum), size)[:length]

    def weights_of(
        self, leads: np.ndarray, history: int = 512
    ) -> tuple[Float[np.ndarray, "leads history"], Float[np.ndarray, " leads"]]:
        """The best linear forecast from the last `history` samples, newest first, and its variance at each lead.

        `leads` count samples: lead 1 is the next one.
        """
        past = np.arange(history)
        cross = self.covariance(np.asarray(leads, float)[:, None] + past)
        weights = solve_toeplitz(self.covariance(past.astype(float)), cross.T).T
        return weights, self.covariance(0.0) - (weights * cross).sum(axis=1)

    def forecast(
        self, signal: Float[np.ndarray, " time"], leads: np.ndarray, history: int = 512
    ) -> tuple[Float[np.ndarray, " leads"], Float[np.ndarray, " leads"]]:
        """Posterior mean and variance of the samples `leads` after the end of the signal."""
        weights, variance = self.weights_of(np.asarray(leads, float), min(history, len(signal)))
        return weights @ signal[::-1][: weights.shape[1]], variance
