"""Known inputs: columns beside the signal, each with a memory whose window reaches as far ahead as its future is known.

An input that is known over the horizon (a holiday, a forecast of the weather) is remembered up to one horizon after the
present; one that is known up to now only, up to the present. The coefficients stand beside those of the signal in ridge
maps of their own, which earn their weight like any expert. Maps that correct a season read the changes of the inputs
over that season.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from jaxtyping import Float

from hippozoo import checkpoint
from hippozoo._internal.immutable import Immutable
from hippozoo.discretise import zero_order_hold
from hippozoo.memory import Memory, response
from hippozoo.systems import LegT

__all__ = ["InputState", "Inputs", "Told", "checked_rows"]

# The window reaches so many horizons before the present, and at least so many cells; it has at most so many
# coefficients. Chosen on a seeded load curve (seed 0): 1 or 2 horizons, 24 or 32 coefficients: within 2 %.
_HORIZONS_BEFORE, _LEAST_BEFORE, _MOST_COEFFICIENTS = 1, 12, 32


@dataclass(frozen=True, eq=False)
class Told(Immutable):
    """What was told of inputs that are known equally far ahead."""

    memory: Float[np.ndarray, "views_inputs order"]  # states after the last row
    recent: Float[np.ndarray, "longest inputs"]  # the last rows, one for each cell of the longest season; gaps filled
    first: Float[np.ndarray, " inputs"]  # the first and the last value of each input; NaN before there is one
    held: Float[np.ndarray, " inputs"]
    rows: int  # how many were told
    ready: Float[np.ndarray, "cells views features"]  # of the cells after the present, as far as rows were told


@dataclass(frozen=True, eq=False)
class InputState(Immutable):
    """What was told of all inputs: of those with a known future, and of those known up to now."""

    known: Told
    past: Told


for _class in (Told, InputState):
    checkpoint.register(_class, name=f"hippozoo.ensemble.inputs.{_class.__name__}")


@dataclass(frozen=True, eq=False)
class Inputs(Immutable):
    """How inputs are remembered, so many `known` over the horizon and so many up to now (`past`); times are in cells.

    Examples
    --------
    >>> inputs = Inputs(known=1, past=0, horizon=6, seasons=())
    >>> inputs.reach(ahead=6)  # cells before and after the present
    (12, 6)
    >>> state = inputs.tell(inputs.begin(), np.arange(10.0)[:, None], np.empty((4, 0)))
    >>> features, state = inputs.take(state, 4)
    >>> features.shape
    (4, 1, 18)
    """

    known: int
    past: int
    horizon: int
    seasons: tuple[int, ...]

    def reach(self, ahead: int) -> tuple[int, int]:
        """Cells that a window holds: up to and with the present, and after it."""
        return max(_HORIZONS_BEFORE * self.horizon, _LEAST_BEFORE), ahead

    def memory(self, ahead: int) -> Memory:
        """The memory of inputs that are known so far ahead."""
        window = sum(self.reach(ahead))
        return Memory(LegT(min(window, _MOST_COEFFICIENTS), float(window)))

    @cached_property
    def _memories(self) -> tuple[Memory, Memory]:
        return self.memory(self.horizon), self.memory(0)

    @cached_property
    def blocks(self) -> tuple[slice, ...]:
        """The features of each input, the known ones first."""
        orders = [self._memories[0].system.order] * self.known + [self._memories[1].system.order] * self.past
        ends = np.cumsum([0, *orders]).tolist()
        return tuple(slice(begin, end) for begin, end in pairwise(ends))

    @property
    def features(self) -> int:
        """Numbers of all inputs in one view."""
        return self.blocks[-1].stop if self.blocks else 0

    @property
    def views(self) -> int:
        """The inputs themselves, and their change over each season."""
        return 1 + len(self.seasons)

    def begin(self) -> InputState:
        """Nothing told."""
        return InputState(*(self._nothing(n, memory) for n, memory in zip(self._counts, self._memories, strict=True)))

    @property
    def _counts(self) -> tuple[int, int]:
        return self.known, self.past

    def _nothing(self, count: int, memory: Memory) -> Told:
        order = memory.system.order
        unknown = np.full(count, np.nan)
        return Told(
            np.zeros((self.views * count, order)),
            np.zeros((max(self.seasons, default=0), count)),
            unknown,
            unknown,
            0,
            np.empty((0, self.views, count * order)),
        )

    def tell(
        self, state: InputState, known: Float[np.ndarray, "rows known"], past: Float[np.ndarray, "others past"]
    ) -> InputState:
        """The next rows of the inputs, NaN where one is missing: the last value is held there."""
        return InputState(
            self._tell(state.known, known, self._memories[0], self.horizon),
            self._tell(state.past, past, self._memories[1], 0),
        )

    def _tell(self, told: Told, rows: np.ndarray, memory: Memory, ahead: int) -> Told:
        if not len(rows) or not rows.shape[1]:
            return replace(told, rows=told.rows + len(rows))
        filled, first = _filled(rows, told.held, told.first)
        relative = filled - np.where(np.isnan(first), 0.0, first)
        # Before the first row an input is what it is in the first: nothing changes over a season that was not seen.
        whole = np.concatenate([told.recent, relative])
        begin = len(told.recent)
        seasonal = [relative - whole[begin - m : len(whole) - m] for m in self.seasons]
        for m, change in zip(self.seasons, seasonal, strict=True):
            change[: max(m - told.rows, 0)] = 0.0
        signal = np.concatenate([relative, *seasonal], axis=1)
        states = memory.scan(signal, told.memory)
        features = states.reshape(len(rows), self.views, -1)
        ready = features[max(ahead - told.rows, 0) :]
        held = np.where(np.isnan(filled[-1]), told.held, filled[-1])
        recent = whole[len(whole) - begin :]
        return Told(
            states[-1].copy(), recent.copy(), first, held, told.rows + len(rows), np.concatenate([told.ready, ready])
        )

    def take(self, state: InputState, cells: int) -> tuple[Float[np.ndarray, "cells views features"], InputState]:
        """Features of the next cells, and the state after them; refused before their rows were told."""
        for name, told, count in (("known", state.known, self.known), ("past", state.past, self.past)):
            missing = cells - len(told.ready) if count else 0
            if missing > 0:
                ahead = f" and {self.horizon} more, up to the horizon" if name == "known" else ""
                raise ValueError(
                    f"{missing} rows of the inputs {name}= are missing: they are told for as many rows as the signal "
                    f"has{ahead}; pass them with the signal."
                )
        parts = [
            told.ready[:cells] for told, count in zip((state.known, state.past), self._counts, strict=True) if count
        ]
        rest = [replace(told, ready=told.ready[cells:].copy()) for told in (state.known, state.past)]
        return np.concatenate(parts, axis=2), InputState(*rest)

    def taps(self, number: int) -> Float[np.ndarray, "window order"]:
        """What each row of a window adds to the features of an input; the newest row first."""
        system = self._memories[0 if number < self.known else 1].system
        A, b = zero_order_hold(system, 1.0)
        return response(A, b[None], round(system.timescale))[:, 0]


def _filled(rows: np.ndarray, held: np.ndarray, first: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows with the last value in place of a missing one, and the first values; before these the first one stands."""
    known = np.isfinite(rows)
    place = np.maximum.accumulate(np.where(known, np.arange(len(rows))[:, None], -1), axis=0)
    filled = np.where(place >= 0, rows[np.maximum(place, 0), np.arange(rows.shape[1])], held)
    fresh = np.isnan(first) & known.any(axis=0)
    first = np.where(fresh, rows[known.argmax(axis=0), np.arange(rows.shape[1])], first)
    return np.where(np.isnan(filled), first, filled), first


def checked_rows(name: str, given: np.ndarray | None, count: int) -> Float[np.ndarray, "rows inputs"]:
    """Rows of so many inputs; none where nothing is given."""
    if given is None:
        return np.empty((0, count))
    rows = np.asarray(given, float)
    rows = rows[:, None] if rows.ndim == 1 else rows
    if rows.ndim != 2 or rows.shape[1] != count:
        raise ValueError(
            f"{name}= has shape {np.shape(given)}, and the forecaster was made for {count} such inputs: pass (rows, "
            f"{count}), or make it with {name}={rows.shape[-1] if rows.ndim else 0}."
        )
    if np.isinf(rows).any():
        row, column = np.argwhere(np.isinf(rows))[0].tolist()
        raise ValueError(f"{name}[{row}, {column}] is {rows[row, column]}; pass NaN where an input is missing.")
    return rows
