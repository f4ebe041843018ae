"""Leg-T: a Legendre memory of a sliding window."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from hippozoo.polynomials import shifted_legendre
from hippozoo.systems.base import Semiseparable, WindowSystem, read_only

__all__ = ["LegT"]


@dataclass(frozen=True)
class LegT(WindowSystem):
    r"""Remembers the last `timescale` of the signal, every part of it equally well.

    *Weight*: uniform on the window. *Basis*: Legendre polynomials on it. *Present*: the left end of the
    window, where every basis function is positive. *Window*: ``timescale``; what is older is forgotten.

    What leaves the window is not known exactly, only as the memory itself reconstructs it, so the state is the
    projection of the past exactly for polynomials of degree below the order, and nearly for smooth signals.

    Parameters
    ----------
    order
        Number of coefficients kept, N in the paper.
    timescale
        Length of the window, in the user's time unit.

    Examples
    --------
    A straight line needs two coefficients.

    >>> system = LegT(order=4, timescale=10.0)
    >>> rising = np.array([5.0, 10 / 12**0.5, 0.0, 0.0])
    >>> bool(np.allclose(system.reconstruct(rising, np.array([0.0, 2.5, 10.0])), [10.0, 7.5, 0.0]))
    True

    References
    ----------
    Paper, appendix B; its table prints another matrix, see docs/adr/0001. Voelker et al. (2019), LMU;
    Gu et al. (2020), HiPPO.
    """

    @cached_property
    def b(self) -> Float[np.ndarray, " order"]:
        """The basis at the present."""
        return read_only(np.sqrt(2.0 * np.arange(self.order) + 1))

    @cached_property
    def A(self) -> Float[np.ndarray, "order order"]:
        """Full: -b_n b_k, with alternating sign above the diagonal, where the window's far end speaks."""
        n = np.arange(self.order)
        alternating = (-1.0) ** np.abs(n[:, None] - n)
        return read_only(-np.outer(self.b, self.b) * np.where(n[:, None] >= n, 1.0, alternating))

    @property
    def structure(self) -> Semiseparable:
        """One running sum in each direction."""
        signed = self.b * (-1.0) ** np.arange(self.order)
        return Semiseparable(-(self.b**2), -self.b, self.b, -signed, signed)

    def _values(self, scaled_lag: Float[np.ndarray, "*lags"]) -> Float[np.ndarray, "*lags order"]:
        return shifted_legendre(scaled_lag, self.order)
