"""Which numbers can be learnt: those whose squares neither overflow nor vanish."""

from __future__ import annotations

from typing import Any

import numpy as np

from hippozoo._internal.arguments import shorten
from hippozoo.ensemble.state import EnsembleState

__all__ = ["LARGEST", "SMALLEST", "check_size", "checked_row"]

# Squares of values between these are neither infinite nor zero.
LARGEST, SMALLEST = 1e100, 1e-100


def checked_row(state: EnsembleState, value: Any) -> tuple[np.ndarray, np.ndarray]:
    """One sample of all channels, zero where it is missing, and where it is not."""
    given = np.full(state.channels, np.nan) if value is None else np.asarray(value, float)
    if (value is not None and (given.ndim > 0) == state.single) or given.size != state.channels:
        expected = "one number" if state.single else f"a vector of {state.channels}"
        raise ValueError(f"value has shape {given.shape}, but this state was begun for {expected}; pass that.")
    row = given.reshape(1, -1)
    seen = ~np.isnan(row)
    if np.isinf(row).any():
        raise ValueError(f"value={shorten(value)} is infinite; pass a finite number, or None if it is missing.")
    row = np.where(seen, row, 0.0)
    check_size(state, row)
    return row, seen


def check_size(state: EnsembleState, values: np.ndarray) -> None:
    """Refuse numbers whose squares a float does not hold."""
    largest = float(np.abs(values).max(initial=0.0))
    if largest > LARGEST:
        raise ValueError(
            f"signal holds {largest:g}, and squares of numbers beyond {LARGEST:g} are infinite; divide it by a power "
            f"of ten first."
        )
    if 0 < largest < SMALLEST and not (np.abs(state.held) >= SMALLEST).any():
        raise ValueError(
            f"no number of the signal is above {largest:g}, and squares of numbers below {SMALLEST:g} vanish; multiply "
            f"it by a power of ten first."
        )
