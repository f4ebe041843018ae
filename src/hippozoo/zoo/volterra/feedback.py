"""A loop: a memory of the input and memories of the powers of its own output (a Duffing oscillator, for example).

Such a system has infinitely many Volterra kernels, but its equation is a polynomial: y is a linear readout of the
memories of u, y, y², y³, … before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from math import comb
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy.polynomial import Polynomial

from hippozoo._internal.arguments import positive_number, whole_number
from hippozoo.discretise import discretise
from hippozoo.memory import Memory
from hippozoo.zoo.volterra._least_squares import minimise
from hippozoo.zoo.volterra._loop_kernels import run_loop, spread_through_loop
from hippozoo.zoo.volterra._records import (
    Known,
    Record,
    checked_pair,
    checked_record,
    checked_weights,
    demand_memory,
    known_outputs,
)
from hippozoo.zoo.volterra.cascade import branch_kernel
from hippozoo.zoo.volterra.kernels import default_length, sample_responses
from hippozoo.zoo.volterra.learners import DivergenceError

__all__ = ["FeedbackLoop", "FeedbackWeights"]

# A ridge that leaves next to nothing of the feedback.
_STRONGEST = 1e3
# Samples after which a loop has come near the state of rest that it goes to.
_SETTLING = 10_000


class FeedbackWeights(NamedTuple):
    """What a loop has learnt."""

    constant: float  #: What is added at every sample.
    drive: Float[np.ndarray, " order"]  #: The functional of the input's memory.
    feedback: Float[np.ndarray, "degree order"]  #: For each power of the output, the functional of its memory.


@dataclass(frozen=True)
class FeedbackLoop:
    """y_t = c + drive · memory of u up to t + Σ_m feedback_m · memory of y^m up to t - 1.

    Parameters
    ----------
    memory
        How the input and the powers of the output are remembered; all alike. Short memories are enough: the loop
        itself remembers.
    degree
        Highest power of the output.

    Examples
    --------
    >>> from hippozoo.systems import LegT
    >>> u = np.random.default_rng(0).normal(size=2000)
    >>> y = np.zeros(2000)
    >>> for t in range(2, 2000):  # an oscillator whose spring hardens
    ...     y[t] = 1.6 * y[t - 1] - 0.8 * y[t - 2] + 0.05 * u[t] - 0.1 * y[t - 1] ** 3
    >>> loop = FeedbackLoop(Memory(LegT(order=4, timescale=4.0)), degree=3)
    >>> found = loop.fit(u, y, warm_up=50)
    >>> error = np.std(loop.simulate(found, u, known=y[:50])[50:] - y[50:]) / y.std()
    >>> bool(error < 0.01)
    True
    """

    memory: Memory
    degree: int = 3

    def __post_init__(self) -> None:
        demand_memory("memory", self.memory)
        object.__setattr__(self, "degree", whole_number("degree", self.degree))

    @property
    def n_parameters(self) -> int:
        """One constant, and a functional for the input and for each power."""
        return 1 + (1 + self.degree) * self.memory.system.order

    def simulate(self, weights: FeedbackWeights, signal: Record, known: Known = None) -> Record:
        """The output, from the input (zero before its first sample) and the loop's own past output alone.

        `known` are measured outputs of the first samples, fed back in place of the simulated ones to begin in the
        right state.
        """
        weights = self._checked(weights)
        values, first = checked_record("signal", signal), known_outputs(known)
        drive = weights.constant + self.memory.readout(values, weights.drive)
        outputs, failed = run_loop(drive, self._taps(weights), first[: len(drive)], self._largest)
        if failed >= 0:
            raise DivergenceError(
                f"the simulated output left all bounds ({outputs[failed]:.3g}): the loop is unstable for this input, "
                f"which may be larger than those it was fitted to; scale it down or fit on larger ones.",
                int(failed),
                "simulation ran away",
            )
        return outputs

    def fit(
        self,
        signal: Record,
        target: Record,
        warm_up: int = 100,
        iterations: int = 20,
        ridge: float = 1e-7,
        progress: Callable[[float], None] | None = None,
    ) -> FeedbackWeights:
        """First the equation itself, with measured outputs in the loop (linear); then the simulated output.

        A start that runs away in simulation is computed again with ten times the ridge on the feedback, until it does
        not. A chaotic simulation has no slope to follow, and the start is returned. The input may stand still.

        Parameters
        ----------
        signal, target
            Input and output.
        warm_up
            How many measured outputs start the loop; they are not fitted.
        iterations
            Levenberg-Marquardt steps on the simulation error; 0 keeps the linear start, whether it runs away or not.
        ridge
            Of the linear start, relative to the power of its columns.
        progress
            Called with the fraction done.
        """
        warm_up = whole_number("warm_up", warm_up)
        iterations = whole_number("iterations", iterations, minimum=0)
        ridge = positive_number("ridge", ridge)
        values, wanted = checked_pair(signal, target, warm_up, self.n_parameters, self._largest)
        problem = _Problem(self, values, wanted, warm_up)
        failed = 0
        for penalty in problem.penalties(ridge):
            start = problem.start(penalty)
            if iterations == 0:
                return problem.weights(start)
            try:
                found = minimise(start, problem.residual, problem.jacobian, iterations, progress=progress)
            except DivergenceError as error:
                failed = error.sample
            else:
                return problem.weights(found.parameters)
        raise DivergenceError(
            f"this loop of degree {self.degree} runs away on the record it is fitted to, even after ridge={ridge:.3g} "
            f"was raised to {max(ridge, _STRONGEST):.3g}; pass a lower degree, a larger ridge=, or another memory, and "
            f"look for outliers in the first warm_up={warm_up} outputs.",
            failed,
            "simulation ran away",
        )

    def filters(
        self, weights: FeedbackWeights, length: int | None = None
    ) -> tuple[Float[np.ndarray, " length"], Float[np.ndarray, "degree length"]]:
        """Impulse responses at sample lags: of the input, and of each power of the output, one sample late."""
        weights = self._checked(weights)
        count = default_length(self.memory) if length is None else whole_number("length", length)
        responses = sample_responses(self.memory, count)
        return responses @ weights.drive, weights.feedback @ responses.T

    def rest(self, weights: FeedbackWeights) -> float:
        """The output at rest: where the loop stands still without input, and returns to after a small push.

        Of several such levels, the one that it reaches from an empty memory; a loop without any is refused.
        """
        weights = self._checked(weights)
        gains = self._taps(weights).sum(axis=1)
        roots = Polynomial(np.append(weights.constant, gains) - (np.arange(self.degree + 1) == 1)).roots()
        levels = [float(root.real) for root in roots if abs(root.imag) <= 1e-9 * abs(root) < 1e-9 * self._largest]
        growth = {level: self._growth(weights, level) for level in levels}
        stable = [level for level in levels if growth[level] < 1]
        if not stable:
            why = f"no y solves y = {weights.constant:.3g} + Σ gain_m y^m with gains {np.round(gains, 3).tolist()}"
            if levels:
                places = ", ".join(f"{level:.3g}" for level in levels)
                why = f"from {places} a small push leads away, {min(growth.values()):.3g} times as far each sample"
            raise ValueError(
                f"this loop has no state of rest, and no kernels about one: {why}. Simulate it, or fit again with a "
                f"larger ridge= or a lower degree."
            )
        end = 0.0
        if len(stable) > 1:
            with suppress(DivergenceError):
                end = float(self.simulate(weights, np.zeros(_SETTLING))[-1])
        return min(stable, key=lambda level: abs(level - end))

    def kernel(self, weights: FeedbackWeights, k: int, length: int) -> Float[np.ndarray, "..."]:
        """The Volterra kernel of degree 1, 2 or 3 about the state of rest, in closed form.

        With R the response of the linear loop, ``y1 = R drive u``, ``y2 = R f2 y1²`` and
        ``y3 = R (2 f2 y1 y2 + f3 y1³)``, where f_k are the feedback filters about the state of rest.
        """
        if k not in (1, 2, 3):
            raise ValueError(f"k={k}: the kernels of a loop go on for ever; those of degree 1, 2 and 3 are given here.")
        length = whole_number("length", length)
        drive, feedback = self.filters(weights, length)
        level = self.rest(weights)
        late = np.zeros((max(3, self.degree), length))
        for j in range(1, self.degree + 1):
            total = sum(comb(m, j) * level ** (m - j) * feedback[m - 1] for m in range(j, self.degree + 1))
            late[j - 1, 1:] = np.asarray(total)[:-1]
        closed = np.zeros(length)
        for t in range(length):
            closed[t] = (t == 0) + late[0, 1 : t + 1] @ closed[:t][::-1]
        linear = np.convolve(closed, drive)[:length]
        if k == 1:
            return linear
        behind = [np.convolve(closed, row)[:length] for row in late[1:3]]
        quadratic = branch_kernel(behind[0], [linear, linear])
        if k == 2:
            return quadratic
        cubic = branch_kernel(behind[1], [linear] * 3)
        mixed = 2 * branch_kernel(behind[0], [linear, quadratic])
        return cubic + (mixed + mixed.transpose(1, 0, 2) + mixed.transpose(1, 2, 0)) / 3

    def _taps(self, weights: FeedbackWeights) -> np.ndarray:
        """The feedback filters until everything is forgotten, (degree, lags)."""
        length = 4 * default_length(self.memory)
        while np.abs(sample_responses(self.memory, length)[-1]).max() > 1e-9:
            length *= 2
        return np.ascontiguousarray(self.filters(weights, length)[1])

    def _columns(self, signal: np.ndarray, output: np.ndarray) -> np.ndarray:
        """What the readout sees, sample by sample, if this was the output: constant, memory of u, memories of y^m."""
        parts = [np.ones((len(signal), 1)), self.memory.scan(signal)]
        for m in range(1, self.degree + 1):
            states = self.memory.scan(output**m)
            parts.append(np.concatenate([np.zeros((1, states.shape[1])), states[:-1]]))
        return np.concatenate(parts, axis=1)

    def _growth(self, weights: FeedbackWeights, level: float) -> float:
        """By how much a small push away from this level grows in a sample, in the long run."""
        A_d, b_d = discretise(self.memory.system, self.memory.dt, self.memory.method)
        powers = np.arange(1, self.degree + 1)
        # About a level, y^m moves by m level^(m-1) times as much as y: all memories move like one.
        feedback = (powers * level ** (powers - 1.0)) @ weights.feedback
        return float(np.abs(np.linalg.eigvals(A_d + np.outer(b_d, feedback))).max())

    @property
    def _largest(self) -> float:
        """An output that has left all bounds: far beyond anything fitted, and its powers can still be squared."""
        return 10.0 ** min(30.0, 150 / self.degree)

    def _checked(self, weights: FeedbackWeights) -> FeedbackWeights:
        order = self.memory.system.order
        shapes = {"constant": (), "drive": (order,), "feedback": (self.degree, order)}
        found = checked_weights(weights, FeedbackWeights, shapes, f"a loop of degree {self.degree}, order {order},")
        return found._replace(constant=float(found.constant))


class _Problem:
    """The least-squares problem of one record: where to start, residuals and Jacobian, in columns of equal spread."""

    def __init__(self, loop: FeedbackLoop, signal: np.ndarray, target: np.ndarray, warm_up: int) -> None:
        self.loop = loop
        self.signal = signal
        self.target = target
        self.warm_up = warm_up
        self.order = loop.memory.system.order
        columns = loop._columns(signal, target)[warm_up:]
        # Of each column, the root mean square of the whole memory that it belongs to.
        powers = (columns[:, 1:] ** 2).mean(axis=0).reshape(-1, self.order).sum(axis=1)
        size = np.append(1.0, np.repeat(np.sqrt(powers), self.order))
        spread = columns.std(axis=0)
        # What stands still is the constant once more: divided by its spread, mere rounding would become a column.
        self.scale = np.where(spread > 1e-12 * size, spread, np.where(size > 0, size, 1.0))
        self.share = size / self.scale
        self.rows = columns / self.scale

    def weights(self, parameters: np.ndarray) -> FeedbackWeights:
        unscaled = parameters / self.scale
        drive, feedback = np.split(unscaled[1:], [self.order])
        return FeedbackWeights(float(unscaled[0]), drive.copy(), feedback.reshape(self.loop.degree, self.order).copy())

    def penalties(self, ridge: float) -> Iterator[np.ndarray]:
        """The ridge of each column as it was given; then, for starts that run away, tenfold again and again.

        First on the powers of the output, until a linear loop is left, then on the output too; and relative to whole
        memories, because what runs away is what hardly moved in the record and so could have any weight.
        """
        penalty = np.full(len(self.scale), ridge)
        yield penalty
        for first in (1 + 2 * self.order, 1 + self.order):
            raised = ridge
            while raised < _STRONGEST:
                raised *= 10
                penalty[first:] = raised * self.share[first:] ** 2
                yield penalty

    def start(self, penalty: np.ndarray) -> np.ndarray:
        """Ridge regression on measured outputs."""
        normal = self.rows.T @ self.rows + len(self.rows) * np.diag(penalty)
        return np.linalg.solve(normal, self.rows.T @ self.target[self.warm_up :])

    def simulated(self, parameters: np.ndarray) -> np.ndarray:
        return self.loop.simulate(self.weights(parameters), self.signal, self.target[: self.warm_up])

    def residual(self, parameters: np.ndarray) -> np.ndarray:
        return (self.target - self.simulated(parameters))[self.warm_up :]

    def jacobian(self, parameters: np.ndarray) -> np.ndarray:
        outputs = self.simulated(parameters)
        outputs[: self.warm_up] = self.target[: self.warm_up]
        slopes = self.loop._columns(self.signal, outputs) / self.scale
        slopes[: self.warm_up] = 0.0  # the loop begins at measured outputs, whatever the parameters
        spread_through_loop(slopes, outputs, self.loop._taps(self.weights(parameters)), self.warm_up)
        return slopes[self.warm_up :]
