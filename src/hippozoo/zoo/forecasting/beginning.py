"""How a channel begins: before its first sample it is taken to have been constant at it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from jaxtyping import Float

from hippozoo.zoo.forecasting.state import ForecasterState

__all__ = ["begin_channels", "wait_for_a_sample"]


def wait_for_a_sample(
    state: ForecasterState, steps: Float[np.ndarray, " time"], observed: Float[np.ndarray, "time channels"]
) -> tuple[ForecasterState, int]:
    """Let time pass until the first sample of any channel; also how many rows that takes."""
    if state.begun.any():
        return state, 0
    seen = np.asarray(observed.any(axis=1))
    rows = int(seen.argmax()) if seen.any() else len(seen)
    return replace(state, time=state.time + float(steps[:rows].sum())), rows


def begin_channels(
    state: ForecasterState, sample: Float[np.ndarray, " channels"], observed: Float[np.ndarray, " channels"]
) -> ForecasterState:
    """Give the channels whose first sample this is a constant past."""
    first = ~state.begun & (observed > 0)
    if not first.any():
        return state

    def constant(before: np.ndarray) -> np.ndarray:
        # A constant past fills the first coefficient and no other, in every system.
        return np.where(first[:, None], sample[:, None] * (np.arange(before.shape[1]) == 0), before)

    return replace(
        state,
        begun=state.begun | first,
        recent=constant(state.recent),
        delayed=tuple(map(constant, state.delayed)),
        aligned=tuple(map(constant, state.aligned)),
        line=replace(state.line, values=np.where(first, sample, state.line.values)),
    )
