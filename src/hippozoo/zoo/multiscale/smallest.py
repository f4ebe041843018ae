"""The smallest memory that reads a range of horizons as well as is asked."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from hippozoo._internal.arguments import positive_number
from hippozoo.systems import HippoSystem
from hippozoo.zoo.multiscale.constructions import GeometricBank
from hippozoo.zoo.multiscale.coverage import Reader, expected_error, reference_past
from hippozoo.zoo.multiscale.memory import MultiscaleMemory

__all__ = ["smallest_memory"]

_HORIZONS_PER_DECADE = 32
_MOST_SCALES = 4096


def smallest_memory(
    system: HippoSystem, longest: float, excess: float = 0.05, dt: float = 1.0, dtype: str = "float64"
) -> MultiscaleMemory:
    """The parsimonious bank with the fewest numbers whose error is at most `excess` above that of plain memories.

    The error is that of `MultiscaleMemory.coverage`, worst over 32 horizons to the decade. The plain memory of each
    horizon has the order of `system`, and the bank answers with as many coefficients. It may keep fewer windows of a
    higher order than that, where this is smaller; then all the coefficients of its answers do better still.

    Parameters
    ----------
    system
        The plain memory to compete with; its timescale is the shortest horizon.
    longest
        The longest horizon.
    excess
        0.05 allows errors 5 % above those of the plain memory.
    dt, dtype
        Of the memory that is built.

    Examples
    --------
    Horizons 10 to 1000, five per cent.

    >>> from hippozoo.systems import LegT
    >>> memory = smallest_memory(LegT(order=4, timescale=10.0), longest=1e3, excess=0.05)
    >>> memory.construction, memory.size <= 40
    ('bank', True)
    """
    allowed = 1 + positive_number("excess", excess, why="0.05 allows errors 5 % above those of the plain memory")
    first = MultiscaleMemory(system, longest, None, "bank", dt, dtype)
    past = reference_past(first.shortest, first.longest, first.dt)
    count = max(17, math.ceil(_HORIZONS_PER_DECADE * math.log10(first.longest / first.shortest)) + 1)
    limits = []
    for horizon in np.geomspace(first.shortest, first.longest, count).tolist():
        plain = first.layout.plain_system(horizon)
        error = expected_error(past.responses(plain), past.projection(plain), past.covariance)
        limits.append((horizon, allowed * error))

    def good(order: int, scales: int) -> bool:
        reader = Reader(GeometricBank(replace(system, order=order), first.longest, scales), past)
        return all(reader.error(horizon, system.order) <= limit for horizon, limit in limits)

    best: tuple[int, int] | None = None
    for order in promising_orders(system):
        most = _MOST_SCALES if best is None else (math.prod(best) - 1) // order
        found = fewest(lambda scales, order=order: good(order, scales), most)
        if found is not None:
            best = order, found
    if best is None:
        raise ValueError(
            f"excess={excess} is not reached with {_MOST_SCALES} windows; allow more, pass a larger excess."
        )
    return MultiscaleMemory(replace(system, order=best[0]), first.longest, best[1], "bank", first.dt, dtype)


def promising_orders(system: HippoSystem) -> list[int]:
    """From the system's own order to twice as many, in steps of an eighth; the likeliest first."""
    step = max(1, system.order // 8)
    orders = []
    for order in range(system.order, 2 * system.order + 1, step):
        try:
            orders.append(replace(system, order=order).order)
        except ValueError:  # a Fourier memory has odd orders only
            continue
    return sorted(orders, key=lambda order: abs(order - 1.375 * system.order))


def fewest(good: Callable[[int], bool], most: int) -> int | None:
    """The smallest number from 2 to `most` that is good, where more is better; None if none is."""
    low, high = 1, 2
    while high < most and not good(high):
        low, high = high, 2 * high
    if high >= most:
        high = most
        if high < 2 or not good(high):
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if good(middle) else (middle, high)
    return high
