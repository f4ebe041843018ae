"""A loop that cannot run away: products of input and bounded output, fed back through memories.

What is fed back is held within bounds, so every memory has a bounded input and the output is bounded; the fit is held
towards a simpler model by a prior on all parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float

from hippozoo._internal.arguments import real_array, shorten, whole_number
from hippozoo.memory import Memory
from hippozoo.zoo.volterra._least_squares import minimise_towards, ridge_regression
from hippozoo.zoo.volterra._loop_kernels import run_bounded_loop, spread_through_bounded_loop
from hippozoo.zoo.volterra._records import Known, Record, checked_record, demand_memory, known_outputs
from hippozoo.zoo.volterra.kernels import default_length, sample_responses

__all__ = ["BoundedLoop", "Records", "settled"]

#: Input and output of several experiments on one system, each of its own length.
Records = Sequence[tuple[Float[np.ndarray, " _"], Float[np.ndarray, " _"]]]


def settled(memory: Memory, level: float) -> Float[np.ndarray, " order"]:
    """The state of a memory whose input has always been at one level: a constant is the first coefficient."""
    state = np.zeros(memory.system.order)
    state[0] = level
    return state


@dataclass(frozen=True)
class BoundedLoop:
    """y = c + Σ functionals of the memories of u^j and, one sample late, of bounded y^i u^j.

    Parameters
    ----------
    memory
        How all of them are remembered.
    terms
        The exponents (i, j) of output and input; those with i = 0 drive the loop, the others go around it.
    low, high
        What is fed back is held between these.
    reach
        In all terms but the input itself, the input counts no further than this, to either side.

    Examples
    --------
    >>> from hippozoo.systems import LegT
    >>> loop = BoundedLoop(Memory(LegT(order=1, timescale=1.0)), ((0, 1), (1, 0)), -2.0, 2.0)
    >>> runaway = np.array([0.0, 1.0, 3.0])  # y = u + 3 y before: tripled at every sample, were it not bounded
    >>> bool(np.abs(loop.simulate(runaway, np.ones(50))).max() < 10)
    True
    """

    memory: Memory
    terms: tuple[tuple[int, int], ...]
    low: float
    high: float
    reach: float = np.inf

    def __post_init__(self) -> None:
        demand_memory("memory", self.memory)
        object.__setattr__(self, "terms", _checked_terms(self.terms))
        for name in ("low", "high", "reach"):
            number = getattr(self, name)
            if isinstance(number, bool) or not isinstance(number, (int, float, np.number)):
                raise TypeError(f"{name}={shorten(number)}: pass one real number; infinity is no bound.")
            object.__setattr__(self, name, float(number))
        if not self.low < self.high:
            raise ValueError(f"low={self.low} and high={self.high}: pass a low below high.")
        if not self.reach > 0:
            raise ValueError(f"reach={self.reach}: pass a reach > 0, or none to let the input count as it is.")

    @property
    def n_parameters(self) -> int:
        """A constant, and a functional for each term."""
        return 1 + len(self.terms) * self.memory.system.order

    @cached_property
    def _responses(self) -> np.ndarray:
        """What each coefficient says of an impulse, until it is forgotten, (lags, order)."""
        length = 2 * default_length(self.memory)
        while np.abs(sample_responses(self.memory, length)[-1]).max() > 1e-6 and length < 4096:
            length *= 2
        return sample_responses(self.memory, length)

    @cached_property
    def _around(self) -> tuple[np.ndarray, np.ndarray]:
        """Which terms go around the loop, and their exponents of the output."""
        around = np.array([i > 0 for i, _ in self.terms])
        return around, np.array([i for i, _ in self.terms if i > 0], dtype=np.int64)

    def _functionals(self, parameters: np.ndarray) -> np.ndarray:
        return parameters[1:].reshape(len(self.terms), self.memory.system.order)

    def _taps(self, parameters: np.ndarray) -> np.ndarray:
        around, _ = self._around
        return np.ascontiguousarray(self._functionals(parameters)[around] @ self._responses.T)

    def _input(self, signal: np.ndarray, i: int, j: int) -> np.ndarray:
        """The input's part of a term."""
        return signal if (i, j) == (0, 1) else np.clip(signal, -self.reach, self.reach) ** j

    def _factors(self, signal: np.ndarray) -> np.ndarray:
        return np.array([self._input(signal, i, j) for i, j in self.terms if i > 0]).reshape(-1, len(signal))

    def _drive(self, parameters: np.ndarray, signal: np.ndarray) -> np.ndarray:
        drive = np.full(len(signal), parameters[0])
        for (i, j), weights in zip(self.terms, self._functionals(parameters), strict=True):
            if i == 0:
                driven = self._input(signal, i, j)
                drive += self.memory.readout(driven, weights, settled(self.memory, float(driven[0])))
        return drive

    def run(
        self, parameters: Float[np.ndarray, " parameters"], signal: np.ndarray, known: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Outputs, and what was fed back; before the first sample the loop stood at its first known output."""
        _, exponents = self._around
        factors = self._factors(signal)
        taps = self._taps(parameters)
        drive = self._drive(parameters, signal)
        if len(known):
            # A constant past at the first known output: what its memories would say, sample by sample.
            before = known[0] ** exponents * factors[:, 0]
            left = np.cumsum(taps[:, ::-1], axis=1)[:, ::-1]  # of the taps from each lag on
            count = min(len(drive), taps.shape[1])
            drive[:count] += before @ left[:, :count]
        return run_bounded_loop(drive, taps, exponents, factors, known, self.low, self.high)

    def simulate(self, parameters: Float[np.ndarray, " parameters"], signal: Record, known: Known = None) -> Record:
        """The output, from the input, the loop's own past, and the first outputs if they are known."""
        vector = self._vector("parameters", parameters)
        return self.run(vector, checked_record("signal", signal), known_outputs(known))[0]

    def columns(self, signal: np.ndarray, fed: np.ndarray) -> np.ndarray:
        """What the readout sees if this is fed back: constant, and the memories of all terms."""
        parts = [np.ones((len(signal), 1))]
        for i, j in self.terms:
            values = fed**i * self._input(signal, i, j)
            begin = settled(self.memory, float(values[0]))
            states = self.memory.scan(values, begin)
            parts.append(states if i == 0 else np.concatenate([begin[None], states[:-1]]))
        return np.concatenate(parts, axis=1)

    def equation_fit(self, records: Records, known: int, ridge: float) -> np.ndarray:
        """Ridge regression with measured outputs in the loop; where a simulation may start from."""
        records, known, ridge = _checked(records, known, ridge)
        rows = np.concatenate([self.columns(u, y)[known:] for u, y in records])
        wanted = np.concatenate([y[known:] for _, y in records])
        return ridge_regression(rows, wanted, ridge * len(rows))

    def fit(
        self,
        records: Records,
        known: int,
        ridge: float,
        starts: Sequence[np.ndarray],
        prior: np.ndarray,
        iterations: int = 30,
    ) -> tuple[np.ndarray, float]:
        """Least squares on the simulated output, held towards `prior`; the best of several starts, and its cost.

        Parameters
        ----------
        records
            Input and output of each record.
        known
            So many measured outputs begin each simulation, and are not fitted.
        ridge
            How strongly a parameter is held, relative to its effect on the output at the prior.
        starts
            Where the search begins.
        prior
            What the parameters are held towards.
        iterations
            Levenberg-Marquardt steps from each start.
        """
        records, known, ridge = _checked(records, known, ridge)
        iterations = whole_number("iterations", iterations, minimum=0)
        prior = self._vector("prior", prior)
        starts = [self._vector(f"starts[{number}]", start) for number, start in enumerate(starts)]
        if not starts:
            raise ValueError("starts is empty; pass at least one vector of parameters, for example [prior].")
        wanted = np.concatenate([y[known:] for _, y in records])
        effect = np.concatenate([self.columns(u, np.clip(y, self.low, self.high))[known:] for u, y in records])
        weight = np.sqrt(ridge * len(wanted) * np.square(effect).mean(axis=0))

        def residual(parameters: np.ndarray) -> np.ndarray:
            return wanted - np.concatenate([self.run(parameters, u, y[:known])[0][known:] for u, y in records])

        def jacobian(parameters: np.ndarray) -> np.ndarray:
            return np.concatenate([self._slopes(parameters, u, y, known) for u, y in records])

        fits = [minimise_towards(prior, weight, start, residual, jacobian, iterations) for start in starts]
        best = min(fits, key=lambda fit: fit.cost)
        return best.parameters, best.cost

    def _vector(self, name: str, values: Any) -> np.ndarray:
        array = real_array(name, values)
        if array.shape != (self.n_parameters,):
            raise ValueError(
                f"{name} has shape {array.shape}, but a constant and {len(self.terms)} terms of "
                f"{self.memory.system.order} coefficients are {self.n_parameters} parameters; take those of this loop."
            )
        return array

    def _slopes(self, parameters: np.ndarray, signal: np.ndarray, target: np.ndarray, known: int) -> np.ndarray:
        outputs, fed = self.run(parameters, signal, target[:known])
        slopes = self.columns(signal, fed)
        slopes[:known] = 0.0  # the loop begins at measured outputs, whatever the parameters
        _, exponents = self._around
        taps, factors = self._taps(parameters), self._factors(signal)
        spread_through_bounded_loop(slopes, outputs, fed, taps, exponents, factors, known)
        return slopes[known:]


def _checked_terms(terms: Any) -> tuple[tuple[int, int], ...]:
    advice = "pass pairs of exponents of output and input, for example ((0, 1), (1, 0))"
    try:
        pairs = [(i, j) for i, j in terms]
    except (TypeError, ValueError):
        raise TypeError(f"terms={shorten(terms)}: {advice}.") from None
    if not pairs:
        raise ValueError(f"terms is empty; {advice}.")
    return tuple((whole_number("exponent", i, minimum=0), whole_number("exponent", j, minimum=0)) for i, j in pairs)


def _checked(records: Any, known: Any, ridge: Any) -> tuple[list[tuple[np.ndarray, np.ndarray]], int, float]:
    known = whole_number("known", known, minimum=0)
    found = []
    for number, one in enumerate(records):
        if not isinstance(one, (list, tuple)) or len(one) != 2:
            raise TypeError(f"records[{number}]={shorten(one)}: pass pairs of input and output, [(u, y), …].")
        u, y = (checked_record(f"records[{number}][{side}]", values) for side, values in enumerate(one))
        if u.shape != y.shape:
            raise ValueError(f"records[{number}] has {len(u)} inputs and {len(y)} outputs; pass as many of both.")
        found.append((u, y))
    longest = max((len(u) for u, _ in found), default=0)
    if longest <= known:
        raise ValueError(f"known={known} leaves nothing of records of at most {longest} samples; pass longer ones.")
    if isinstance(ridge, bool) or not isinstance(ridge, (int, float, np.number)) or not 0 <= ridge < np.inf:
        raise ValueError(f"ridge={shorten(ridge)}: pass a finite number >= 0.")
    return found, known, float(ridge)
