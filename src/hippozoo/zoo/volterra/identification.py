"""Which kernel directions an input has identified: the others are whatever the learner happened to leave there.

A kernel along a direction that the input never excites changes no output, so no data can tell its size. The *strength*
of a kernel shape of unit length is the variance that it gives to the output.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy import linalg

from hippozoo._internal.arguments import positive_number, real_array, whole_number
from hippozoo.discretise import discretise
from hippozoo.memory import Memory
from hippozoo.zoo.volterra.kernels import default_length, sample_responses

__all__ = ["Identification", "identify", "leading_directions"]

# Kernel shapes that the memory cannot tell apart from others within rounding are no directions of their own.
_INDEPENDENT = 1e-12


@dataclass(frozen=True, eq=False)
class Identification:
    """What an input can say about the kernels of a memory.

    Excited directions alone do not make a kernel right; `held_out_error` says whether it is.
    """

    memory: Memory
    strength: Float[np.ndarray, " shapes"]  #: Output variance of each kernel shape of unit length, strongest first.
    #: The shapes as directions of state space: ``sample_responses(memory, length) @ columns`` are orthonormal.
    columns: Float[np.ndarray, "order shapes"]
    count: int  #: How many of them count as excited.
    #: Of each coefficient tensor (degree 1, 2, …), the part of its kernel's squared norm in excited directions.
    share: tuple[float | None, ...]
    tolerance: float  #: Strength, relative to the strongest, from which a shape counts as excited.
    held_out_error: float | None = None  #: Mean squared error on data not learnt from, in variances of their target.

    @property
    def impulses(self) -> Float[np.ndarray, " lags"]:
        """How much of an impulse at each lag the basis can hold: the part of its squared norm within all shapes."""
        return np.square(self.shapes()).sum(0)

    def shapes(self, length: int | None = None) -> Float[np.ndarray, "shapes lags"]:
        """The kernel shapes over the sample lags, strongest first."""
        return (sample_responses(self.memory, length) @ self.columns).T

    def identified(self, tensor: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        """The part of a coefficient tensor, of any degree, whose kernel lies in excited directions."""
        values = real_array("tensor", tensor)
        order = self.memory.system.order
        if values.ndim == 0 or set(values.shape) != {order}:
            raise ValueError(f"tensor has shape {values.shape}; pass one with order = {order} entries along each axis.")
        excited = self.columns[:, : self.count]
        projector = excited @ (excited.T @ _gram(self.memory))
        for _ in range(values.ndim):
            values = np.tensordot(values, projector, axes=([0], [1]))
        return values

    def report(self) -> str:
        """The same in sentences."""
        lines = [
            f"The input excites {self.count} of {len(self.strength)} kernel directions (strength above "
            f"{self.tolerance:g} of the strongest)."
        ]
        for degree, share in enumerate(self.share, start=1):
            if share is not None:
                lines.append(f"Of the kernel of degree {degree} as it was learnt, {100 * share:.2f} % lies in them.")
        if self.count < len(self.strength):
            lines.append("In the others the data say nothing: what stands there comes from the start and the ridge.")
        held = self.impulses
        lines.append(
            f"Of an impulse at one lag the basis holds {100 * held.mean():.0f} % on average, {100 * held[0]:.0f} % at "
            "lag 0: sharper kernels are smoothed."
        )
        if self.held_out_error is None:
            lines.append("Whether the kernels are right this does not say: pass held_out=(signal, target).")
        else:
            lines.append(f"On held-out data the error is {100 * self.held_out_error:.2g} % of the target's variance.")
        return "\n".join(lines)


def identify(
    memory: Memory, signal: Float[np.ndarray, " time"], tensors: Sequence[Any] = (), tolerance: float = 1e-4
) -> Identification:
    """Measure which kernel shapes of a memory the input excites, and how much of each kernel lies there.

    Parameters
    ----------
    memory, signal
        The memory whose states are read, and its input, (time,).
    tensors
        Coefficient tensors of degree 1, 2, …, as `VolterraModel.tensor` gives them.
    tolerance
        Strength, relative to the strongest, from which a shape counts as excited.

    Examples
    --------
    >>> from hippozoo.systems import LegS
    >>> found = identify(Memory(LegS(order=8, timescale=20.0)), np.sin(np.arange(2000) / 9))
    >>> found.count  # one sine has two directions: sine and cosine
    2
    """
    tolerance = positive_number("tolerance", tolerance)
    values = real_array("signal", signal)
    if values.ndim != 1 or not values.size:
        raise ValueError(f"signal has shape {values.shape}; pass one input, (time,).")
    # The first samples meet an empty memory, whose jump excites what the input itself never would.
    second_moment = _second_moment(memory, values, skip=min(2 * default_length(memory), len(values) // 2))
    # Directions of state space whose kernels are orthonormal over the lags, and among them those of the input.
    size, rows = linalg.eigh(_gram(memory))
    kept = size > _INDEPENDENT * size[-1]
    to_state = rows[:, kept] / np.sqrt(size[kept])
    strength, turned = linalg.eigh(to_state.T @ second_moment @ to_state)
    strength, columns = np.maximum(strength[::-1], 0.0), to_state @ turned[:, ::-1]
    excited = int((strength > tolerance * strength[0]).sum()) if strength[0] > 0 else 0
    found = Identification(memory, strength, columns, excited, (), tolerance)
    return replace(found, share=tuple(_share(found, tensor) for tensor in tensors))


def leading_directions(
    memory: Memory, signal: Float[np.ndarray, " time"] | Float[np.ndarray, "time channels"], count: int
) -> Float[np.ndarray, "features count"]:
    """The directions of state space along which this input moves the state most, scaled to unit variance.

    Pass `count` of them to ``VolterraModel(directions=…)``: a readout of a few directions has few coefficients, and
    learners converge fast where all directions vary alike. `signal` is a stretch of the input.

    Examples
    --------
    >>> from hippozoo.systems import LegT
    >>> memory = Memory(LegT(order=16, timescale=32.0))
    >>> signal = np.random.default_rng(0).normal(size=4000)
    >>> columns = leading_directions(memory, signal, count=3)
    >>> np.mean((memory.scan(signal) @ columns) ** 2, axis=0).round(6).tolist()
    [1.0, 1.0, 1.0]
    """
    values = real_array("signal", signal)
    if values.ndim not in (1, 2) or not values.size:
        raise ValueError(
            f"signal has shape {values.shape}; pass (time,) or (time, channels), with at least one sample."
        )
    second_moment = _second_moment(memory, values)
    count = whole_number("count", count)
    if count > len(second_moment):
        raise ValueError(f"count={count}: the state has {len(second_moment)} directions; pass at most as many.")
    strength, columns = linalg.eigh(second_moment)
    strength, columns = strength[::-1][:count], columns[:, ::-1][:, :count]
    if not strength[-1] > 1e-14 * strength[0]:
        excited = int((strength > 1e-14 * strength[0]).sum())
        raise ValueError(
            f"count={count}: this signal moves the state in {excited} directions only; pass at most those."
        )
    return columns / np.sqrt(strength)


def _second_moment(memory: Memory, values: np.ndarray, skip: int = 0, block: int = 8192) -> np.ndarray:
    """Mean of state state' over the signal after the first samples, channels side by side."""
    state = memory.initial_state(values.shape[1] if values.ndim == 2 else None)
    total = np.zeros((state.size, state.size))
    for begin in range(0, len(values), block):
        states = memory.scan(values[begin : begin + block], state)
        flat = states.reshape(len(states), -1)[max(0, skip - begin) :]
        total += flat.T @ flat
        state = states[-1]
    return total / (len(values) - skip)


def _gram(memory: Memory) -> np.ndarray:
    """Inner products of the coefficients' kernels over all sample lags: Σ_j k_j k_j'."""
    A_d, b_d = discretise(memory.system, memory.dt, memory.method)
    total, power = np.outer(b_d, b_d), A_d
    # Twice as many lags in each turn, until nothing is left to add.
    while np.linalg.norm(power) > 1e-20:
        total, power = total + power @ total @ power.T, power @ power
    return (total + total.T) / 2


def _share(found: Identification, tensor: np.ndarray) -> float | None:
    gram = _gram(found.memory)

    def squared_norm(values: np.ndarray) -> float:
        turned = values
        for _ in range(values.ndim):
            turned = np.tensordot(turned, gram, axes=([0], [0]))
        return float((values * turned).sum())

    whole = squared_norm(np.asarray(tensor, float))
    return squared_norm(found.identified(tensor)) / whole if whole > 0 else None
