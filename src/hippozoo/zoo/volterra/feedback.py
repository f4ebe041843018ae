"""A loop: a memory of the input and memories of the powers of its own output (a Duffing oscillator, for example).

A system whose nonlinearity stands in a feedback loop has infinitely many Volterra kernels, so no polynomial of finite
degree is it. Its equation is polynomial nevertheless: y is a linear readout of the memories of u, y, y², y³, … before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import comb
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from hippozoo._arguments import positive_number, shorten, whole_number
from hippozoo.memory import Memory
from hippozoo.zoo.volterra._kernels import run_loop, spread_through_loop
from hippozoo.zoo.volterra._least_squares import minimise
from hippozoo.zoo.volterra.cascade import _record, branch_kernel
from hippozoo.zoo.volterra.kernels import default_length, sample_responses
from hippozoo.zoo.volterra.learners import DivergenceError

__all__ = ["FeedbackLoop", "FeedbackWeights"]


class FeedbackWeights(NamedTuple):
    """What a loop has learnt.

    Parameters
    ----------
    constant
        What is added at every sample.
    drive
        The functional of the input's memory.
    feedback
        For each power of the output, the functional of its memory.
    """

    constant: float
    drive: Float[np.ndarray, " order"]
    feedback: Float[np.ndarray, "degree order"]


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
        if not isinstance(self.memory, Memory):
            raise TypeError(f"memory={shorten(self.memory)} is not a Memory; pass Memory(system, dt=…).")
        object.__setattr__(self, "degree", whole_number("degree", self.degree))

    @property
    def n_parameters(self) -> int:
        """One constant, and a functional for the input and for each power."""
        return 1 + (1 + self.degree) * self.memory.system.order

    def simulate(
        self,
        weights: FeedbackWeights,
        signal: Float[np.ndarray, " time"],
        known: Float[np.ndarray, " known"] | None = None,
    ) -> Float[np.ndarray, " time"]:
        """The output, from the input and the loop's own past output alone.

        Parameters
        ----------
        weights
            What has been learnt.
        signal
            The input; it was zero before its first sample.
        known
            Measured outputs of the first samples, fed back in place of the simulated ones to begin in the right
            state.
        """
        values = _record("signal", signal)
        first = np.zeros(0) if known is None else _record("known", known)
        drive = weights.constant + self.memory.readout(values, weights.drive)
        outputs, failed = run_loop(drive, self._taps(weights), first[: len(drive)], _LARGEST)
        if failed >= 0:
            raise DivergenceError(
                f"the simulated output left all bounds ({outputs[failed]:.3g}): the loop is unstable for this input, "
                f"which may be larger than those it was fitted to; scale it down or fit on larger ones.",
                int(failed),
            )
        return outputs

    def fit(
        self,
        signal: Float[np.ndarray, " time"],
        target: Float[np.ndarray, " time"],
        warm_up: int = 100,
        iterations: int = 20,
        ridge: float = 1e-7,
        progress: Callable[[float], None] | None = None,
    ) -> FeedbackWeights:
        """First the equation itself, with measured outputs in the loop (linear); then the simulated output.

        Parameters
        ----------
        signal, target
            Input and output.
        warm_up
            How many measured outputs start the loop; they are not fitted.
        iterations
            Levenberg-Marquardt steps on the simulation error; 0 keeps the linear start.
        ridge
            Of the linear start, relative to the power of its columns.
        progress
            Called with the fraction done.
        """
        values, wanted = _record("signal", signal), _record("target", target)
        if values.shape != wanted.shape:
            raise ValueError(f"signal has {len(values)} samples and target {len(wanted)}; pass one target per sample.")
        warm_up = whole_number("warm_up", warm_up)
        ridge = positive_number("ridge", ridge)
        if len(values) - warm_up <= self.n_parameters:
            raise ValueError(
                f"{len(values)} samples with warm_up={warm_up} leave too few for {self.n_parameters} unknowns; pass "
                f"more."
            )
        columns = self._columns(values, wanted)
        scale = np.maximum(columns[warm_up:].std(axis=0), 1e-300)
        scale[0] = 1.0
        rows = columns[warm_up:] / scale
        normal = rows.T @ rows + ridge * len(rows) * np.eye(rows.shape[1])
        start = np.linalg.solve(normal, rows.T @ wanted[warm_up:])
        if iterations == 0:
            return self._weights(start / scale)

        def simulated(parameters: np.ndarray) -> np.ndarray:
            return self.simulate(self._weights(parameters / scale), values, wanted[:warm_up])

        def residual(parameters: np.ndarray) -> np.ndarray:
            return (wanted - simulated(parameters))[warm_up:]

        def jacobian(parameters: np.ndarray) -> np.ndarray:
            outputs = simulated(parameters)
            outputs[:warm_up] = wanted[:warm_up]
            slopes = self._columns(values, outputs) / scale
            slopes[:warm_up] = 0.0  # the loop begins at measured outputs, whatever the parameters
            spread_through_loop(slopes, outputs, self._taps(self._weights(parameters / scale)), warm_up)
            return slopes[warm_up:]

        found = minimise(start, residual, jacobian, iterations, progress=progress)
        return self._weights(found.parameters / scale)

    def filters(
        self, weights: FeedbackWeights, length: int | None = None
    ) -> tuple[Float[np.ndarray, " length"], Float[np.ndarray, "degree length"]]:
        """Impulse responses at sample lags: of the input, and of each power of the output, one sample late."""
        count = default_length(self.memory) if length is None else whole_number("length", length)
        responses = sample_responses(self.memory, count)
        return responses @ weights.drive, weights.feedback @ responses.T

    def rest(self, weights: FeedbackWeights) -> float:
        """The output at rest, without input: where the loop stands still."""
        gains = self._taps(weights).sum(axis=1)
        level = 0.0
        for _ in range(100):
            powers = np.arange(1, self.degree + 1)
            value = weights.constant + float(gains @ level**powers) - level
            slope = float((gains * powers) @ level ** (powers - 1)) - 1.0
            level -= value / slope
        return level

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

    def _weights(self, parameters: np.ndarray) -> FeedbackWeights:
        order = self.memory.system.order
        feedback = parameters[1 + order :].reshape(self.degree, order)
        return FeedbackWeights(float(parameters[0]), parameters[1 : 1 + order].copy(), feedback.copy())


# Far beyond anything that is fitted, far below overflow of its cube.
_LARGEST = 1e30
