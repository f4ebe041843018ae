"""What every time-invariant memory system knows: dynamics, weight, basis and timescale."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float
from scipy.linalg import expm

from hippozoo._internal.arguments import positive_number, real_array, whole_number
from hippozoo._internal.immutable import Immutable, read_only

__all__ = ["FORGOTTEN", "FadingSystem", "HippoSystem", "Semiseparable", "WindowSystem", "read_only"]

# What has shrunk by this factor is forgotten: it is lost in the rounding of whatever came since.
FORGOTTEN = 1e-30


@dataclass(frozen=True, eq=False)
class Semiseparable:
    """A matrix given by O(N) numbers: diag + strict lower part of u v' + strict upper part of p q'.

    Products and solves with such a matrix, and with identity minus a multiple of it, take O(N) operations.

    Examples
    --------
    >>> from hippozoo.systems import LegT
    >>> system = LegT(order=5, timescale=1.0)
    >>> bool(np.allclose(system.structure.dense(), system.A))
    True
    """

    diagonal: Float[np.ndarray, " order"]
    lower_row: Float[np.ndarray, " order"]
    lower_column: Float[np.ndarray, " order"]
    upper_row: Float[np.ndarray, " order"]
    upper_column: Float[np.ndarray, " order"]

    def dense(self) -> Float[np.ndarray, "order order"]:
        """The matrix itself."""
        lower = np.tril(np.outer(self.lower_row, self.lower_column), -1)
        upper = np.triu(np.outer(self.upper_row, self.upper_column), 1)
        return np.diag(self.diagonal) + lower + upper


@dataclass(frozen=True)
class HippoSystem(Immutable, ABC):
    """A memory that keeps the past as coefficients in a basis: ``state' = (A state + b signal) / timescale``.

    A system is data. Engines (discretisation, scans, plots) are generic and ask it for what they need.
    Lag 0 is the present. Lags come in the user's time unit and are divided by the timescale inside;
    ``A`` and ``b`` belong to timescale 1.

    Parameters
    ----------
    order
        Number of coefficients kept, N in the paper.
    timescale
        The unit of the system's own time, in the user's time unit.

    Examples
    --------
    >>> from hippozoo.systems import LegT
    >>> system = LegT(order=3, timescale=10.0)
    >>> constant_past = np.array([1.0, 0.0, 0.0])
    >>> system.reconstruct(constant_past, np.array([0.0, 5.0, 10.0])).round(6).tolist()
    [1.0, 1.0, 1.0]
    """

    order: int
    timescale: float

    def __post_init__(self) -> None:
        order = whole_number("order", self.order, why="a memory has at least one coefficient")
        timescale = positive_number("timescale", self.timescale, why="it is a duration in your time unit")
        # Plain numbers, so that equal systems compare, hash and serialise alike whatever was passed.
        object.__setattr__(self, "order", order)
        object.__setattr__(self, "timescale", timescale)

    @cached_property
    @abstractmethod
    def A(self) -> Float[np.ndarray, "order order"]:
        """The dynamics at timescale 1 (float64, read-only)."""

    @cached_property
    @abstractmethod
    def b(self) -> Float[np.ndarray, " order"]:
        """How a sample enters, at timescale 1 (float64, read-only)."""

    @abstractmethod
    def weight(self, lag: Float[np.ndarray, "*lags"] | float) -> Float[np.ndarray, "*lags"]:
        """How much accuracy at each lag counts; integrates to 1 over all lags."""

    @abstractmethod
    def _values(self, scaled_lag: Float[np.ndarray, "*lags"]) -> Float[np.ndarray, "*lags order"]:
        """The basis at lags already checked and divided by the timescale."""

    @property
    def window(self) -> float:
        """The longest lag that is remembered, in the user's time unit; infinite for a fading memory."""
        return math.inf

    @property
    def structure(self) -> Semiseparable | None:
        """The O(N) form of ``A``, where there is one."""
        return None

    @cached_property
    def forgotten_after(self) -> float:
        """Time, in timescales, after which nothing is left of a state: ``exp(A t)`` is below 1e-30, a power of 2.

        Infinite for a system that has not forgotten after 1e12 timescales.
        """
        left, time = expm(self.A), 1.0
        while not np.linalg.norm(left) < FORGOTTEN:  # NaN counts as not forgotten
            if time > 1e12 or not np.isfinite(left).all():
                return math.inf
            left, time = left @ left, 2 * time
        return time

    def basis(self, lag: Float[np.ndarray, "*lags"] | float) -> Float[np.ndarray, "*lags order"]:
        """The basis functions at each lag, orthonormal under `weight`; order is the last axis."""
        return self._values(np.asarray(self._checked_lags(lag) / self.timescale))

    def reconstruct(
        self, state: Float[np.ndarray, "*batch order"], lag: Float[np.ndarray, "*lags"] | float
    ) -> Float[np.ndarray, "*batch *lags"]:
        """What the state remembers of the signal at each lag.

        A system with an infinite `window` answers at every lag, but only up to a few timescales is the answer about
        the signal; `weight` says how much each lag counted.
        """
        coefficients = real_array("state", state)
        if coefficients.ndim == 0 or coefficients.shape[-1] != self.order:
            raise ValueError(
                f"state has shape {coefficients.shape}, but {self!r} keeps {self.order} coefficients on the "
                f"last axis; pass a state of shape (..., {self.order})."
            )
        return np.tensordot(coefficients, self.basis(lag), axes=([-1], [-1]))

    def _checked_lags(self, lag: Float[np.ndarray, "*lags"] | float) -> Float[np.ndarray, "*lags"]:
        lags = real_array("lag", lag)
        if lags.size and lags.min() < 0:
            raise ValueError(f"lag={lags.min()} is in the future; lag 0 is the present, pass lag >= 0.")
        # A grid like linspace(0, window) may end one rounding beyond the window.
        if lags.size and lags.max() > self.window * (1 + 1e-12):
            raise ValueError(
                f"lag={lags.max()} is outside the remembered window 0 to {self.window}; "
                f"ask within it, or build {type(self).__name__} with a larger timescale."
            )
        return np.asarray(np.minimum(lags, self.window))


class WindowSystem(HippoSystem):
    """A system that remembers the last `timescale` of the signal, and nothing before."""

    @property
    def window(self) -> float:
        """The timescale itself."""
        return self.timescale

    def weight(self, lag: Float[np.ndarray, "*lags"] | float) -> Float[np.ndarray, "*lags"]:
        """The same everywhere in the window, nothing outside."""
        lag = np.asarray(lag, float)
        return np.where((lag >= 0) & (lag <= self.timescale), 1 / self.timescale, 0.0)


class FadingSystem(HippoSystem):
    """A system whose past fades exponentially."""

    def weight(self, lag: Float[np.ndarray, "*lags"] | float) -> Float[np.ndarray, "*lags"]:
        """Exponential: 1/e of the present at one timescale."""
        lag = np.asarray(lag, float)
        return np.where(lag >= 0, np.exp(-np.maximum(lag, 0.0) / self.timescale) / self.timescale, 0.0)
