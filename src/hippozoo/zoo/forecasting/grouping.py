"""How channels learn: each by itself, all one map, or each from the past of all."""

from __future__ import annotations

from typing import Literal

import numpy as np
from jaxtyping import Float

from hippozoo.zoo.forecasting.moments import Moments

__all__ = ["Together", "channel_scales", "group_count", "group_pairs", "group_rows"]

Together = Literal["independent", "shared", "joint"]


def group_count(together: Together, channels: int) -> int:
    """How many maps there are."""
    return channels if together == "independent" else 1


def group_pairs(
    together: Together,
    x: Float[np.ndarray, "time channels inputs"],
    y: Float[np.ndarray, "time channels outputs"],
    weights: Float[np.ndarray, "time channels"],
    levels: Float[np.ndarray, "time channels"],
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """The pairs that each map learns from: (x, y, weights, levels) per group."""
    if together == "independent":
        return [(x[:, c], y[:, c], weights[:, c], levels[:, c : c + 1]) for c in range(x.shape[1])]
    if together == "shared":
        return [(x.reshape(-1, x.shape[2]), y.reshape(-1, y.shape[2]), weights.reshape(-1), levels.reshape(-1, 1))]
    # A pair of all channels counts where every channel has begun, by what was observed on average.
    counted = np.where((weights > 0).all(axis=1), weights.mean(axis=1), 0.0)
    return [(x.reshape(len(x), -1), y.reshape(len(y), -1), counted, levels)]


def group_rows(together: Together, x: Float[np.ndarray, "*time channels inputs"]) -> np.ndarray:
    """Inputs of the maps: (…, channels, inputs), or (…, 1, channels * inputs) where one map reads all channels."""
    return x.reshape(*x.shape[:-2], 1, -1) if together == "joint" else x


def channel_scales(together: Together, moments: Moments, channels: int) -> Float[np.ndarray, " channels"]:
    """The size of each channel, so that a map of several treats volts and kilovolts alike; ones where it is one."""
    if together != "joint":
        return np.ones(channels)
    variance = np.diag(moments.yy).reshape(channels, -1).sum(axis=1) / max(moments.weight, 1e-300)
    # A channel that stood still has no size: that of its rounding would make it the loudest.
    return np.sqrt(np.where(variance > moments.rounding, variance, 1.0))
