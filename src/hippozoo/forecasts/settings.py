"""Arguments of forecasters: one value or several, and what is chosen for people who do not choose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from hippozoo.systems import LegT

__all__ = ["as_season", "several", "usual_histories"]

Item = TypeVar("Item")


def several(given: Item | tuple[Item, ...]) -> tuple[Item, ...]:
    """One value, or a tuple of candidates, as a tuple."""
    return given if isinstance(given, tuple) else (given,)


def as_season(given: Any) -> Any:
    """One period, a tuple of several, or None for none of them."""
    is_many = isinstance(given, (Sequence, np.ndarray)) and not isinstance(given, str)
    return (tuple(given) or None) if is_many else given


def usual_histories(horizon: float, dt: float, most: int, *windows: float) -> tuple[LegT, ...]:
    """Windows of about two and eight horizons, and further ones; a coefficient for every second sample, at most `most`.

    >>> usual_histories(4.0, 1.0, 96)
    (LegT(order=8, timescale=16.0), LegT(order=32, timescale=64.0))
    """
    lengths = (max(16 * dt, 2 * horizon), max(64 * dt, 8 * horizon), *windows)
    return tuple(LegT(int(min(most, max(8, window / dt // 2))), window) for window in dict.fromkeys(lengths))
