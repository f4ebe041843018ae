"""The forms that `fit_system` tries: fitted to the simulated output, in standardised units.

They stand in checkpoints of a `FittedSystem`, so they are registered: they are no public classes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from hippozoo.checkpoint import register
from hippozoo.memory import Memory
from hippozoo.zoo.volterra._least_squares import minimise
from hippozoo.zoo.volterra.bounded_loop import BoundedLoop, Records, settled
from hippozoo.zoo.volterra.cascade import Cascade
from hippozoo.zoo.volterra.cascade import _Problem as _CascadeProblem
from hippozoo.zoo.volterra.curve import BoundedPolynomial
from hippozoo.zoo.volterra.integrator import Integrator, fit_integrator
from hippozoo.zoo.volterra.monomials import multi_indices

__all__ = ["LINEAR", "LOOPS", "Candidate", "Fitted", "fit_cascade", "fit_drive", "fit_loop", "fit_readout"]

LINEAR, _SQUARE = ((0, 1), (1, 0)), ((0, 1), (1, 0), (2, 0))
_CUBE = ((0, 1), (1, 0), (2, 0), (3, 0))
#: What may go around a loop: exponents of output and input.
LOOPS: dict[str, tuple[tuple[int, int], ...]] = {
    "linear loop": LINEAR,
    "loop of degree 2": _SQUARE,
    "loop of degree 3": _CUBE,
    "loop with products, degree 2": ((0, 1), (0, 2), (1, 0), (1, 1), (2, 0)),
    "loop with products, degree 3": tuple((i, j) for i in range(4) for j in range(4) if 1 <= i + j <= 3),
}


@runtime_checkable
class Fitted(Protocol):
    """A fitted form, in standardised units."""

    def simulate(self, signal: np.ndarray, known: np.ndarray) -> np.ndarray: ...


@dataclass(frozen=True)
class Candidate:
    """A form with its memory and ridge; `fit` gives what simulates."""

    form: str
    memory: Memory
    ridge: float
    unknowns: int
    fit: Callable[[Candidate, Records, int], Fitted]
    settings: tuple[Any, ...] = ()


@register(name="hippozoo.zoo.volterra.system_fit.Readout")
@dataclass(frozen=True, eq=False)
class _Readout:
    """A polynomial of directions of the input's memory, bounded to what was seen."""

    memory: Memory
    directions: np.ndarray
    degree: int
    weights: np.ndarray
    reach: np.ndarray

    def simulate(self, signal: np.ndarray, known: np.ndarray) -> np.ndarray:
        return self.features(signal) @ self.weights

    def features(self, signal: np.ndarray) -> np.ndarray:
        states = self.memory.scan(signal, settled(self.memory, float(signal[0])))
        seen = states @ self.directions
        if self.degree > 1:
            seen = np.clip(seen, -self.reach, self.reach)
        products = [
            np.prod(seen[:, multi_indices(seen.shape[1], degree)], axis=2) for degree in range(2, self.degree + 1)
        ]
        return np.concatenate([np.ones((len(signal), 1)), seen, *products], axis=1)


def fit_readout(candidate: Candidate, records: Records, known: int) -> _Readout:
    degree, count = candidate.settings
    memory = candidate.memory
    states = np.concatenate([memory.scan(u, settled(memory, float(u[0])))[known:] for u, _ in records])
    wanted = np.concatenate([y[known:] for _, y in records])
    order = states.shape[1]
    if degree == 1:
        directions, reach = np.eye(order), np.full(order, np.inf)
    else:
        # The best linear functional, and the directions in which the input moves the memory most.
        normal = states.T @ states + 1e-6 * np.trace(states.T @ states) * np.eye(order)
        best = np.linalg.solve(normal, states.T @ wanted)
        leading = np.linalg.eigh(states.T @ states)[1][:, ::-1][:, : count - 1]
        directions = np.column_stack([best, leading])
        spread = (states @ directions).std(axis=0)
        directions = directions / np.where(spread > 0, spread, 1.0)
        reach = 1.2 * np.abs(states @ directions).max(axis=0)
    empty = _Readout(memory, directions, degree, np.zeros(0), reach)
    rows = np.concatenate([empty.features(u)[known:] for u, _ in records])
    scale = np.sqrt(np.square(rows).mean(axis=0)) + 1e-12
    rows = rows / scale
    held = candidate.ridge * len(rows) * (np.arange(rows.shape[1]) > 0)
    weights = np.linalg.solve(rows.T @ rows + np.diag(held + 1e-12 * len(rows)), rows.T @ wanted) / scale
    return replace(empty, weights=weights)


@register(name="hippozoo.zoo.volterra.system_fit.Bent")
@dataclass(frozen=True, eq=False)
class _Bent:
    """A cascade: filter, curve, filter."""

    cascade: Cascade
    weights: Any

    def simulate(self, signal: np.ndarray, known: np.ndarray) -> np.ndarray:
        # A constant past, long enough for both filters.
        before = int(8 * self.cascade.first.system.timescale)
        return self.cascade.simulate(self.weights, np.append(np.full(before, signal[0]), signal))[before:]


def fit_cascade(candidate: Candidate, records: Records, known: int) -> _Bent:
    degree, reach, iterations = candidate.settings
    memory = candidate.memory
    cascade = Cascade(memory, memory, BoundedPolynomial(degree, reach))
    before = int(8 * memory.system.timescale)
    problems = [
        _CascadeProblem(
            cascade,
            np.append(np.full(before, u[0]), u),
            np.append(np.full(before, y[0]), y),
            before + known,
        )
        for u, y in records
    ]
    longest = max(problems, key=lambda problem: len(problem.target))
    count = sum(len(problem.target) - problem.warm_up for problem in problems)
    fits = []
    for share in (0.0, 1.0):
        start = longest.start(share)
        effect = np.square(np.concatenate([problem.jacobian(start) for problem in problems])).mean(axis=0)
        weight = np.sqrt(candidate.ridge * count * effect)

        def residual(parameters: np.ndarray, start: np.ndarray = start, weight: np.ndarray = weight) -> np.ndarray:
            parts = [problem.residual(parameters) for problem in problems]
            return np.concatenate([*parts, weight * (start - parameters)])

        def jacobian(parameters: np.ndarray, weight: np.ndarray = weight) -> np.ndarray:
            return np.concatenate([*(problem.jacobian(parameters) for problem in problems), np.diag(weight)])

        fits.append(minimise(start, residual, jacobian, iterations))
    return _Bent(cascade, longest.weights(min(fits, key=lambda fit: fit.cost).parameters))


@register(name="hippozoo.zoo.volterra.system_fit.Looped")
@dataclass(frozen=True, eq=False)
class _Looped:
    """A bounded loop; where the output stood at an end of its range, it cannot go beyond."""

    loop: BoundedLoop
    parameters: np.ndarray
    floor: float
    ceiling: float

    def simulate(self, signal: np.ndarray, known: np.ndarray) -> np.ndarray:
        if not len(known):
            # From a constant past at the first input: let it settle there.
            before = 4 * len(self.loop._responses)
            outputs = self.loop.simulate(self.parameters, np.append(np.full(before, signal[0]), signal))[before:]
        else:
            outputs = self.loop.simulate(self.parameters, signal, known)
        return np.clip(outputs, self.floor, self.ceiling)


def _stands(values: np.ndarray, end: float) -> bool:
    """Whether a hundredth of the record and more stands at this end of its range."""
    return bool((np.abs(values - end) < 0.01 * np.ptp(values)).mean() > 0.02)


def fit_loop(candidate: Candidate, records: Records, known: int) -> _Looped:
    terms, iterations = candidate.settings
    values = np.concatenate([y for _, y in records])
    low, high, room = float(values.min()), float(values.max()), float(np.ptp(values))
    floor = low if _stands(values, low) else -np.inf
    ceiling = high if _stands(values, high) else np.inf
    reach = 1.5 * max(float(np.abs(u).max()) for u, _ in records)
    loop = BoundedLoop(candidate.memory, terms, max(floor, low - room), min(ceiling, high + room), reach)
    order = candidate.memory.system.order
    start = loop.equation_fit(records, known, 1e-5)
    if terms == LINEAR:
        parameters, _ = loop.fit(records, known, candidate.ridge, [start], start, iterations)
        return _Looped(loop, parameters, floor, ceiling)
    # Held towards the linear loop, which is fitted first.
    line = replace(loop, terms=LINEAR)
    begin = line.equation_fit(records, known, 1e-5)
    simple, _ = line.fit(records, known, 0.0, [begin], begin, iterations)
    prior = np.zeros(loop.n_parameters)
    prior[0] = simple[0]
    for place, term in enumerate(terms):
        if term in LINEAR:
            here, there = 1 + place * order, 1 + LINEAR.index(term) * order
            prior[here : here + order] = simple[there : there + order]
    parameters, _ = loop.fit(records, known, candidate.ridge, [prior, start], prior, iterations)
    return _Looped(loop, parameters, floor, ceiling)


def fit_drive(candidate: Candidate, records: Records, known: int) -> Integrator:
    """An integrator, with dry friction or without."""
    kept, gains, friction = candidate.settings
    return fit_integrator(records, known, kept, gains, friction=friction)
