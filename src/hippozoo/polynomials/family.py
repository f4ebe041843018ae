"""What every family of orthonormal polynomials can do: values, Jacobi matrix, Gauss rule, kernel."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from jaxtyping import Float
from scipy.linalg import eigh_tridiagonal

from hippozoo._internal.arguments import real_array, shorten, whole_number
from hippozoo._internal.immutable import Immutable
from hippozoo.polynomials._kernels import three_term

__all__ = ["End", "OrthonormalFamily", "Points", "Recurrence"]

End = Literal["left", "right"]
Points = Float[np.ndarray, "*points"] | float
Recurrence = tuple[Float[np.ndarray, " order"], Float[np.ndarray, " order-1"]]


class OrthonormalFamily(Immutable, ABC):
    r"""Polynomials :math:`\varphi_0 = 1, \varphi_1, \ldots` orthonormal under a *probability* measure.

    A family is its three-term recurrence,

    .. math:: x\,\varphi_n = o_{n-1}\,\varphi_{n-1} + d_n\,\varphi_n + o_n\,\varphi_{n+1},

    with :math:`d` the diagonal and :math:`o` the off-diagonal of the Jacobi matrix. The sign of :math:`o`
    says at which end of the interval all polynomials are positive: negative means the left one.

    Every method takes the first `order` polynomials, or all that the family has.

    Examples
    --------
    An N-point Gauss rule integrates products of two of the first N polynomials exactly.

    >>> from hippozoo.polynomials import Chebyshev
    >>> family = Chebyshev(order=5, interval=(2.0, 3.0))
    >>> nodes, weights = family.gauss_rule()
    >>> values = family.values(nodes)
    >>> bool(np.allclose(values.T @ (weights[:, None] * values), np.eye(5)))
    True

    References
    ----------
    Golub and Welsch (1969), Calculation of Gauss quadrature rules; Gautschi (2004), Orthogonal Polynomials.
    """

    order: int
    interval: tuple[float, float]

    @cached_property
    @abstractmethod
    def recurrence(self) -> Recurrence:
        """Diagonal and off-diagonal of the Jacobi matrix (float64, read-only)."""

    def values(self, x: Points, order: int | None = None) -> Float[np.ndarray, "*points degrees"]:
        """The polynomials at each point of the interval; degree is the last axis."""
        order = self._checked_order(order)
        return self._values(self._checked_points("x", x), order)

    def jacobi_matrix(self, order: int | None = None) -> Float[np.ndarray, "degrees degrees"]:
        """Multiplication by x in this basis, cut to the first `order` polynomials: symmetric, tridiagonal."""
        order = self._checked_order(order)
        diagonal, off_diagonal = self._cut(order)
        return np.diag(diagonal) + np.diag(off_diagonal, 1) + np.diag(off_diagonal, -1)

    def gauss_rule(
        self, order: int | None = None
    ) -> tuple[Float[np.ndarray, " degrees"], Float[np.ndarray, " degrees"]]:
        """Nodes (rising) and weights (sum 1), exact for polynomials of degree below 2 * order.

        Every weight is right to its own last digits, also where the measure is nearly nothing.
        """
        order = self._checked_order(order)
        diagonal, off_diagonal = self._cut(order)
        # Eigenvalues may fall one rounding outside the interval that holds them.
        nodes = np.clip(eigh_tridiagonal(diagonal, off_diagonal, eigvals_only=True), *self.interval)
        # One step of Rayleigh quotients: all rows of J v = x v hold by recurrence, but for the last.
        vectors = self._eigenvectors(nodes, order)
        residual = (nodes - diagonal[-1]) * vectors[:, -1]
        if order > 1:
            residual -= off_diagonal[-1] * vectors[:, -2]
        nodes = np.clip(nodes - residual * vectors[:, -1], *self.interval)
        # 1 / K(x, x); eigenvectors from a matrix routine are right to 1e-16 of their length only.
        weights = self._eigenvectors(nodes, order)[:, 0] ** 2
        return nodes, weights / weights.sum()

    def reproducing_kernel(
        self,
        x: Float[np.ndarray, "*rows"] | float,
        y: Float[np.ndarray, "*columns"] | float,
        order: int | None = None,
        *,
        normalised: bool = False,
    ) -> Float[np.ndarray, "*rows *columns"]:
        r"""How strongly a value at y speaks at x: :math:`K(x, y) = \sum_n \varphi_n(x)\,\varphi_n(y)`.

        Every x meets every y. With ``normalised=True`` the result is divided by
        :math:`\sqrt{K(x, x)\,K(y, y)}`, so that it is 1 where x = y and between -1 and 1 elsewhere.

        Examples
        --------
        >>> from hippozoo.polynomials import Legendre
        >>> family = Legendre(order=3)
        >>> float(family.reproducing_kernel(0.0, 0.0).round(12))
        9.0
        >>> float(family.reproducing_kernel(0.0, 0.0, normalised=True).round(12))
        1.0
        """
        left, right = self.values(x, order), self.values(y, order)
        if normalised:
            left, right = _unit_length(left), _unit_length(right)
        return np.tensordot(left, right, axes=([-1], [-1]))

    def _values(self, x: Float[np.ndarray, "*points"], order: int) -> Float[np.ndarray, "*points degrees"]:
        """The polynomials at points already checked."""
        rows = np.empty((order, x.size))
        rows[0] = 1.0
        three_term(x.ravel(), *self.recurrence, rows)
        return degree_last(rows, x.shape)

    def _eigenvectors(self, nodes: Float[np.ndarray, " degrees"], order: int) -> Float[np.ndarray, "degrees degrees"]:
        """Of the Jacobi matrix, one row per node: the polynomials there, scaled to length 1."""
        values = self._values(nodes, order)
        # Where the measure is nil, values may leave the range of floats; so does then the weight, to zero.
        within = np.isfinite(values).all(axis=-1)
        vectors = np.zeros((order, order))
        vectors[within] = _unit_length(values[within])
        return vectors

    def _cut(self, order: int) -> Recurrence:
        diagonal, off_diagonal = self.recurrence
        return diagonal[:order], off_diagonal[: order - 1]

    def _checked_order(self, order: int | None) -> int:
        if order is None:
            return self.order
        number = whole_number("order", order, why="a basis has at least one polynomial")
        if number > self.order:
            raise ValueError(
                f"order={number}, but {type(self).__name__} was built with {self.order} polynomials; "
                f"build it with order >= {number}."
            )
        return number

    def _checked_points(self, name: str, x: Points) -> Float[np.ndarray, "*points"]:
        points = real_array(name, x)
        lower, upper = self.interval
        # A grid like linspace(lower, upper) may end one rounding beyond the interval.
        slack = 1e-12 * (upper - lower) if np.isfinite(upper) else 0.0
        outside = (points < lower - slack) | (points > upper + slack)
        if outside.any():
            raise ValueError(
                f"{name}={points[outside].flat[0]} is outside the interval {lower} to {upper}, where alone "
                f"the polynomials are orthonormal; pass points within it, or build them on a larger interval."
            )
        return np.asarray(np.clip(points, lower, upper))


@dataclass(frozen=True)
class OnInterval(OrthonormalFamily):
    """A family on a bounded interval, at whose end `positive_at` all polynomials are positive."""

    order: int
    interval: tuple[float, float] = (0.0, 1.0)
    positive_at: End = "right"

    def __post_init__(self) -> None:
        order = whole_number("order", self.order, why="a basis has at least one polynomial")
        object.__setattr__(self, "order", order)
        object.__setattr__(self, "interval", checked_interval(self.interval))
        orientation(self.positive_at)


def degree_last(rows: Float[np.ndarray, "degrees flat"], shape: tuple[int, ...]) -> np.ndarray:
    """Rows by degree, as the recurrence makes them, seen with the degree on the last axis (no copy)."""
    return np.moveaxis(rows.reshape(len(rows), *shape), 0, -1)


def _unit_length(values: Float[np.ndarray, "*points degrees"]) -> Float[np.ndarray, "*points degrees"]:
    """Each vector divided by its length; first by its largest value, whose square may be too large for a float."""
    scaled = values / np.abs(values).max(axis=-1, keepdims=True)
    return scaled / np.linalg.norm(scaled, axis=-1, keepdims=True)


def checked_interval(interval: tuple[float, float]) -> tuple[float, float]:
    """Two finite numbers, the left one first."""
    try:
        lower, upper = interval
    except (TypeError, ValueError):
        raise TypeError(f"interval={shorten(interval)}; pass two numbers, for example (0.0, 1.0).") from None
    left, right = real_array("interval", [lower, upper], what_to_do="For the half-line use Laguerre.").tolist()
    if not left < right:
        raise ValueError(f"interval={shorten(interval)} is empty; pass (lower, upper) with lower < upper.")
    if not np.isfinite(right - left):
        raise ValueError(f"interval={shorten(interval)} is longer than a float can say; change the unit of x.")
    return left, right


def orientation(positive_at: End) -> float:
    """The sign of the off-diagonal: all polynomials are positive at the end that is named."""
    if positive_at not in get_args(End):
        raise ValueError(f"positive_at={positive_at!r} is no end of the interval; pass 'left' or 'right'.")
    return -1.0 if positive_at == "left" else 1.0
