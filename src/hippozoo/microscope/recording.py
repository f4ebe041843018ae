"""States of any model, recorded: which kinds of model are known, and how each is run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from hippozoo._internal.arguments import shorten
from hippozoo._internal.nests import leaves
from hippozoo.memory import Memory
from hippozoo.memory.base import PureMemory
from hippozoo.systems import HippoSystem

__all__ = ["subject_for"]

# The largest array of states that is recorded. What a look needs in all is measured in benchmarks/bench_microscope.py.
MOST_BYTES = 1 << 29

KINDS = (
    "pass a layer, member, stack or baseline of hippozoo, a Memory, nn.LSTM, nn.GRU or nn.RNN, a module with one of "
    "these inside, a pair (step, initial_state), a function of sequences that returns their states, or an array of "
    "recorded states (batch, time, size)"
)


class Recording(NamedTuple):
    """Everything carried at the moments that were asked for, flattened, and the columns of each layer by its name."""

    states: Float[np.ndarray, "batch moments size"]
    layers: dict[str, Int[np.ndarray, " columns"]] = {}  # noqa: RUF012 - never written to


class Subject:
    """A model that can be looked at. Kinds of model differ in how they are run; this one is a recorded array."""

    #: Numbers in a sample, where the model says so.
    channels: int | None = None
    #: Size of the alphabet of a model of tokens.
    tokens: int | None = None
    #: What the model is called in tables.
    name: str = "recorded states"
    #: Why there is no `sensitivity`; empty where there is one.
    no_sensitivity = "recorded states cannot be run again with other inputs; pass the model itself."

    def __init__(self, states: Any) -> None:
        self.states = as_array(states)
        if self.states.ndim < 3:
            raise ValueError(
                f"states have shape {self.states.shape}, expected (batch, time, size); pass states[None] for one "
                "sequence, states[..., None] for a state of one number."
            )

    def refuse_shape(self, x: np.ndarray) -> None:
        """An error where the model takes other samples than these."""
        if self.tokens and (x.ndim == 3 or x.max() >= self.tokens):
            given = f"x has shape {x.shape}" if x.ndim == 3 else f"x holds the token {x.max()}"
            raise ValueError(f"{given}, but the model reads tokens from 0 to {self.tokens - 1}, (batch, time).")
        if self.channels and (x.ndim == 2 or x.shape[2] != self.channels):
            given = "holds tokens" if x.ndim == 2 else f"has {x.shape[2]} channels"
            raise ValueError(f"x {given}, but the model takes {self.channels} numbers a sample; see x[0, 0].")

    def record(self, x: np.ndarray, moments: Int[np.ndarray, " moments"]) -> Recording:
        """The states after the samples at `moments`."""
        if self.states.shape[:2] != x.shape[:2]:
            raise ValueError(
                f"states have shape {self.states.shape}, but x has shape {x.shape}; there must be one state after "
                "every sample, (batch, time, size), and recorded states need the inputs that they were recorded from."
            )
        refuse_large(len(x), len(moments), int(np.prod(self.states.shape[2:])))
        chosen = real_parts(self.states[:, moments])
        if chosen.dtype.kind not in "iufb":
            raise TypeError(f"states have dtype {chosen.dtype}; pass numbers.")
        return Recording(chosen.reshape(len(x), len(moments), -1).astype(float))

    def respond(self, x: np.ndarray) -> Float[np.ndarray, "batch size"]:
        """The state after the last sample."""
        return self.record(x, np.array([x.shape[1] - 1])).states[:, 0]

    def impulse(self, n_steps: int) -> Float[np.ndarray, "time size"] | None:
        """The answer of a linear memory to one unit sample in its first channel; None for other models."""
        return None


class StepSubject(Subject):
    """A pair of functions: ``state = step(state, sample)``, and the state before any sample.

    With a callable ``initial_state(batch)``, `step` takes a batch of samples and a state with the batch first.
    """

    no_sensitivity = ""

    def __init__(self, step: Callable[..., Any], initial_state: Any) -> None:
        self.step, self.initial_state = step, initial_state
        self.name = getattr(step, "__qualname__", type(step).__name__)

    def start(self, batch: int) -> Any:
        """The state before any sample; of a step of one sequence, a list of them."""
        if callable(self.initial_state):
            return self.initial_state(batch)
        # A step that writes into its state must not change what the next sequence begins with.
        return [deepcopy(self.initial_state) for _ in range(batch)]

    def advance(self, state: Any, samples: np.ndarray) -> Any:
        """The state after one more sample of every sequence."""
        if callable(self.initial_state):
            return self.step(state, samples)
        return [self.step(one, sample) for one, sample in zip(state, samples, strict=True)]

    def flat(self, state: Any, batch: int) -> np.ndarray:
        """The numbers of a state, (batch, size), copied."""
        if not callable(self.initial_state):
            return np.stack([np.concatenate([part.ravel() for part in numbers(one)], dtype=float) for one in state])
        for array in numbers(state):
            if array.ndim == 0 or len(array) != batch:
                raise ValueError(
                    f"step gave a state of shape {array.shape} for {batch} sequences; with initial_state(batch) the "
                    "batch comes first. Pass the state itself in place of the function for a step of one sequence."
                )
        return np.concatenate([array.reshape(batch, -1) for array in numbers(state)], 1, dtype=float)

    def record(self, x: np.ndarray, moments: np.ndarray) -> Recording:
        self.refuse_memoryless(x)

        def states() -> Iterator[Any]:
            state = self.start(len(x))
            for t in range(x.shape[1]):
                state = self.advance(state, x[:, t])
                yield state

        return Recording(at_moments(states(), moments, lambda state: self.flat(state, len(x))))

    def refuse_memoryless(self, x: np.ndarray) -> None:
        """An error where the next state is the same whatever the present one is."""
        befores, afters = [], []
        for history in (0, min(2, x.shape[1] - 1)):  # the same sample alone, and after others
            state = self.start(len(x))
            for t in range(history):
                state = self.advance(state, x[:, t])
            befores.append(self.flat(state, len(x)))
            afters.append(self.flat(self.advance(state, x[:, -1]), len(x)))
        if np.array_equal(*afters) and not np.array_equal(*befores):
            raise ValueError(
                "step gives the same state whatever state it is given, so nothing is carried from sample to sample; "
                "pass a step(state, sample) that uses its first argument, and note the order of the two."
            )


class FunctionSubject(Subject):
    """A function of sequences that returns the state after every sample, (batch, time, ...)."""

    no_sensitivity = ""

    def __init__(self, function: Callable[[np.ndarray], Any]) -> None:
        self.function = function
        self.name = getattr(function, "__qualname__", type(function).__name__)

    def record(self, x: np.ndarray, moments: np.ndarray) -> Recording:
        return Subject(self.function(x.copy())).record(x, moments)


class MemorySubject(FunctionSubject):
    """A NumPy memory; sequences are run side by side as its channels."""

    def __init__(self, memory: PureMemory) -> None:
        super().__init__(self.scan)
        self.memory, self.name = memory, repr(getattr(memory, "system", memory))

    def refuse_shape(self, x: np.ndarray) -> None:
        if x.ndim == 2:
            raise ValueError("x holds tokens, but a memory takes numbers; pass np.eye(size of the alphabet)[x].")

    def scan(self, x: np.ndarray) -> np.ndarray:
        """States after every sample."""
        states = self.memory.scan(np.moveaxis(x, 1, 0).reshape(x.shape[1], -1))
        return np.moveaxis(np.asarray(states, float).reshape(x.shape[1], x.shape[0], -1), 0, 1)

    def impulse(self, n_steps: int) -> np.ndarray:
        return self.memory.scan(np.eye(n_steps)[0]).reshape(n_steps, -1)


class ReservoirSubject(FunctionSubject):
    """A reservoirpy node: run sequence by sequence, from its initial state."""

    def __init__(self, node: Any) -> None:
        super().__init__(self._run)
        self.node, self.name = node, type(node).__name__

    def _run(self, x: np.ndarray) -> np.ndarray:
        states, node = [], deepcopy(self.node)  # a run initialises a node, and leaves its last state in it
        for sequence in x:
            if hasattr(node, "state"):
                node.reset()
            states.append(np.asarray(node.run(sequence)))
        return np.stack(states)


def subject_for(model: Any) -> Subject:
    """How a model is run, by what it is; an error that lists the kinds where it is none of them."""
    torch = sys.modules.get("torch")  # a torch model cannot exist before torch is loaded
    if torch is not None and isinstance(model, torch.nn.Module):
        from hippozoo.microscope.torch_models import torch_subject

        return torch_subject(model)
    if isinstance(model, HippoSystem):
        return MemorySubject(Memory(model))
    if isinstance(model, PureMemory):
        return MemorySubject(model)
    if type(model).__module__.startswith("reservoirpy") and hasattr(model, "run"):
        if hasattr(model, "nodes"):
            raise TypeError(f"model={shorten(model)} is a chain of nodes; pass the reservoir in it, model.nodes[0].")
        return ReservoirSubject(model)
    if isinstance(model, np.ndarray) or (torch is not None and isinstance(model, torch.Tensor)):
        return Subject(model)
    if isinstance(model, (tuple, list)) and len(model) == 2 and callable(model[0]):
        return StepSubject(*model)
    if callable(model) and not isinstance(model, type):
        return FunctionSubject(model)
    raise TypeError(f"model={shorten(model)} is a {type(model).__name__}; {KINDS}.")


def as_array(value: Any) -> np.ndarray:
    """A tensor or array as an array; nothing is copied where that can be avoided."""
    if hasattr(value, "detach"):
        value = value.detach().cpu().numpy()
    return np.asarray(value)


def real_parts(array: np.ndarray) -> np.ndarray:
    """Complex numbers as pairs of real ones, on an axis behind the others."""
    return np.stack([np.real(array), np.imag(array)], -1) if np.iscomplexobj(array) else array


def numbers(state: Any) -> list[np.ndarray]:
    """The arrays in a nest, all of them real."""
    return [real_parts(as_array(leaf)) for _, leaf in leaves(state)]


def at_moments(states: Iterator[Any], moments: np.ndarray, flat: Callable[[Any], np.ndarray]) -> np.ndarray:
    """States after every sample, as numbers, at some moments; those that are too large are refused at once."""
    wanted, found = {int(moment): place for place, moment in enumerate(moments)}, np.empty(0)
    for t, state in zip(range(int(moments.max()) + 1), states, strict=False):
        if t in wanted or not t:
            row = flat(state)
            if not t:
                refuse_large(len(row), len(moments), row.shape[1])
                found = np.empty((len(row), len(moments), row.shape[1]))
            if t in wanted:
                found[:, wanted[t]] = row
    return found


def refuse_large(batch: int, moments: int, size: int) -> None:
    """An error where states would take more memory than a look may."""
    needed = 8 * batch * moments * size
    if needed > MOST_BYTES:
        raise ValueError(
            f"{batch} sequences x {moments} moments x {size} numbers take {needed / 2**30:.1f} GB, and a look records "
            f"at most {MOST_BYTES / 2**30:g} GB; pass fewer sequences or every tenth moment, "
            f"at=range(lags, time, 10)."
        )


def columns_of(sizes: Sequence[tuple[str, int]]) -> dict[str, Int[np.ndarray, " columns"]]:
    """Columns by layer from the sizes of parts that stand side by side; parts of one name belong together."""
    found: dict[str, list[int]] = {}
    start = 0
    for name, size in sizes:
        found.setdefault(name, []).extend(range(start, start + size))
        start += size
    return {name: np.array(columns) for name, columns in found.items()}
