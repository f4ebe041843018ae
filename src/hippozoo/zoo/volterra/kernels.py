"""Volterra kernels in the time domain, exactly: what the products of past samples add to the output.

The state is ``Σ_j k_j signal_{t-j}`` with ``k_j = A_d^j b_d``, so a coefficient tensor β of degree k gives
``h[j1, …, jk] = Σ β[n1, …, nk] k_j1[n1] … k_jk[nk]``. In continuous time an impulse stands in the state as
``exp(A τ) b``: for Leg-S the paper's ω(τ) P(τ), of which a window of finite order has an approximation.
"""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float

from hippozoo._internal.arguments import real_array, whole_number
from hippozoo.discretise import discretise
from hippozoo.memory import Memory, response

__all__ = ["continuous_kernel", "default_length", "sample_kernel", "sample_responses"]

# A kernel of this many numbers is larger than anything one could look at or hold.
_MOST_NUMBERS = 200_000_000


def default_length(memory: Memory) -> int:
    """Samples in the memory's window, or in five timescales of a fading one."""
    return max(1, math.ceil(min(memory.system.window, 5 * memory.system.timescale) / memory.dt))


def sample_responses(memory: Memory, length: int | None = None) -> Float[np.ndarray, "length order"]:
    """``k_j = A_d^j b_d``: how a unit sample, j samples ago, stands in the state.

    Examples
    --------
    >>> from hippozoo.systems import LegS
    >>> memory = Memory(LegS(order=3, timescale=4.0))
    >>> impulse = np.array([1.0, 0.0, 0.0, 0.0])
    >>> bool(np.allclose(sample_responses(memory, 4), memory.scan(impulse)))
    True
    """
    count = default_length(memory) if length is None else whole_number("length", length)
    A_d, b_d = discretise(memory.system, memory.dt, memory.method)
    return response(A_d, b_d[None], count)[:, 0]


def sample_kernel(
    memory: Memory, tensor: Float[np.ndarray, "..."], length: int | None = None
) -> Float[np.ndarray, "..."]:
    """The kernel at sample lags 0 .. length - 1 of a coefficient tensor with one axis per factor.

    Axes are of length order; or of length channels * order, and then each axis of the kernel becomes two, (channels,
    length). By default `length` is the window, or five timescales.

    Examples
    --------
    >>> from hippozoo.systems import LegT
    >>> memory = Memory(LegT(order=8, timescale=20.0))
    >>> read_10_ago = memory.system.basis(10.5)
    >>> kernel = sample_kernel(memory, read_10_ago)
    >>> int(np.argmax(kernel))
    10
    """
    return _contract(tensor, sample_responses(memory, length), memory.system.order)


def continuous_kernel(
    memory: Memory, tensor: Float[np.ndarray, "..."], lags: Float[np.ndarray, " lags"]
) -> Float[np.ndarray, "..."]:
    """The kernel per unit of time, exact in continuous time, at these lags along each axis, in the system's unit.

    Examples
    --------
    The kernel of the first coefficient of Leg-S is its weight.

    >>> from hippozoo.systems import LegS
    >>> memory = Memory(LegS(order=2, timescale=4.0))
    >>> continuous_kernel(memory, np.array([1.0, 0.0]), np.array([0.0, 4.0])).round(4).tolist()
    [0.25, 0.092]
    """
    places = real_array("lags", lags)
    if places.ndim != 1:
        raise ValueError(f"lags has shape {places.shape}; pass one row of lags, used along each axis: (lags,).")
    if places.size and places.min() < 0:
        raise ValueError(f"lags has {places.min()}, which is in the future; lag 0 is the present, pass lags >= 0.")
    system = memory.system
    impulse = system.b / system.timescale
    exact, nothing = Memory(system), np.zeros(system.order)
    table = [exact.merge(impulse, nothing, elapsed=float(lag)) if lag > 0 else impulse for lag in places]
    return _contract(tensor, np.array(table).reshape(-1, system.order), system.order)


def _contract(tensor: np.ndarray, table: np.ndarray, order: int) -> np.ndarray:
    """Replace every axis of `order` coefficients by the rows of the table."""
    values = real_array("tensor", tensor)
    if any(side == 0 or side % order for side in values.shape):
        raise ValueError(
            f"tensor has shape {values.shape}; each axis must have order = {order} entries, or channels * {order}."
        )
    size = math.prod(side // order * len(table) for side in values.shape)
    if size > _MOST_NUMBERS:
        raise ValueError(
            f"a kernel of degree {values.ndim} at {len(table)} lags has {size:.2g} numbers; pass a smaller length."
        )
    sides = [n for side in values.shape for n in (side // order, len(table))]
    for side in values.shape:
        # The axis in front goes to the back, transformed; after all have gone they are in their first order again.
        parts = values.reshape(side // order, order, *values.shape[1:])
        moved = np.moveaxis(np.tensordot(parts, table, axes=([1], [1])), 0, -2)
        values = moved.reshape(*moved.shape[:-2], side // order * len(table))
    return values if max(sides[::2], default=1) == 1 else values.reshape(sides)
