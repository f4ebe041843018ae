"""The forms that `fit_system` tries: fitted to the simulated output, in standardised units.

They stand in checkpoints of a `FittedSystem`, so they are registered: they are no public classes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol, runtime_checkable

import numpy as np

from hippozoo.checkpoint import register
from hippozoo.memory import Memory
from hippozoo.systems import LegS, LegT
from hippozoo.zoo.volterra._least_squares import minimise_towards, ridge_regression
from hippozoo.zoo.volterra.bounded_loop import BoundedLoop, Records, settled
from hippozoo.zoo.volterra.cascade import BoundedPolynomial, Cascade, CascadeProblem
from hippozoo.zoo.volterra.integrator import fit_integrator
from hippozoo.zoo.volterra.monomials import monomials, multi_indices

__all__ = [
    "LOOPS", "Candidate", "Fitted", "cascades", "integrators", "linear_loops", "linear_readouts", "loops",
    "polynomial_readouts", "widened",
]  # fmt: skip

Terms = tuple[tuple[int, int], ...]
LINEAR: Terms = ((0, 1), (1, 0))
#: What may go around a loop: exponents of output and input.
LOOPS: dict[str, Terms] = {
    "linear loop": LINEAR,
    "loop of degree 2": (*LINEAR, (2, 0)),
    "loop of degree 3": (*LINEAR, (2, 0), (3, 0)),
    "loop with products, degree 2": ((0, 1), (0, 2), (1, 0), (1, 1), (2, 0)),
    "loop with products, degree 3": tuple((i, j) for i in range(4) for j in range(4) if 1 <= i + j <= 3),
}


@runtime_checkable
class Fitted(Protocol):
    """A fitted form, in standardised units."""

    def simulate(self, signal: np.ndarray, known: np.ndarray) -> np.ndarray: ...


@dataclass(eq=False)
class Candidate:
    """A form with its memory, how it is fitted, and how it did."""

    form: str
    memory: Memory
    ridge: float
    unknowns: int
    fit: Callable[[Records, int], Fitted]
    error: float = np.inf  # root mean square over held-out blocks; infinite where it could not be fitted
    excess: float | None = None  # how far trial runs leave the range of outputs, where some were made


# -- readouts -----------------------------------------------------------------------------------------------------


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


def _fit_readout(memory: Memory, ridge: float, degree: int, count: int, records: Records, known: int) -> _Readout:
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
    held = ridge * len(rows) * (np.arange(rows.shape[1]) > 0) + 1e-12 * len(rows)
    return replace(empty, weights=ridge_regression(rows, wanted, held))


def linear_readouts(rows: int, blocks: int) -> list[Candidate]:
    """Those whose memory fits into a block of so many rows."""
    sizes = ((8, 4.0), (16, 8.0), (32, 16.0), (16, 32.0), (32, 32.0), (32, 64.0), (32, 128.0))
    memories = [Memory(LegS(*size)) for size in sizes if 4 * size[0] < rows / 4 and 2 * size[1] < rows / blocks]
    return [
        Candidate("linear readout", memory, ridge, order + 1, partial(_fit_readout, memory, ridge, 1, order))
        for memory in memories
        for order in [memory.system.order]
        for ridge in (1e-6, 1e-3)
    ]


def polynomial_readouts(memories: Sequence[Memory]) -> list[Candidate]:
    """Of a few directions of each memory."""
    return [
        Candidate(
            f"polynomial readout of degree {degree}",
            memory,
            ridge,
            monomials(count, degree).terms,
            partial(_fit_readout, memory, ridge, degree, count),
        )
        for memory in memories
        for degree, count in ((2, 4), (2, 8), (3, 3), (3, 5))
        for ridge in (1e-5, 1e-2)
    ]


# -- cascades -----------------------------------------------------------------------------------------------------


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


def _fit_cascade(
    memory: Memory, ridge: float, degree: int, reach: float, iterations: int, records: Records, known: int
) -> _Bent:
    cascade = Cascade(memory, memory, BoundedPolynomial(degree, reach))
    before = int(8 * memory.system.timescale)
    padded = [[np.append(np.full(before, one[0]), one) for one in record] for record in records]
    problems = [CascadeProblem(cascade, u, y, before + known) for u, y in padded]
    longest = max(problems, key=lambda problem: len(problem.target))
    count = sum(len(problem.target) - problem.warm_up for problem in problems)

    def residual(parameters: np.ndarray) -> np.ndarray:
        return np.concatenate([problem.residual(parameters) for problem in problems])

    def jacobian(parameters: np.ndarray) -> np.ndarray:
        return np.concatenate([problem.jacobian(parameters) for problem in problems])

    fits = []
    for start in (longest.start(share) for share in (0.0, 1.0)):
        weight = np.sqrt(ridge * count * np.square(jacobian(start)).mean(axis=0))
        fits.append(minimise_towards(start, weight, start, residual, jacobian, iterations))
    return _Bent(cascade, longest.weights(min(fits, key=lambda fit: fit.cost).parameters))


def _cascade(memory: Memory, ridge: float, degree: int, reach: float, iterations: int) -> Candidate:
    fit = partial(_fit_cascade, memory, ridge, degree, reach, iterations)
    return Candidate("cascade", memory, ridge, 2 * memory.system.order + degree + 1, fit)


def cascades(memories: Sequence[Memory]) -> list[Candidate]:
    """With a curve of few and of many terms."""
    return [
        _cascade(memory, ridge, degree, reach, 15)
        for memory in memories
        for degree, reach in ((3, 3.0), (9, 2.5))
        for ridge in (1e-6, 1e-3)
    ]


# -- loops --------------------------------------------------------------------------------------------------------


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


def _fit_loop(memory: Memory, ridge: float, terms: Terms, iterations: int, records: Records, known: int) -> _Looped:
    values = np.concatenate([y for _, y in records])
    low, high, room = float(values.min()), float(values.max()), float(np.ptp(values))
    floor = low if _stands(values, low) else -np.inf
    ceiling = high if _stands(values, high) else np.inf
    reach = 1.5 * max(float(np.abs(u).max()) for u, _ in records)
    loop = BoundedLoop(memory, terms, max(floor, low - room), min(ceiling, high + room), reach)
    start = loop.equation_fit(records, known, 1e-5)
    if terms == LINEAR:
        parameters, _ = loop.fit(records, known, ridge, [start], start, iterations)
        return _Looped(loop, parameters, floor, ceiling)
    # Held towards the linear loop, which is fitted first.
    line = replace(loop, terms=LINEAR)
    begin = line.equation_fit(records, known, 1e-5)
    simple, _ = line.fit(records, known, 0.0, [begin], begin, iterations)
    prior = np.zeros(loop.n_parameters)
    prior[0] = simple[0]
    for term, functional in zip(LINEAR, line._functionals(simple), strict=True):
        loop._functionals(prior)[terms.index(term)] = functional
    parameters, _ = loop.fit(records, known, ridge, [prior, start], prior, iterations)
    return _Looped(loop, parameters, floor, ceiling)


def _loop(form: str, memory: Memory, ridge: float, iterations: int = 15) -> Candidate:
    unknowns = 1 + len(LOOPS[form]) * memory.system.order
    return Candidate(form, memory, ridge, unknowns, partial(_fit_loop, memory, ridge, LOOPS[form], iterations))


def linear_loops() -> list[Candidate]:
    """Of short memories: a loop remembers by itself."""
    memories = [Memory(LegT(order, float(order))) for order in (1, 2, 3, 4, 6, 8, 12)]
    memories += [Memory(LegS(order, timescale)) for order, timescale in ((2, 2.0), (2, 4.0), (3, 8.0), (8, 4.0))]
    return [_loop("linear loop", memory, 0.0) for memory in memories]


def loops(memories: Sequence[Memory], ridges: Sequence[float]) -> list[Candidate]:
    """All that are not linear, as far as they are small enough to be fitted soon."""
    return [
        _loop(form, memory, ridge)
        for memory in memories
        for form, terms in LOOPS.items()
        if terms != LINEAR and len(terms) * memory.system.order < 60
        for ridge in ridges
    ]


# -- integrators, and more freedom --------------------------------------------------------------------------------


def integrators() -> list[Candidate]:
    """With dry friction and without."""
    return [
        Candidate(
            "integrator with dry friction" if friction else "integrator",
            Memory(LegT(kept, float(kept))),
            0.0,
            kept + gains + 1 + friction,
            partial(fit_integrator, kept=kept, gains=gains, friction=friction),
        )
        for kept, gains in ((1, 2), (2, 3))
        for friction in (False, True)
    ]


def widened(candidate: Candidate) -> list[Candidate]:
    """The form once more, with the freedom that a long record allows."""
    form, memory = candidate.form, candidate.memory
    if form == "cascade":
        return [_cascade(memory, 1e-12, degree, 2.5, 40) for degree in (9, 21)]
    if form not in LOOPS:
        return [candidate]
    longer = [Memory(LegT(order, float(order))) for order in (6, 8) if order > memory.system.order]
    return [_loop(form, memory, 1e-9, 40)] + [
        _loop(one, long, 1e-9, 40)
        for one in dict.fromkeys([form, "loop of degree 3"])
        for long in longer
        if len(LOOPS[one]) * long.system.order < 60
    ]
