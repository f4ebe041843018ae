"""Arguments that both forecasters take, checked at their door: what was given, what is allowed, what to do."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any, TypeVar, get_args

import numpy as np

from hippozoo._internal.arguments import positive_number, real_array, shorten
from hippozoo.systems import HippoSystem, LegT

__all__ = [
    "checked_anchors",
    "checked_bound",
    "checked_choice",
    "checked_histories",
    "checked_metric",
    "checked_ridges",
    "checked_time",
    "several",
    "usual_histories",
]

Item = TypeVar("Item")


def several(given: Item | tuple[Item, ...]) -> tuple[Item, ...]:
    """One value, or a tuple of candidates, as a tuple."""
    return given if isinstance(given, tuple) else (given,)


def checked_histories(history: Any) -> tuple[HippoSystem, ...]:
    """The systems that remember the past, one at least."""
    for system in several(history):
        if not isinstance(system, HippoSystem):
            raise TypeError(
                f"history={shorten(history)}: pass a system of hippozoo.systems, for example "
                f"LegT(order=64, timescale=100.0), or a tuple of such."
            )
    if not several(history):
        raise ValueError("history=(): there is no past to forecast from; pass at least one system.")
    return several(history)


def checked_choice(name: str, given: Any, allowed: Any) -> None:
    """One value of a Literal."""
    if given not in get_args(allowed):
        raise ValueError(f"{name}={shorten(given)} is unknown; pass one of {get_args(allowed)}.")


def checked_anchors(anchor: Any, allowed: Any) -> None:
    """One anchor at least, all of them known."""
    if not several(anchor) or any(one not in get_args(allowed) for one in several(anchor)):
        raise ValueError(f"anchor={shorten(anchor)} is unknown; pass one of {get_args(allowed)}, or several.")


def checked_ridges(ridge: Any) -> None:
    """Ridges, one at least."""
    for one in several(ridge):
        if isinstance(one, bool) or not isinstance(one, Real) or not 0 <= float(one) < math.inf:
            raise ValueError(f"ridge={shorten(one)}: a ridge holds the map back; pass a finite number >= 0.")
    if not several(ridge):
        raise ValueError("ridge=(): pass a number, or a tuple of candidates.")


def checked_time(name: str, given: Any) -> float | None:
    """A time in the user's unit, or None."""
    return None if given is None else positive_number(name, given, why="a time, in your time unit")


def checked_bound(bound: Any, name: str = "lower") -> None:
    """A bound that no value crosses, or None."""
    if bound is not None and (isinstance(bound, bool) or not isinstance(bound, Real) or math.isnan(bound)):
        how = "falls below" if name == "lower" else "rises above"
        raise ValueError(f"{name}={shorten(bound)}; pass a number that no value {how}, or None.")


def checked_metric(given: Any, order: int) -> np.ndarray:
    """Squared lengths of errors: symmetric, never below zero, and somewhere above it."""
    metric = real_array("future_metric", given)
    if metric.shape != (order, order):
        raise ValueError(
            f"future_metric has shape {metric.shape}, expected {(order, order)}; "
            f"make it by future_metric(forecaster.future, weight)."
        )
    scale = np.abs(metric).max()
    if not np.allclose(metric, metric.T, rtol=0.0, atol=1e-9 * scale):
        raise ValueError("future_metric is not symmetric; pass (M + M.T) / 2, or make it by future_metric(…).")
    lowest = float(np.linalg.eigvalsh(metric)[0])
    if scale == 0 or lowest < -1e-9 * scale:
        raise ValueError(
            f"future_metric has the eigenvalue {lowest:g}: it measures errors, so none may be below zero and one must "
            f"be above it; make it by future_metric(forecaster.future, weight)."
        )
    return metric


def usual_histories(horizon: float, dt: float, most: int, *windows: float) -> tuple[LegT, ...]:
    """Windows of about two and eight horizons, and further ones; a coefficient for every second sample, at most `most`.

    Examples
    --------
    >>> usual_histories(4.0, 1.0, 96)
    (LegT(order=8, timescale=16.0), LegT(order=32, timescale=64.0))
    """
    lengths = (max(16 * dt, 2 * horizon), max(64 * dt, 8 * horizon), *windows)
    return tuple(LegT(int(min(most, max(8, window / dt // 2))), window) for window in dict.fromkeys(lengths))
