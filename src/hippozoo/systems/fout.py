"""Fou-T: a Fourier memory of a sliding window."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from hippozoo.systems.base import WindowSystem, read_only

__all__ = ["FouT"]


@dataclass(frozen=True)
class FouT(WindowSystem):
    r"""Remembers the last `timescale` of the signal by its Fourier coefficients.

    *Weight*: uniform on the window. *Basis*: :math:`1, \sqrt2\cos 2\pi s, \sqrt2\sin 2\pi s, \sqrt2\cos 4\pi s,
    \ldots` with s = lag / timescale. *Present*: the left end of the window, where cosines are :math:`\sqrt2` and
    sines are 0. *Window*: ``timescale``; what is older is forgotten.

    The state is the projection of the past exactly for signals that repeat after one window and have no more
    harmonics than the order. Others jump where the window's ends meet, and a Fourier series takes the middle
    of a jump; so the reconstruction near lag 0 and near the end of the window tends to their mean.

    Parameters
    ----------
    order
        Number of coefficients kept: the mean, and a cosine and a sine for each harmonic. Odd.
    timescale
        Length of the window, in the user's time unit.

    Examples
    --------
    A constant past fills the first coefficient and no other.

    >>> system = FouT(order=5, timescale=1.0)
    >>> settled = np.linalg.solve(-system.A, system.b)
    >>> bool(np.allclose(settled, [1, 0, 0, 0, 0]))
    True

    Notes
    -----
    From the projection: :math:`s' = \varphi(0)\,(f(t) - f(t-1)) + D s`, where D differentiates the basis. What
    leaves the window, f(t-1), is read off the state; the series at the seam gives the mean of the two ends,
    :math:`\varphi(0)^T s = (f(t) + f(t-1)) / 2`, hence
    :math:`s' = (D - 2\,\varphi(0)\varphi(0)^T)\,s + 2\,\varphi(0)\,f(t)`. The factor 2 is the difference from
    reading f(t-1) as the value of the series.

    References
    ----------
    Gu et al. (2023), How to Train Your HiPPO (there HiPPO-FouT).
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.order % 2 == 0:
            raise ValueError(
                f"order={self.order}: a Fourier memory keeps the mean and a pair of coefficients per harmonic; "
                f"pass an odd order, for example {self.order + 1}."
            )

    @cached_property
    def b(self) -> Float[np.ndarray, " order"]:
        """Twice the basis at the present."""
        return read_only(2 * self._values(np.zeros(())))

    @cached_property
    def A(self) -> Float[np.ndarray, "order order"]:
        """Each harmonic turns, and all are pulled towards the sample: D - b b' / 2."""
        cosine = np.arange(1, self.order, 2)
        turn = np.pi * (cosine + 1)  # 2 pi times the number of the harmonic
        A = -np.outer(self.b, self.b) / 2
        A[cosine, cosine + 1] -= turn
        A[cosine + 1, cosine] += turn
        return read_only(A)

    def _values(self, scaled_lag: Float[np.ndarray, "*lags"]) -> Float[np.ndarray, "*lags order"]:
        angle = 2 * np.pi * scaled_lag[..., None] * np.arange(1, self.order // 2 + 1)
        values = np.ones((*scaled_lag.shape, self.order))
        values[..., 1::2] = np.sqrt(2) * np.cos(angle)
        values[..., 2::2] = np.sqrt(2) * np.sin(angle)
        return values
