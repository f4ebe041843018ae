"""Sequences whose every sample is held for a time of its own, without a matrix exponential per sample.

*All states.* ``exp(h A)`` acts on a vector digit by digit: h is written in units of a small table of exponentials, and
what is left is a short Taylor series. *The last state* is a sum over the edges between samples of ``jump * exp(lag A)
settled``. That function is kept as Chebyshev panels: each jump is handed to the nodes of its panel, and one matrix
product does the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.polynomial import chebyshev
from scipy.linalg import expm

from hippozoo.discretise import settled
from hippozoo.memory._kernels import move_exactly as move_exactly  # for memories of many windows
from hippozoo.memory._kernels import scan_bilinear, scan_exactly, spread
from hippozoo.systems import HippoSystem
from hippozoo.systems.base import FORGOTTEN

__all__ = ["BilinearStep", "ExactStep"]

# The Taylor series takes over where step * |A| is below this.
_SERIES_REACH = 0.5
# Beyond this many timescales a system that will not forget is refused the table.
_LONGEST = 1e9
_NODES = 16
# The table of panels takes as long to build as this many samples take one by one.
_TABLE_PAYS = 1 << 14
_PIECE = 4096
_RESOLVED = 1e-14
# Rounding of this size, relative to the state, is too much.
_LOST = 1e-12


@dataclass(frozen=True, eq=False)
class ExactStep:
    """The exact hold with any step; steps are in units of the system's timescale."""

    system: HippoSystem

    @cached_property
    def settled(self) -> Float[np.ndarray, " order"]:
        """The state that remembers a constant past of 1."""
        return settled(self.system)

    @cached_property
    def tables(self) -> tuple[Any, ...]:
        """What the compiled loops ask for."""
        A_T = np.ascontiguousarray(self.system.A.T)
        return self.settled, self.table_T, self.unit, self.base, A_T, generators(self.system), self.norm

    @cached_property
    def norm(self) -> float:
        """The largest factor by which A lengthens a vector."""
        return float(np.linalg.norm(self.system.A, 2))

    @cached_property
    def base(self) -> int:
        """In which steps are written, digit by digit."""
        # Larger digits are fewer products per step, and more memory: 15 matrices a level against 3.
        return 16 if self.system.order <= 128 else 4

    @cached_property
    def unit(self) -> float:
        """The step that the last digit counts, in timescales; what is left is within reach of a series."""
        return _SERIES_REACH / self.norm

    @cached_property
    def table_T(self) -> Float[np.ndarray, "levels digits order order"]:
        """``exp(A step)``, transposed, for every digit of every level."""
        first = expm(self.system.A * self.unit).T
        size, levels = self.unit, []
        while size < _LONGEST:
            digits = [first]
            for _ in range(self.base - 2):
                digits.append(digits[-1] @ first)
            levels.append(np.stack(digits))
            first = digits[-1] @ first
            size *= self.base
            if np.linalg.norm(first) < FORGOTTEN:
                break
        return np.stack(levels)

    def scan(self, signal: np.ndarray, steps: np.ndarray, state: np.ndarray) -> np.ndarray:
        """The state after every sample: (time, channels, order), float64."""
        states = np.empty((*signal.shape, self.system.order))
        signal, steps = np.asarray(signal, np.float64), np.asarray(steps, np.float64)
        scan_exactly(signal, steps, np.array(state, np.float64), *self.tables, states)
        return states

    def forget(self, state: Float[np.ndarray, "channels order"], step: float) -> Float[np.ndarray, "channels order"]:
        """What is left of a state after `step` of silence: ``exp(step A) state``."""
        silence = np.zeros((1, len(state)))
        return self.scan(silence, np.array([step]), state)[0]

    def final(self, signal: np.ndarray, steps: np.ndarray, state: np.ndarray) -> np.ndarray:
        """The state after the last sample: (channels, order), float64.

        For long signals the cost per sample is free of the order. An unstructured system (Fourier) rings so fast and
        so long that its table would be larger than most signals.
        """
        built = "_panels" in self.__dict__
        if self.system.structure is None or (len(signal) < _TABLE_PAYS and not built):
            return last_of_pieces(self.scan, signal, steps, state)
        edges, values = self._panels
        # Lag of the start of each cell, and 0 for the end of the last: exact near the present, where it matters.
        lags = np.concatenate([np.cumsum(steps[::-1])[::-1], [0.0]])
        level = np.concatenate([np.zeros((1, signal.shape[1])), signal, np.zeros((1, signal.shape[1]))])
        jumps = level[:-1] - level[1:]
        weights = np.zeros((len(edges) - 1, _NODES, signal.shape[1]))
        nodes, barycentric = chebyshev_nodes()
        spread(lags, jumps, edges, nodes, barycentric, weights)
        arrived = np.tensordot(weights, values, axes=([0, 1], [0, 1]))
        # Jumps that nearly cancel, as after short steps, leave rounding behind: then sample by sample.
        rounding = np.finfo(float).eps * np.sqrt((jumps[lags < edges[-1]] ** 2).sum(0))
        if (rounding > _LOST * np.abs(arrived).max(1)).any():
            return last_of_pieces(self.scan, signal, steps, state)
        return arrived + self.forget(state, float(lags[0])) if state.any() else arrived

    @cached_property
    def _panels(self) -> tuple[np.ndarray, np.ndarray]:
        """Edges of the panels and ``exp(lag A) settled`` at their nodes, resolved to rounding."""
        nodes, _ = chebyshev_nodes()
        edges = self._doubling_edges()
        while True:
            halves = np.diff(edges) / 2
            lags = edges[:-1, None] + halves[:, None] * (nodes + 1)
            values = self._settled_after(lags.ravel()).reshape(len(halves), _NODES, -1)
            # The last coefficients of a resolved panel are rounding; where they are not, cut the panel in two.
            tail = np.abs(np.linalg.solve(chebyshev.chebvander(nodes, _NODES - 1), values)[:, -2:]).max((1, 2))
            rough = (tail > _RESOLVED) & (halves > 1e-3 / self.norm)
            if not rough.any():
                return edges, values
            edges = np.sort(np.concatenate([edges, (edges[:-1] + halves)[rough]]))

    def _doubling_edges(self) -> np.ndarray:
        edges = [0.0, 1.0]
        while edges[-1] < _LONGEST and np.abs(self._settled_after(np.array(edges[-1:]))).max() > 1e-20:
            edges.append(2 * edges[-1])
        return np.array(edges)

    def _settled_after(self, lags: np.ndarray) -> np.ndarray:
        steps = np.diff(lags, prepend=0.0)
        return self.scan(np.zeros((len(lags), 1)), steps, self.settled[None])[:, 0]


@dataclass(frozen=True, eq=False)
class BilinearStep:
    """The bilinear rule with any step, in O(order) per sample; for systems with a structure."""

    system: HippoSystem

    @cached_property
    def _settled(self) -> np.ndarray:
        return settled(self.system)

    @cached_property
    def _parts(self) -> np.ndarray:
        return generators(self.system)

    @cached_property
    def _short(self) -> float:
        """Steps below this change so little that the change itself is computed."""
        return _SERIES_REACH / float(np.linalg.norm(self.system.A, 2))

    def scan(self, signal: np.ndarray, steps: np.ndarray, state: np.ndarray) -> np.ndarray:
        """The state after every sample: (time, channels, order), float64."""
        states = np.empty((*signal.shape, self.system.order))
        signal, steps = np.asarray(signal, np.float64), np.asarray(steps, np.float64)
        if self._parts.shape[1]:
            scan_bilinear(signal, steps, np.array(state, np.float64), self._settled, self._parts, self._short, states)
            return states
        identity = np.eye(self.system.order)
        for t, step in enumerate(steps):
            distance = state - np.multiply.outer(signal[t], self._settled)
            if step < self._short:
                change = np.linalg.solve(identity - step / 2 * self.system.A, step * self.system.A @ distance.T).T
                state = states[t] = state + change
                continue
            moved = 2 * np.linalg.solve(identity - step / 2 * self.system.A, distance.T).T
            state = states[t] = moved - distance + np.multiply.outer(signal[t], self._settled)
        return states

    def final(self, signal: np.ndarray, steps: np.ndarray, state: np.ndarray) -> np.ndarray:
        """The state after the last sample: (channels, order), float64."""
        return last_of_pieces(self.scan, signal, steps, state)


def last_of_pieces(
    scan: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray],
    signal: np.ndarray,
    steps: np.ndarray,
    state: np.ndarray,
) -> np.ndarray:
    """The last state of a scan that never holds more than a piece of it."""
    for begin in range(0, len(signal), _PIECE):
        state = scan(signal[begin : begin + _PIECE], steps[begin : begin + _PIECE], state)[-1]
    return state


def generators(system: HippoSystem) -> Float[np.ndarray, "5 order_or_none"]:
    """The five vectors of a structured system as one array; no columns where there is no structure."""
    s = system.structure
    if s is None:
        return np.zeros((5, 0))
    return np.stack([s.diagonal, s.lower_row, s.lower_column, s.upper_row, s.upper_column])


def chebyshev_nodes() -> tuple[np.ndarray, np.ndarray]:
    """Chebyshev points of the second kind on [-1, 1], rising, with their barycentric weights."""
    nodes = -np.cos(np.pi * np.arange(_NODES) / (_NODES - 1))
    barycentric = (-1.0) ** np.arange(_NODES)
    barycentric[[0, -1]] /= 2
    return nodes, barycentric
