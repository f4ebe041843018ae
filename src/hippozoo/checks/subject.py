"""How the checks talk to a member: torch layers, layers of NumPy arrays, and the pure memories, all alike."""

from __future__ import annotations

import contextlib
import copy
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from hippozoo._internal.arguments import shorten, whole_number
from hippozoo._internal.nests import leaves
from hippozoo.checkpoint.modules import is_module
from hippozoo.checkpoint.tensors import is_tensor, loaded_torch
from hippozoo.checks.compare import dtype_name
from hippozoo.checks.under_test import UnderTest

__all__ = ["Trial"]


@dataclass(frozen=True)
class Trial:
    """What the checks feed a member with: random normal numbers, or what ``inputs(rng, batch, n_steps)`` returns.

    Examples
    --------
    >>> Trial(channels=3, n_steps=200).batch
    3
    """

    channels: int | None = None  #: Of the input; by default what the member says in its attribute ``channels``, else 2.
    batch: int = 3  #: Sequences side by side, at least 2.
    n_steps: int = 40  #: Length of a sequence, at least 4; where a member works in blocks, take more than one block.
    tolerance: float | None = None  #: Relative to the largest value; by default what rounding explains.
    seed: int = 0
    #: Returns an array (batch, n_steps, channels), or whatever the member takes with batch and time first.
    inputs: Callable[[np.random.Generator, int, int], Any] | None = None

    def __post_init__(self) -> None:
        if self.channels is not None:
            whole_number("channels", self.channels)
        whole_number("batch", self.batch, minimum=2, why="with one sequence nothing could mix")
        whole_number("n_steps", self.n_steps, minimum=4, why="shorter sequences have no past and future")
        if self.tolerance is not None and not self.tolerance >= 0:
            raise ValueError(f"tolerance={self.tolerance}; pass a relative difference >= 0, or None.")


Call = Callable[[], Any]
_BAD_STEPS = (0.0, -1.0, np.nan)


class Outcome(NamedTuple):
    """What a call gives."""

    output: Any
    state: Any


class Subject(UnderTest, ABC):
    """A member under test, in one form: inputs (batch, time, channels), states with the batch first."""

    takes_dt: bool = False
    takes_lengths: bool = False

    def __init__(self, member: Any, trial: Trial) -> None:
        super().__init__(member, trial.tolerance)
        self.trial = trial
        self.rng = np.random.default_rng(trial.seed)
        self.channels = trial.channels or getattr(member, "channels", None) or 2

    @abstractmethod
    def initial_state(self, batch: int) -> Any:
        """The state before any sample."""

    @abstractmethod
    def run(self, x: Any, state: Any = None, dt: Any = None, lengths: Any = None) -> Outcome:
        """All outputs, and the state after the last sample."""

    @abstractmethod
    def step(self, x: Any, state: Any, dt: Any = None) -> Outcome:
        """One output, and the next state."""

    @abstractmethod
    def convert(self, x: np.ndarray) -> Any:
        """Numbers as this member takes them."""

    @abstractmethod
    def bad_calls(self, x: Any, state: Any) -> dict[str, Call]:
        """Calls that must be refused, by what is wrong with them."""

    def compare(self, found: Outcome, expected: Outcome, promise: str, circumstances: str) -> None:
        """Refuse an outcome that differs by more than rounding."""
        for name, ours, theirs in zip(Outcome._fields, found, expected, strict=True):
            self.compare_nests(ours, theirs, name, promise, circumstances)

    def inputs(self) -> Any:
        """Random input, the next in a seeded series."""
        batch, n_steps = self.trial.batch, self.trial.n_steps
        if self.trial.inputs is not None:
            return self.trial.inputs(self.rng, batch, n_steps)
        return self.convert(self.rng.normal(size=(batch, n_steps, self.channels)))

    def steps(self) -> list[Any]:
        """The time steps to try: the member's own, and, where it takes them, one for each sample."""
        if not self.takes_dt:
            return [None]
        own = getattr(self.member, "dt", 1.0)
        return [None, self.convert(own * np.exp(self.rng.normal(size=self.trial.n_steps)))]


class LayerSubject(Subject):
    """A member with ``y, state = member(x, state=…)``, of tensors or of arrays."""

    member: Any

    def __init__(self, member: Any, trial: Trial) -> None:
        super().__init__(member, trial)
        parameters: list[Any] = []
        if is_module(member):
            member.eval()  # what is promised is promised without dropout
            parameters += member.parameters()
        self._call: Any = member if callable(member) else member.forward
        accepted = inspect.signature(getattr(member, "forward", self._call)).parameters
        named = "dt" in accepted and "dt" in inspect.signature(self.member.step).parameters
        self.takes_dt = named and getattr(member, "knows_time", True)  # our baselines name it, and some refuse it
        self.takes_lengths = "lengths" in accepted
        floats = [leaf for _, leaf in leaves(self.initial_state(1)) if dtype_name(leaf).startswith(("float", "bfloat"))]
        tensors = [*filter(is_tensor, floats), *parameters]
        self._like = (tensors or floats or [np.zeros(1)])[0]

    def initial_state(self, batch: int) -> Any:
        needs_channels = "channels" in inspect.signature(self.member.initial_state).parameters
        return self.member.initial_state(batch, **({"channels": self.channels} if needs_channels else {}))

    def run(self, x: Any, state: Any = None, dt: Any = None, lengths: Any = None) -> Outcome:
        options = {"state": state, "dt": dt, "lengths": lengths}
        with _without_gradients():
            return Outcome(*self._call(x, **{name: value for name, value in options.items() if value is not None}))

    def demand_channels(self) -> None:
        """Say so where a member does not tell its channels and takes another number than the one that is guessed."""
        known = self.trial.channels or self.trial.inputs or getattr(self.member, "channels", None)
        if known or self._takes(self.channels):
            return
        taken = next((count for count in (3, 4, 5, 6, 8, 10, 16, 32, 64, 1) if self._takes(count)), None)
        if taken is not None:  # else it is broken, and the checks will tell how
            raise ValueError(
                f"{self.name} has no attribute .channels, so {self.channels} were tried, and it takes {taken}; "
                f"set member.channels = {taken}, or pass channels={taken}."
            )

    def _takes(self, channels: int) -> bool:
        try:
            self.run(self.convert(np.random.default_rng(0).normal(size=(2, 4, channels))))
        except Exception:
            return False
        return True

    def step(self, x: Any, state: Any, dt: Any = None) -> Outcome:
        with _without_gradients():
            return Outcome(*self.member.step(x, state, **({} if dt is None else {"dt": dt})))

    def convert(self, x: np.ndarray) -> Any:
        if is_tensor(self._like):
            dtype = self._like.dtype if np.asarray(x).dtype.kind == "f" else None
            return loaded_torch().as_tensor(x, dtype=dtype, device=self._like.device)
        return np.asarray(x, self._like.dtype) if np.asarray(x).dtype.kind == "f" else np.asarray(x)

    def bad_calls(self, x: Any, state: Any) -> dict[str, Call]:
        other = self.initial_state(len(x) + 1)
        calls: dict[str, Call] = {
            "an input without its batch axis": lambda: self.run(x[0], state),
            "an input without its time axis": lambda: self.run(x[:, 0], state),
            "an input of no samples": lambda: self.run(x[:, :0], state),
            "a text as input": lambda: self.run("x", state),
            "a state for another number of sequences": lambda: self.run(x, other),
            "a step without its batch axis": lambda: self.step(x[0, 0], state),
            "a step with a state for another number of sequences": lambda: self.step(x[:, 0], other),
        }
        if self.trial.inputs is None:
            for value in (np.nan, np.inf):
                spoilt = _with(x, (-1, -1, -1), value)
                calls[f"an input with {value}"] = lambda spoilt=spoilt: self.run(spoilt, state)
                calls[f"a step with {value}"] = lambda spoilt=spoilt: self.step(spoilt[:, -1], state)
            wide = self.convert(np.ones((len(x), x.shape[1], self.channels + 1)))
            calls["an input of too many channels"] = lambda: self.run(wide, state)
            calls["a step of too many channels"] = lambda: self.step(wide[:, 0], state)
            calls["complex numbers"] = lambda: self.run(x * 1j, state)
        if self.takes_dt:
            for dt in _BAD_STEPS:
                calls[f"dt={dt}"] = lambda dt=dt: self.run(x, state, dt)
                calls[f"a step of dt={dt}"] = lambda dt=dt: self.step(x[:, 0], state, dt)
        if self.takes_lengths:
            for wrong in (-1, x.shape[1] + 1):
                lengths = self.convert(np.full(len(x), wrong))
                calls[f"lengths of {wrong}"] = lambda n=lengths: self.run(x, state, None, n)
        return calls


class MemorySubject(Subject):
    """A pure memory (``scan``, ``final``, ``step``): its independent channels play the part of the batch."""

    takes_dt = True

    def __init__(self, member: Any, trial: Trial) -> None:
        super().__init__(member, trial)
        self.channels = 1

    def initial_state(self, batch: int) -> Any:
        return self.member.initial_state(batch)

    def run(self, x: Any, state: Any = None, dt: Any = None, lengths: Any = None) -> Outcome:
        signal = x[..., 0].T
        options = {} if dt is None else {"dt": dt}
        # Two computations of one thing: the checks compare them with each other.
        states, after = (mode(signal, state, **options) for mode in (self.member.scan, self.member.final))
        return Outcome(self._output(states, (len(signal), len(x)), swap=True), after)

    def step(self, x: Any, state: Any, dt: Any = None) -> Outcome:
        after = self.member.step(state, x[:, 0], **({} if dt is None else {"dt": float(dt)}))
        return Outcome(self._output(after, (len(x),)), after)

    def _output(self, states: Any, axes: tuple[int, ...], *, swap: bool = False) -> Any:
        """States as an output, batch first: a clock that all channels share is written out for each of them."""

        def filled(leaf: Any) -> np.ndarray:
            array = np.asarray(leaf)
            if array.ndim < len(axes):
                array = np.broadcast_to(array[..., None], axes)
            return array.swapaxes(0, 1) if swap else array

        return {place: filled(leaf) for place, leaf in leaves(states)}

    def convert(self, x: np.ndarray) -> Any:
        return np.asarray(x, getattr(self.member, "dtype", None)) if x.dtype.kind == "f" else x

    def bad_calls(self, x: Any, state: Any) -> dict[str, Call]:
        memory, signal = self.member, x[..., 0].T
        other = memory.initial_state(len(x) + 1)
        calls: dict[str, Call] = {"a step of other channels": lambda: memory.step(state, np.ones(len(x) + 1))}
        for name in ("scan", "final"):
            mode = getattr(memory, name)
            signals = {"three axes": x, "no samples": signal[:0], "a text": "x", "complex numbers": signal * 1j}
            signals |= {str(value): _with(signal, (-1, -1), value) for value in (np.nan, np.inf)}
            for what, bad in signals.items():
                calls[f"{name} of {what}"] = lambda mode=mode, bad=bad: mode(bad, state)
            calls[f"{name} with a state of other channels"] = lambda mode=mode: mode(signal, other)
            for dt in _BAD_STEPS:
                calls[f"{name} with dt={dt}"] = lambda mode=mode, dt=dt: mode(signal, state, dt=dt)
        for value in (np.nan, np.inf, "x", 1j):
            calls[f"a step with {value}"] = lambda value=value: memory.step(state, np.full(len(x), value))
        for dt in _BAD_STEPS:
            calls[f"a step of dt={dt}"] = lambda dt=dt: memory.step(state, signal[0], dt=dt)
        return calls


def is_factory(member: Any) -> bool:
    """Tell what makes members from members; refuse what is neither."""
    if not isinstance(member, type) and hasattr(member, "step") and hasattr(member, "initial_state"):
        return False
    if not callable(member):
        raise TypeError(
            f"{shorten(member)} has no step and initial_state; pass a member, or a function that makes one."
        )
    return True


def subject_of(member: Any, trial: Trial | None) -> Subject:
    """The member, or what the factory makes, ready for the checks; a member itself is left alone: a copy is used."""
    trial = trial or Trial()
    member = member() if is_factory(member) else copied(member)
    if hasattr(member, "forward") or callable(member):
        return LayerSubject(member, trial)
    if hasattr(member, "scan") and hasattr(member, "final"):
        return MemorySubject(member, trial)
    raise TypeError(
        f"{shorten(member)} is no member: it needs step, initial_state and a call (or forward), or, as a memory, "
        "scan and final."
    )


def copied(member: Any) -> Any:
    """A copy of the member; what cannot be copied stands for itself."""
    try:
        return copy.deepcopy(member)
    except Exception:
        return member


def _with(x: Any, place: tuple[int, ...], value: float) -> Any:
    """A copy of the numbers, one of them replaced."""
    spoilt = x.clone() if is_tensor(x) else np.array(x)
    spoilt[place] = value
    return spoilt


def _without_gradients() -> Any:
    torch = loaded_torch()
    return torch.no_grad() if torch is not None else contextlib.nullcontext()
