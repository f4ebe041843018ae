"""Leg-S: a Legendre memory whose past fades exponentially."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from hippozoo.polynomials import shifted_legendre
from hippozoo.systems.base import FadingSystem, Semiseparable, read_only

__all__ = ["LegS"]


@dataclass(frozen=True)
class LegS(FadingSystem):
    r"""Remembers the whole past, ever more coarsely: the weight is :math:`\omega(\tau) = e^{-\tau}`.

    *Weight*: exponential. *Basis*: Legendre polynomials in :math:`1 - e^{-\tau}`. *Present*: lag 0, where every
    basis function is positive. *Window*: none; the past fades with `timescale`.

    The state is the projection of the past exactly, at every order and for every signal.

    Read it within a few timescales. At order 16, a sine of period :math:`2\pi` timescales is read within 0.07 up to 3
    timescales; from 10 on the reading is about as large as the signal, and wrong. Details that the order does not
    resolve are lost earlier.

    This is the time-invariant Leg-S of S4 and of the HiPPO zoo. The Leg-S of the 2020 HiPPO paper scales with
    the age of the stream (its dynamics carry 1/t) and is :class:`hippozoo.memory.GrowingMemory`.

    Parameters
    ----------
    order
        Number of coefficients kept, N in the paper.
    timescale
        Lag at which the weight has dropped to 1/e, in the user's time unit.

    Examples
    --------
    A constant past fills the first coefficient and no other.

    >>> system = LegS(order=4, timescale=1.0)
    >>> settled = np.linalg.solve(-system.A, system.b)
    >>> bool(np.allclose(settled, [1, 0, 0, 0]))
    True

    References
    ----------
    Paper, appendix B. Gu et al. (2020), HiPPO; Gu et al. (2023), How to Train Your HiPPO.
    """

    @cached_property
    def b(self) -> Float[np.ndarray, " order"]:
        """The basis at the present."""
        return read_only(np.sqrt(2.0 * np.arange(self.order) + 1))

    @cached_property
    def A(self) -> Float[np.ndarray, "order order"]:
        """Lower triangular: -b_n b_k below the diagonal, -(n + 1) on it."""
        return read_only(-np.tril(np.outer(self.b, self.b), -1) - np.diag(np.arange(self.order) + 1.0))

    @property
    def structure(self) -> Semiseparable:
        """One running sum: the strict lower part is -b b'."""
        nothing = np.zeros(self.order)
        return Semiseparable(-(np.arange(self.order) + 1.0), -self.b, self.b, nothing, nothing)

    def _values(self, scaled_lag: Float[np.ndarray, "*lags"]) -> Float[np.ndarray, "*lags order"]:
        # Far lags crowd at s = 1, where L_n(1 - q) = (-1)^n L_n(q); q = exp(-lag) has the digits 1 - q has not.
        faded = np.exp(-scaled_lag)
        far = faded < 0.5
        values = shifted_legendre(np.where(far, faded, -np.expm1(-scaled_lag)), self.order)
        values[..., 1::2] *= np.where(far, -1.0, 1.0)[..., None]
        return values
