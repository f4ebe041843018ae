"""Chebyshev polynomials: accuracy counts most towards the ends of the interval."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hippozoo._internal.immutable import read_only
from hippozoo.polynomials.family import OnInterval, Recurrence, orientation

__all__ = ["Chebyshev"]


@dataclass(frozen=True)
class Chebyshev(OnInterval):
    r"""Chebyshev polynomials of the first kind, orthonormal under the arcsine probability measure.

    On [-1, 1] they are :math:`1, \sqrt2\,T_1, \sqrt2\,T_2, \ldots` under :math:`1 / (\pi\sqrt{1-x^2})`.

    Parameters
    ----------
    order, interval, positive_at
        As in `Legendre`.

    Examples
    --------
    The Gauss rule has equal weights.

    >>> nodes, weights = Chebyshev(order=4, interval=(-1.0, 1.0)).gauss_rule()
    >>> bool(np.allclose(weights, 1 / 4))
    True
    """

    @cached_property
    def recurrence(self) -> Recurrence:
        """T_{n+1} = 2 x T_n - T_{n-1}, normalised and moved to the interval."""
        lower, upper = self.interval
        off_diagonal = np.full(self.order - 1, orientation(self.positive_at) * (upper - lower) / 4)
        off_diagonal[:1] *= np.sqrt(2)  # T_0 is normalised by 1, the others by sqrt(2)
        return read_only(np.full(self.order, (lower + upper) / 2)), read_only(off_diagonal)
