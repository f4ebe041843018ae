"""A family of orthonormal polynomials given by the numbers of its recurrence."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from hippozoo._internal.arguments import real_array
from hippozoo._internal.immutable import read_only
from hippozoo.polynomials.family import OrthonormalFamily, Recurrence, checked_interval

__all__ = ["Tabulated"]


@dataclass(frozen=True, eq=False, repr=False)
class Tabulated(OrthonormalFamily):
    """A family given by the numbers of its recurrence, as :func:`from_weight` finds them.

    Parameters
    ----------
    diagonal, off_diagonal
        The Jacobi matrix: `order` numbers, and one fewer, none of them zero.
    interval
        Where the polynomials are orthonormal.

    Examples
    --------
    The numbers of Chebyshev's family make Chebyshev's family.

    >>> from hippozoo.polynomials import Chebyshev
    >>> known = Chebyshev(order=3)
    >>> family = Tabulated(*known.recurrence, known.interval)
    >>> bool(np.allclose(family.values(0.2), known.values(0.2)))
    True
    """

    diagonal: Float[np.ndarray, " order"]
    off_diagonal: Float[np.ndarray, " order-1"]
    interval: tuple[float, float]

    def __post_init__(self) -> None:
        diagonal = real_array("diagonal", self.diagonal)
        off_diagonal = real_array("off_diagonal", self.off_diagonal)
        if diagonal.ndim != 1 or not diagonal.size or off_diagonal.shape != (diagonal.size - 1,):
            raise ValueError(
                f"diagonal has shape {diagonal.shape} and off_diagonal {off_diagonal.shape}; "
                f"pass (order,) and (order - 1,) with order >= 1."
            )
        if not off_diagonal.all():
            raise ValueError("off_diagonal holds a zero, at which the recurrence ends; pass a lower order.")
        # Copies, so that nobody can write into what is meant to stay.
        object.__setattr__(self, "diagonal", read_only(diagonal.copy()))
        object.__setattr__(self, "off_diagonal", read_only(off_diagonal.copy()))
        object.__setattr__(self, "interval", checked_interval(self.interval))

    @property
    def order(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """How many polynomials there are."""
        return len(self.diagonal)

    @cached_property
    def recurrence(self) -> Recurrence:
        """The numbers as they were given."""
        return self.diagonal, self.off_diagonal

    def __setstate__(self, state: dict[str, object]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)
        self.__post_init__()  # arrays come out of a pickle writable

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tabulated):
            return NotImplemented
        return (
            self.interval == other.interval
            and np.array_equal(self.diagonal, other.diagonal)
            and np.array_equal(self.off_diagonal, other.off_diagonal)
        )

    def __hash__(self) -> int:
        return hash((self.interval, self.diagonal.tobytes(), self.off_diagonal.tobytes()))

    def __repr__(self) -> str:
        return f"Tabulated(order={self.order}, interval={self.interval})"
