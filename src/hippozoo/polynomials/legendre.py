"""Legendre polynomials on [0, 1], oriented so that 0 is the present."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

__all__ = ["shifted_legendre"]


def shifted_legendre(s: Float[np.ndarray, "*points"] | float, order: int) -> Float[np.ndarray, "*points order"]:
    r"""The first `order` polynomials :math:`L_n(s) = \sqrt{2n+1}\,(-1)^n P_n(2s-1)`, orthonormal on [0, 1].

    Examples
    --------
    >>> shifted_legendre(np.array([0.0, 1.0]), 3).round(3).tolist()
    [[1.0, 1.732, 2.236], [1.0, -1.732, 2.236]]
    """
    x = 1.0 - 2.0 * np.asarray(s, float)
    values = np.ones((*x.shape, order))
    if order > 1:
        values[..., 1] = x
    for n in range(1, order - 1):
        values[..., n + 1] = ((2 * n + 1) * x * values[..., n] - n * values[..., n - 1]) / (n + 1)
    return values * np.sqrt(2.0 * np.arange(order) + 1)
