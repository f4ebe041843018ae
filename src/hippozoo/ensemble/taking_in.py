"""How an ensemble takes samples in: checked, cut into cells, with what inputs say beside them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from hippozoo.ensemble.configuration import Configuration
from hippozoo.ensemble.forecast import EnsembleForecast
from hippozoo.ensemble.inputs import InputState, checked_rows
from hippozoo.ensemble.mixture import Mixture
from hippozoo.ensemble.sizes import check_size
from hippozoo.ensemble.state import EnsembleState
from hippozoo.forecasts.signal_check import checked_signal

__all__ = ["SEEN", "TakesIn", "counts_so_far"]

# One sample of one channel, which is there.
SEEN = np.ones((1, 1), bool)


@dataclass(frozen=True, eq=False)
class TakesIn(Configuration):
    """What the methods of an `EnsembleForecaster` share."""

    def _told(self, state: EnsembleState, known: np.ndarray | None, past: np.ndarray | None) -> EnsembleState:
        """The state that knows more rows of its inputs."""
        inputs = self.mixer.inputs
        rows = [checked_rows("known", known, self.known), checked_rows("past", past, self.past)]
        if inputs is None or state.inputs is None:
            return state
        return replace(state, inputs=inputs.tell(state.inputs, *rows))

    def _features(
        self, state: EnsembleState, cells: int, known: np.ndarray | None, past: np.ndarray | None
    ) -> tuple[np.ndarray | None, InputState | None]:
        """What inputs say after each of the next cells, and what is told of them after that; checked."""
        inputs, told = self.mixer.inputs, self._told(state, known, past).inputs
        if inputs is None or told is None:
            return None, None
        for name, missing in zip(("known", "past"), inputs.missing(told, cells), strict=True):
            if missing:
                ahead = f" and {self.mixer.horizon} more, up to the horizon" if name == "known" else ""
                raise ValueError(
                    f"{missing} rows of the inputs {name}= are missing: they are told for as many rows as the signal "
                    f"has{ahead}; pass them with the signal."
                )
        return inputs.take(told, cells)

    def _taken_in(
        self,
        state: EnsembleState,
        signal: Any,
        dt: Any,
        mask: Any,
        *,
        learning: bool,
        known: np.ndarray | None = None,
        past: np.ndarray | None = None,
    ) -> EnsembleState:
        values, steps, observed = checked_signal(state, signal, dt, mask, self.dt)
        check_size(state, values)
        before, usual, seen = state.mixture, self.dt, observed > 0
        offset = before.offset
        if self.mixer.inputs is not None and (offset or not (steps == usual).all()):
            raise ValueError("inputs are rows beside the samples: pass samples that are dt apart.")
        features, told = self._features(state, len(values), known, past)
        if offset or not (steps == usual).all():
            # A cell holds the value that its middle falls into.
            passed = offset + np.cumsum(steps)
            ends = np.floor(passed / usual + 0.5 + 1e-9).astype(int)
            counts = np.diff(ends, prepend=0)
            values, seen = np.repeat(values, counts, axis=0), np.repeat(seen, counts, axis=0)
            offset = float(passed[-1] - ends[-1] * usual) if len(passed) else offset
            offset = 0.0 if abs(offset) < 1e-9 * usual else offset
        mixture = self.mixer.advance(before, np.ascontiguousarray(values), seen, learning=learning, features=features)
        if mixture.offset != offset:
            mixture = replace(mixture, offset=offset)
        heard = float((steps * observed.any(axis=1)).sum())
        return EnsembleState(state.single, state.time + float(steps.sum()), state.seen + heard, mixture, told)

    def _after_cells(
        self, state: EnsembleState, values: np.ndarray, seen: np.ndarray, expected: np.ndarray | None = None
    ) -> EnsembleState:
        """The state after cells of one step each; `expected` takes what is expected after each."""
        time, heard, step = state.time, state.seen, float(self.dt)
        if len(values) == 1:
            any_seen = seen is SEEN or bool(seen.any())
            mixture = self.mixer.advance(state.mixture, values, seen)
            return EnsembleState(state.single, time + step, heard + step if any_seen else heard, mixture)
        mixture = self.mixer.advance(state.mixture, values, seen, expected=expected)
        for _ in range(len(values)):  # added up as one by one, rounding included
            time, heard = time + step, heard + step
        return EnsembleState(state.single, time, heard, mixture)

    def _expects_every_cell(self, state: EnsembleState) -> bool:
        """Whether every cell is followed by a forecast whose errors have a known size."""
        known = state.mixture.live[:, self.mixer.known_place] > 0
        return self.mixer.stride == 1 and not state.mixture.offset and bool(known.all())

    def _bounded(self, mean: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """The mean, not below what can be; `counts` are channels that hold whole-number counts so far."""
        above = (
            np.maximum(mean, self.lower) if self.lower is not None else np.where(counts, np.maximum(mean, 0.0), mean)
        )
        return above if self.upper is None else np.minimum(above, self.upper)

    def _forecast(self, mixture: Mixture, *, single: bool, calibrated: bool) -> EnsembleForecast:
        issued = self.mixer.issue(mixture)
        return EnsembleForecast(
            self.mixer, mixture, issued, float(self.horizon), single, calibrated, self.lower, self.upper
        )


def counts_so_far(mixture: Mixture, rows: Float[np.ndarray, "cells channels"]) -> Bool[np.ndarray, "cells channels"]:
    """Whether all readings of a channel before each of these, and it too, are whole numbers from zero on."""
    so_far = (mixture.cleaner["is_begun"] > 0) & (mixture.cleaner["is_whole"] > 0)
    whole = np.isnan(rows) | ((rows == np.floor(rows)) & (rows >= 0))
    return np.logical_and.accumulate(whole, axis=0) & so_far
