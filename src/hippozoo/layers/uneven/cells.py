"""What a jump of the signal leaves after each lag, as piecewise polynomials: six numbers for any functional."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from hippozoo.layers.uneven.series import step_series
from hippozoo.systems import HippoSystem

__all__ = ["LagCells", "lag_cells"]

DEGREE = 5
#: Error of a coefficient of G between nodes.
TOLERANCE = {torch.float32: 1e-7, torch.float64: 1e-10}
MOST_CELLS = 1 << 10


class LagCells(NamedTuple):
    """G(lag), which a signal that rose from 0 to 1 so long ago has left, in cells even in the root of the lag.

    `inverse` is cells per unit of the square root of the lag; `values` are coefficients of the powers of the place in a
    cell, 0 to 1.
    """

    inverse: float
    values: Float[Tensor, "cells 6 order"]


@lru_cache(maxsize=64)
def lag_cells(system: HippoSystem, reach: float, dtype: torch.dtype) -> LagCells | None:
    """The cells of a system for all lags up to `reach` timescales; None where there would be too many.

    Examples
    --------
    >>> from hippozoo.systems import LegT
    >>> cells = lag_cells(LegT(8, timescale=1.0), 0.25, torch.float64)
    >>> bool(cells.values[0, 0].abs().max() < 1e-9)  # nothing has been left at once
    True
    """
    series = step_series(system, reach, torch.float64)
    if series is None:
        return None
    nodes = (1 - np.cos(np.pi * np.arange(DEGREE + 1) / DEGREE)) / 2
    between = (nodes[1:] + nodes[:-1]) / 2
    to_powers = np.linalg.inv(np.vander(nodes, increasing=True))
    cells = 4
    while cells <= MOST_CELLS:
        root = np.sqrt(reach) / cells
        lags = ((np.arange(cells)[:, None] + np.concatenate([nodes, between])) * root) ** 2
        left = series.arrivals(torch.from_numpy(lags)).numpy()
        values = to_powers @ left[:, : len(nodes)]
        error = np.abs(np.vander(between, DEGREE + 1, increasing=True) @ values - left[:, len(nodes) :]).max()
        if error <= TOLERANCE[dtype]:
            return LagCells(float(1 / root), torch.tensor(values, dtype=dtype, device="cpu"))
        # The error of a polynomial of degree five falls with the sixth power.
        cells = int(cells * min(2.0, max(1.1, 1.05 * (error / TOLERANCE[dtype]) ** (1 / 6)))) + 1
    return None
