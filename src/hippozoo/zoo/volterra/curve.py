"""A static nonlinearity one can read: a polynomial inside a range, straight lines beyond it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy.polynomial import chebyshev

from hippozoo._internal.arguments import positive_number, real_array, whole_number

__all__ = ["BoundedPolynomial"]


@dataclass(frozen=True)
class BoundedPolynomial:
    """A polynomial of z for abs(z) <= reach, continued by its tangents: it never extrapolates wildly.

    Its coefficients multiply the Chebyshev polynomials of z / reach.

    Parameters
    ----------
    degree
        Degree of the polynomial.
    reach
        Where the straight lines begin.

    Examples
    --------
    >>> curve = BoundedPolynomial(degree=2, reach=1.0)
    >>> square = np.array([0.5, 0.0, 0.5])  # z^2 = (T_0 + T_2) / 2
    >>> curve.value(square, np.array([0.5, 1.0, 2.0])).tolist()  # beyond 1: the tangent 2 z - 1
    [0.25, 1.0, 3.0]
    """

    degree: int
    reach: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "degree", whole_number("degree", self.degree))
        object.__setattr__(self, "reach", positive_number("reach", self.reach))

    @property
    def terms(self) -> int:
        """Number of coefficients."""
        return self.degree + 1

    def basis(
        self, z: Float[np.ndarray, " time"]
    ) -> tuple[Float[np.ndarray, "time terms"], Float[np.ndarray, "time terms"]]:
        """The bounded Chebyshev polynomials at z, and their slopes."""
        scaled = np.asarray(z, float) / self.reach
        inside = np.clip(scaled, -1.0, 1.0)
        first, second = np.empty((2, len(scaled), self.terms))
        first[:, 0], first[:, 1] = 1.0, inside
        second[:, 0], second[:, 1] = 1.0, 2 * inside
        for m in range(2, self.terms):
            first[:, m] = 2 * inside * first[:, m - 1] - first[:, m - 2]
            second[:, m] = 2 * inside * second[:, m - 1] - second[:, m - 2]
        # T_m' = m U_(m-1); outside, the slope stays that of the end.
        slopes = np.zeros_like(first)
        slopes[:, 1:] = second[:, :-1] * np.arange(1, self.terms)
        first += slopes * (scaled - inside)[:, None]
        return first, slopes / self.reach

    def value(
        self, coefficients: Float[np.ndarray, " terms"], z: Float[np.ndarray, " time"]
    ) -> Float[np.ndarray, " time"]:
        """The curve at z."""
        return self.basis(real_array("z", z))[0] @ coefficients

    def monomials(self, coefficients: Float[np.ndarray, " terms"]) -> Float[np.ndarray, " terms"]:
        """The same polynomial, inside its range, as coefficients of the powers of z."""
        powers = chebyshev.cheb2poly(coefficients)
        return np.pad(powers, (0, self.terms - len(powers))) / self.reach ** np.arange(self.terms)
