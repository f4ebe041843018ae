"""Legendre polynomials: on [0, 1] oriented so that 0 is the present, and on any bounded interval."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from hippozoo._internal.arguments import real_array, whole_number
from hippozoo._internal.immutable import read_only
from hippozoo.polynomials._kernels import difference_integrals, difference_recurrence
from hippozoo.polynomials.family import OnInterval, Recurrence, degree_last, orientation

__all__ = ["Legendre", "shifted_legendre", "shifted_legendre_integrals"]


def shifted_legendre(s: Float[np.ndarray, "*points"] | float, order: int) -> Float[np.ndarray, "*points order"]:
    r"""The first `order` polynomials :math:`L_n(s) = \sqrt{2n+1}\,(-1)^n P_n(2s-1)`, orthonormal on [0, 1].

    Accurate to rounding at both ends too, at any order in use (1e-14 relative to L_n(0) at order 512).

    Examples
    --------
    >>> shifted_legendre(np.array([0.0, 1.0]), 3).round(3).tolist()
    [[1.0, 1.732, 2.236], [1.0, -1.732, 2.236]]
    """
    points = real_array("s", s)
    order = whole_number("order", order, why="a basis has at least one polynomial")
    flat = points.ravel()
    # L_n(1 - s) = (-1)^n L_n(s), and 1 - s is exact for s > 1/2: each point is served from its nearer end.
    far = flat > 0.5
    rows = np.empty((order, flat.size))
    difference_recurrence(
        np.where(far, 1.0 - flat, flat),
        np.ones(flat.size),
        np.where(far, -1.0, 1.0),
        *_differences(order),
        np.sqrt(2.0 * np.arange(order) + 1),
        rows,
    )
    return degree_last(rows, points.shape)


def shifted_legendre_integrals(
    s: Float[np.ndarray, "*points"] | float, order: int
) -> Float[np.ndarray, "*points order"]:
    r"""The integrals :math:`\int_0^s L_n` of the first `order` shifted Legendre polynomials.

    Differences over the edges of a cell say how a sample held over that cell enters the memory.

    Examples
    --------
    Over the whole interval every polynomial but the first cancels itself.

    >>> bool(np.allclose(shifted_legendre_integrals(1.0, 4), [1, 0, 0, 0]))
    True
    """
    points = real_array("s", s)
    order = whole_number("order", order, why="a basis has at least one polynomial")
    flat = points.ravel()
    far = flat > 0.5
    # The integrals from 0 to 1 vanish, so those up to s are, but for the sign, those from the other end.
    rows = np.empty((order, flat.size))
    rows[0] = flat
    scale = 0.5 / np.sqrt(2.0 * np.arange(order) + 1)  # P_n = (P_{n+1} - P_{n-1})' / (2n + 1)
    difference_integrals(np.where(far, 1.0 - flat, flat), np.where(far, -1.0, 1.0), *_differences(order), scale, rows)
    return degree_last(rows, points.shape)


def _differences(order: int) -> tuple[Float[np.ndarray, " order"], Float[np.ndarray, " order"]]:
    """(n + 1) (P_{n+1} - P_n) = n (P_n - P_{n-1}) - 2 (2n + 1) s P_n, with s the distance from the end."""
    n = np.arange(order)
    return n / (n + 1.0), 2.0 * (2 * n + 1) / (n + 1)


@dataclass(frozen=True)
class Legendre(OnInterval):
    """Legendre polynomials under the uniform probability measure of a bounded interval.

    Parameters
    ----------
    order
        How many polynomials, from the constant 1 upwards.
    interval
        Where they are orthonormal.
    positive_at
        The end of the interval at which all of them are positive; textbooks take the right one, memories the
        left one, where the present is.

    Examples
    --------
    On [0, 1] with the present on the left they are the basis of the windowed memory.

    >>> family = Legendre(order=4, interval=(0.0, 1.0), positive_at="left")
    >>> bool(np.allclose(family.values(0.3), shifted_legendre(0.3, 4)))
    True
    """

    @cached_property
    def recurrence(self) -> Recurrence:
        """(n + 1) P_{n+1} = (2n + 1) x P_n - n P_{n-1}, normalised and moved to the interval."""
        n = np.arange(1.0, self.order)
        lower, upper = self.interval
        off_diagonal = orientation(self.positive_at) * (upper - lower) / 2 * n / np.sqrt(4 * n**2 - 1)
        return read_only(np.full(self.order, (lower + upper) / 2)), read_only(off_diagonal)

    def _values(self, x: Float[np.ndarray, "*points"], order: int) -> Float[np.ndarray, "*points degrees"]:
        lower, upper = self.interval
        from_positive_end = x - lower if self.positive_at == "left" else upper - x
        return shifted_legendre(from_positive_end / (upper - lower), order)
