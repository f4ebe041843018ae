"""Lag-T: a Laguerre memory, polynomials in the lag itself under an exponential weight."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from hippozoo.polynomials import Laguerre
from hippozoo.polynomials.laguerre import LARGEST_ARGUMENT
from hippozoo.systems.base import FadingSystem, Semiseparable, read_only

__all__ = ["LagT"]


@dataclass(frozen=True)
class LagT(FadingSystem):
    r"""Remembers the whole past under the weight :math:`\omega(\tau) = e^{-\tau}`, by polynomials in the lag.

    *Weight*: exponential, as in Leg-S. *Basis*: Laguerre polynomials :math:`L_n(\tau)`. *Present*: lag 0, where
    every basis function is 1. *Window*: none; the past fades with `timescale`.

    The state is the projection of the past exactly, at every order and for every signal. Around a lag of one
    timescale it resolves details of about 1/sqrt(order) where Leg-S resolves 1/order; in return, what is
    polynomial in time itself is remembered without loss.

    Read it within a few timescales. The basis grows like :math:`e^{\tau/2}`, and what the coefficients miss grows with
    it: at order 16, a sine of period :math:`2\pi` timescales is read within 0.01 up to 3 timescales and within 0.2 up
    to 10, but before 20 timescales the reading errs by up to 14, and before 40 by up to 70,000. Details that the order
    does not resolve are lost earlier. Lags beyond 1400 timescales and orders above 1024 are refused.

    Parameters
    ----------
    order
        Number of coefficients kept, N in the paper; at most 1024.
    timescale
        Lag at which the weight has dropped to 1/e, in the user's time unit.

    Examples
    --------
    A constant past fills the first coefficient and no other.

    >>> system = LagT(order=4, timescale=1.0)
    >>> settled = np.linalg.solve(-system.A, system.b)
    >>> bool(np.allclose(settled, [1, 0, 0, 0]))
    True

    Notes
    -----
    From the projection: with :math:`L_n' = -\sum_{k<n} L_k`, integration by parts gives
    :math:`s_n' = f(t) L_n(0) + \int f(t-\tau) (e^{-\tau} L_n)' d\tau = f(t) - \sum_{k \le n} s_k`.

    References
    ----------
    Gu et al. (2020), HiPPO, appendix D.2 (there with parameters alpha = 0, beta = 1). s4's ``lagt`` keeps other
    functions, tilted by :math:`e^{\tau/2}`.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        Laguerre(self.order)  # refuses orders beyond the reach of Laguerre values

    @cached_property
    def b(self) -> Float[np.ndarray, " order"]:
        """The basis at the present."""
        return read_only(np.ones(self.order))

    @cached_property
    def A(self) -> Float[np.ndarray, "order order"]:
        """Lower triangular: -1 everywhere on and below the diagonal."""
        return read_only(-np.tril(np.ones((self.order, self.order))))

    @property
    def structure(self) -> Semiseparable:
        """One running sum."""
        ones, nothing = np.ones(self.order), np.zeros(self.order)
        return Semiseparable(-ones, -ones, ones, nothing, nothing)

    def _values(self, scaled_lag: Float[np.ndarray, "*lags"]) -> Float[np.ndarray, "*lags order"]:
        return Laguerre(self.order).values(scaled_lag)

    def _checked_lags(self, lag: Float[np.ndarray, "*lags"] | float) -> Float[np.ndarray, "*lags"]:
        lags = super()._checked_lags(lag)
        reach = LARGEST_ARGUMENT * self.timescale
        if lags.size and lags.max() > reach:
            raise ValueError(
                f"lag={lags.max()} is beyond {reach}, where the basis of {self!r} leaves the range of floats and "
                f"its weight is nil; ask for lags within a few timescales."
            )
        return lags
