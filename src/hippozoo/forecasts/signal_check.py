"""The door of both forecasters: a signal, its steps and its gaps, checked against the state that it goes on from."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from hippozoo._internal.arguments import real_array
from hippozoo.discretise import checked_steps
from hippozoo.forecasts.protocol import StateLike
from hippozoo.memory import hold_missing

__all__ = ["checked_signal", "row_of"]


def checked_signal(
    state: StateLike, signal: Any, dt: Any, mask: Any, usual: float | int
) -> tuple[Float[np.ndarray, "time channels"], Float[np.ndarray, " time"], Float[np.ndarray, "time channels"]]:
    """Values without gaps, steps (`usual` ones by default), and 1 where a value was observed.

    Where one is missing stands the last one before it.
    """
    given = np.asarray(signal)
    expected = "(time,)" if state.single else f"(time, {state.channels})"
    if given.ndim != (1 if state.single else 2) or (not state.single and given.shape[1] != state.channels):
        raise ValueError(f"signal has shape {given.shape}, but this state was begun for {expected}; pass that shape.")
    observed = np.ones(given.shape)
    if mask is not None:
        held = state.held[0] if state.single else state.held
        held_signal = hold_missing(signal, mask, held)
        observed[...] = mask if np.ndim(mask) == given.ndim else np.asarray(mask)[:, None]
        if isinstance(signal, np.ma.MaskedArray):
            observed[np.ma.getmaskarray(signal)] = 0.0
        signal = held_signal
    values = real_array("signal", signal, what_to_do="For missing samples pass mask=, True where there is a sample.")
    steps = np.full(len(values), usual) if dt is None else checked_steps(dt)
    if steps.shape not in ((), values.shape[:1]):
        raise ValueError(
            f"dt has shape {steps.shape}, but the signal has {len(values)} samples; pass one number, or one each."
        )
    steps = np.ascontiguousarray(np.broadcast_to(steps, values.shape[:1]))
    if state.single:
        return values[:, None], steps, observed[:, None]
    return values, steps, observed


def row_of(state: StateLike, value: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """One sample (None, or NaN in a vector, where it is missing) as a signal of length one, and its mask."""
    given = np.full(state.channels, np.nan) if value is None else np.atleast_1d(np.asarray(value, float))
    row = given[None, 0] if state.single else given[None]
    seen = ~np.isnan(row)
    return (row, None) if seen.all() else (np.where(seen, row, 0.0), seen)
