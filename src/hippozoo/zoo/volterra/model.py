"""Memory and readout as one online model: samples in, predictions out, kernels on request."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from hippozoo._internal.arguments import real_array, shorten, whole_number
from hippozoo._internal.immutable import Immutable
from hippozoo.discretise import checked_steps
from hippozoo.memory import Memory, hold_missing
from hippozoo.memory.memory import Signal, State
from hippozoo.zoo.volterra._records import demand_memory
from hippozoo.zoo.volterra.identification import Identification, identify
from hippozoo.zoo.volterra.kernels import continuous_kernel, default_length, sample_kernel
from hippozoo.zoo.volterra.learners import NLMS, DivergenceError, Learner, LearntState
from hippozoo.zoo.volterra.readouts import LowRankReadout, PolynomialReadout

__all__ = ["VolterraModel", "VolterraState"]

# Samples whose states are held at once: 4 MB at order 64, so that they stay near the processor.
_BLOCK = 8192


class VolterraState(NamedTuple):
    """All that a model knows: the memory of the input, and what has been learnt."""

    memory: State  #: The state of the memory, (order,) or (channels, order).
    learnt: LearntState  #: Where learning stands.


@dataclass(frozen=True, eq=False)
class VolterraModel(Immutable):
    """Learns online which products of past inputs make the output, and shows them as kernels.

    Pure: the state goes in and comes out. At each sample the memory takes in the input, the readout predicts the
    target from the state, and then learns from it.

    Parameters
    ----------
    memory
        How the input is remembered.
    degree
        Highest degree of the polynomial, K in the paper.
    rank
        None for the full tensors; else the number of products of linear functionals in each degree from 2 on.
    learner
        `NLMS` (default), `SGD` or `RidgeRLS`.
    channels
        Number of inputs; None for a single stream of numbers.
    directions
        Columns of state space to which the readout is confined, (channels * order, count); `leading_directions`
        finds them. All of it by default.

    Examples
    --------
    Which pairs of past samples matter? Here the product of those 2 and 5 steps ago.

    >>> from hippozoo.systems import LegT
    >>> signal = np.random.default_rng(0).normal(size=20_000)
    >>> target = 3 * np.roll(signal, 2) * np.roll(signal, 5)
    >>> model = VolterraModel(Memory(LegT(order=8, timescale=8.0)), degree=2)
    >>> predictions, state = model.learn(model.initial_state(), signal, target)
    >>> kernel = model.kernel(state, 2, length=8)
    >>> sorted(map(int, np.unravel_index(kernel.argmax(), kernel.shape)))
    [2, 5]

    References
    ----------
    Paper, section "Volterra HiPPO".
    """

    memory: Memory
    degree: int = 2
    rank: int | None = None
    learner: Learner = field(default_factory=NLMS)
    channels: int | None = None
    directions: Float[np.ndarray, "features directions"] | None = None

    def __post_init__(self) -> None:
        demand_memory("memory", self.memory)
        if not isinstance(self.learner, Learner):
            raise TypeError(f"learner={shorten(self.learner)} is no learner; pass NLMS(), SGD() or RidgeRLS().")
        if self.channels is not None:
            object.__setattr__(self, "channels", whole_number("channels", self.channels))
        if self.directions is not None:
            columns = real_array("directions", self.directions)
            if columns.ndim != 2 or columns.shape[0] != self.features or columns.shape[1] == 0:
                raise ValueError(
                    f"directions has shape {columns.shape}; pass columns of state space, ({self.features}, count)."
                )
            object.__setattr__(self, "directions", columns)
        self.learner._check_readout(self.readout)

    # -- what it is made of -----------------------------------------------------------------------------------------

    @property
    def features(self) -> int:
        """Numbers in the memory's state: channels * order."""
        return (self.channels or 1) * self.memory.system.order

    @cached_property
    def readout(self) -> PolynomialReadout | LowRankReadout:
        """The polynomial that is learnt."""
        inputs = self.features if self.directions is None else self.directions.shape[1]
        if self.rank is None:
            return PolynomialReadout(inputs, self.degree)
        return LowRankReadout(inputs, self.degree, self.rank)

    def initial_state(self, rng: np.random.Generator | None = None) -> VolterraState:
        """An empty memory, and nothing learnt; `rng` is for the low-rank readout, which starts at random."""
        return VolterraState(self.memory.initial_state(self.channels), self.learner.initial_state(self.readout, rng))

    # -- one sample -------------------------------------------------------------------------------------------------

    def predict_one(self, state: VolterraState, sample: Any, dt: float | None = None) -> tuple[float, VolterraState]:
        """Take in one sample and predict its target, without learning."""
        memory = self.memory.step(_begun(state).memory, sample, dt)
        prediction = self.readout.predict(state.learnt.parameters, self._read(memory[None]))[0]
        return float(prediction), state._replace(memory=memory)

    def learn_one(
        self, state: VolterraState, sample: Any, target: float, dt: float | None = None
    ) -> tuple[float, VolterraState]:
        """Take in one sample, predict its target, then learn from the target; what `predict_one` would have said."""
        wanted = real_array("target", target)
        if wanted.ndim:
            raise ValueError(f"target has shape {wanted.shape}; pass one number, or use learn for arrays.")
        memory = self.memory.step(_begun(state).memory, sample, dt)
        predictions, learnt = self.learner.learn(self.readout, self._read(memory[None]), wanted[None], state.learnt)
        return float(predictions[0]), VolterraState(memory, learnt)

    # -- whole arrays -----------------------------------------------------------------------------------------------

    def predict(
        self, state: VolterraState, signal: Signal, dt: Any = None, mask: Any = None, held: Any = 0.0
    ) -> tuple[Float[np.ndarray, " time"], VolterraState]:
        """`predict_one` for every sample of an array; `dt`, `mask` and `held` are those of `Memory.scan`."""
        self._demand_array(signal, "predict_one")
        memory, parts = _begun(state).memory, []
        for piece, step in _blocks(signal, dt, mask, held):
            states = self.memory.scan(piece, memory, step)
            parts.append(self.readout.predict(state.learnt.parameters, self._read(states)))
            memory = states[-1].copy()
        return np.concatenate(parts or [np.zeros(0)]), state._replace(memory=memory)

    def learn(
        self,
        state: VolterraState,
        signal: Signal,
        targets: Float[np.ndarray, " time"],
        dt: Any = None,
        mask: Any = None,
        held: Any = 0.0,
    ) -> tuple[Float[np.ndarray, " time"], VolterraState]:
        """`learn_one` for all of an array, in a compiled loop; each prediction is made before its target is used.

        An empty array changes nothing.
        """
        self._demand_array(signal, "learn_one")
        wanted = real_array("targets", targets)
        if wanted.shape != np.shape(signal)[:1]:
            raise ValueError(
                f"targets has shape {wanted.shape}, but the signal has shape {np.shape(signal)}; pass one target per "
                f"sample."
            )
        (memory, learnt), parts, first = _begun(state), [], 0
        for piece, step in _blocks(signal, dt, mask, held):
            states = self.memory.scan(piece, memory, step)
            expected = wanted[first : first + len(states)]
            try:
                predictions, learnt = self.learner.learn(self.readout, self._read(states), expected, learnt)
            except DivergenceError as error:
                raise error.later(first) from None
            parts.append(predictions)
            memory, first = states[-1].copy(), first + len(states)
        return np.concatenate(parts or [np.zeros(0)]), VolterraState(memory, learnt)

    def _demand_array(self, signal: Any, for_one: str) -> None:
        """Refuse one sample, a number or a vector of the channels, where an array of samples is wanted."""
        given = np.asarray(signal)
        if given.ndim == (0 if self.channels is None else 1):
            raise ValueError(
                f"signal has shape {given.shape}, which is one sample; pass an array of samples, or call {for_one}."
            )

    # -- what has been learnt ---------------------------------------------------------------------------------------

    def tensor(self, state: VolterraState, k: int) -> Float[np.ndarray, "..."]:
        """The symmetric coefficient tensor of degree k over the memory's state, β⁽ᵏ⁾ in the paper."""
        tensor = self.readout.tensor(state.learnt.parameters, k)
        if self.directions is not None:
            for _ in range(k):
                # The axis in front goes to the back, so that after k turns all are in order again.
                tensor = np.tensordot(tensor, self.directions, axes=([0], [1]))
        return tensor

    def kernel(self, state: VolterraState, k: int, length: int | None = None) -> Float[np.ndarray, "..."]:
        """The kernel of degree k at sample lags: what products of k past samples add to the output, exactly.

        Shape (length,) * k, or (channels, length) * k for several inputs; by default `length` is the memory's window,
        or five timescales.
        """
        return sample_kernel(self.memory, self.tensor(state, k), length)

    def kernel_at(self, state: VolterraState, k: int, lags: Float[np.ndarray, " lags"]) -> Float[np.ndarray, "..."]:
        """The kernel of degree k in continuous time, at these lags along each axis."""
        return continuous_kernel(self.memory, self.tensor(state, k), lags)

    def identification(
        self,
        state: VolterraState,
        signal: Signal,
        tolerance: float = 1e-4,
        held_out: tuple[Float[np.ndarray, " held"], Float[np.ndarray, " held"]] | None = None,
    ) -> Identification:
        """Which part of the kernels this input can have identified, and which part is a guess of the learner.

        Parameters
        ----------
        state, signal
            What has been learnt, and the input it was learnt from, or one like it.
        tolerance
            A direction counts as excited if a kernel of unit length along it moves the output by more than this
            part (of the variance) of what the strongest direction does.
        held_out
            Input and target of a record that was not learnt from: the model's error on it is in the report, once its
            memory has filled.
        """
        if self.channels is not None:
            raise ValueError("identification looks at one input; build a model without channels for each of them.")
        # Tensors beyond the third degree are too large to unpack for a report.
        tensors = [self.tensor(state, k) for k in range(1, min(self.degree, 3) + 1)]
        error = None if held_out is None else self._error_on(state, *held_out)
        return replace(identify(self.memory, signal, tensors, tolerance), held_out_error=error)

    def _error_on(self, state: VolterraState, signal: Any, target: Any) -> float:
        """Mean squared error over the variance of the target, after the samples in which the memory fills."""
        wanted, filling = real_array("held_out target", target), default_length(self.memory)
        if wanted.shape != np.shape(signal) or len(wanted) <= filling + 1:
            raise ValueError(
                f"held_out has a signal of shape {np.shape(signal)} and a target of shape {wanted.shape}; pass two "
                f"arrays (time,) of one length, above {filling + 1} samples, in which the memory fills."
            )
        predictions, _ = self.predict(state._replace(memory=self.memory.initial_state()), signal)
        wanted = wanted[filling:]
        if not wanted.var() > 0:
            raise ValueError("the held_out target stands still once the memory has filled; pass a longer record.")
        return float(np.square(predictions[filling:] - wanted).mean() / wanted.var())

    def _read(self, states: np.ndarray) -> np.ndarray:
        """What the readout sees of the memory's states, (time, inputs)."""
        flat = states.reshape(len(states), self.features)
        return flat if self.directions is None else flat @ self.directions


def _begun(state: Any) -> VolterraState:
    if not isinstance(state, VolterraState):
        raise TypeError(f"state={shorten(state)}; the state comes first: pass model.initial_state() to begin with.")
    return state


def _blocks(signal: Any, dt: Any, mask: Any, held: Any) -> list[tuple[np.ndarray, Any]]:
    """The signal without gaps, in pieces, each with its steps."""
    # All of it is checked before the first piece is learnt from.
    values = real_array("signal", signal if mask is None else hold_missing(signal, mask, held))
    if values.ndim == 0 or 0 < len(values) <= _BLOCK:
        return [(values, dt)]
    steps = checked_steps(dt) if np.ndim(dt) else None
    if steps is not None and steps.shape != values.shape[:1]:
        raise ValueError(f"dt has shape {steps.shape}, but the signal has {len(values)} samples; pass one each.")
    pieces = [slice(begin, begin + _BLOCK) for begin in range(0, len(values), _BLOCK)]
    return [(values[piece], dt if steps is None else steps[piece]) for piece in pieces]
