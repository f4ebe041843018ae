"""A very long stream through every streaming form: memory stays flat, and the error does not grow.

The signal is drawn piece by piece from its own number, so that any stretch can be drawn again. A memory forgets: its
state after a hundred million samples is that of the last few windows, by the plain loop in float64 from an empty
state. Statistics add up: those of a forecaster are compared with sums that were kept exactly.
"""

from __future__ import annotations

import math
import resource
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from hippozoo.discretise import zero_order_hold
from hippozoo.memory import GrowingMemory, Memory, MemoryLayer, Stream
from hippozoo.systems import LegT
from hippozoo.zoo.forecasting import Forecaster
from hippozoo.zoo.multiscale import MultiscaleLayer, MultiscaleMemory
from hippozoo.zoo.volterra import NLMS, SGD, Learner, PolynomialReadout, RidgeRLS
from oracles import roll

PIECE = 100_000
SYSTEM = LegT(64, 200.0)
# After so many windows nothing of what was before is left of a Leg-T, whose eigenvalues have real parts near -N / 2.
WINDOWS = 20


def piece(number: int, size: int = PIECE) -> np.ndarray:
    """One stretch of the signal: a wave, a slow drift that returns, and noise, around a level of 3."""
    rng = np.random.Generator(np.random.Philox(key=number))
    at = number * PIECE + np.arange(size)
    return 3.0 + np.sin(at / 7.0) + 0.5 * np.sin(at / 5e4) + 0.3 * rng.normal(size=size)


def pieces(samples: int) -> Iterator[np.ndarray]:
    for number in range(samples // PIECE):
        yield piece(number)


def recent(samples: int, count: int) -> np.ndarray:
    """The last samples of the stream."""
    last = samples // PIECE
    first = max(0, last - math.ceil(count / PIECE))
    return np.concatenate([piece(number) for number in range(first, last)])[-count:]


def expected_state(system: Any, samples: int) -> np.ndarray:
    """By the loop that people write, from an empty state some windows ago."""
    A_d, b_d = zero_order_hold(system, 1.0)
    return roll(A_d, b_d, recent(samples, WINDOWS * int(system.timescale)))[-1]


def distance(found: np.ndarray, expected: np.ndarray) -> float:
    """Largest difference, over the largest number."""
    return float(np.abs(np.asarray(found, float) - expected).max() / np.abs(expected).max())


class Soak:
    """One form in motion: `feed` takes a piece, `error` looks at what has come of it."""

    def __init__(self, feed: Callable[[np.ndarray], None], error: Callable[[int], float]) -> None:
        self.feed, self.error = feed, error


def step() -> Soak:
    memory = Memory(SYSTEM)
    state = [memory.initial_state()]

    def feed(signal: np.ndarray) -> None:
        now = state[0]
        for sample in signal.tolist():
            now = memory.step(now, sample)
        state[0] = now

    return Soak(feed, lambda samples: distance(state[0], expected_state(SYSTEM, samples)))


def stream() -> Soak:
    pushed = Stream(Memory(SYSTEM))

    def feed(signal: np.ndarray) -> None:
        for sample in signal.tolist():
            pushed.push(sample)

    return Soak(feed, lambda samples: distance(pushed.state, expected_state(SYSTEM, samples)))


def final(dtype: str = "float64") -> Soak:
    memory = Memory(SYSTEM, dtype=dtype)
    state = [memory.initial_state()]

    def feed(signal: np.ndarray) -> None:
        state[0] = memory.final(signal, state[0])

    return Soak(feed, lambda samples: distance(state[0], expected_state(SYSTEM, samples)))


def layer(dtype: torch.dtype) -> Soak:
    module = MemoryLayer(SYSTEM, dtype=dtype)
    state: list[Any] = [None]

    @torch.no_grad()
    def feed(signal: np.ndarray) -> None:
        for part in np.split(signal, 20):
            _, state[0] = module(torch.from_numpy(part).to(dtype)[None, :, None], state[0])

    return Soak(feed, lambda samples: distance(state[0][0, 0].numpy(), expected_state(SYSTEM, samples)))


def growing() -> Soak:
    memory = GrowingMemory(8)
    state: list[Any] = [memory.initial_state()]
    total, count = [0.0], [0]

    def feed(signal: np.ndarray) -> None:
        state[0] = memory.final(signal, state[0])
        total[0] = math.fsum([total[0], *signal.tolist()])
        count[0] += len(signal)

    # The first coefficient is the mean of all that there was.
    return Soak(feed, lambda _: abs(float(state[0].coefficients[0]) * count[0] / total[0] - 1))


def multiscale() -> Soak:
    memory = MultiscaleMemory(LegT(16, 10.0), longest=1000.0, scales=6, construction="bank")
    state = [memory.initial_state()]

    def feed(signal: np.ndarray) -> None:
        state[0] = memory.final(signal, state[0])

    def error(samples: int) -> float:
        systems = [LegT(16, float(window)) for window in memory.windows]
        expected = np.stack([expected_state(system, samples) for system in systems], axis=-1)
        return distance(state[0], expected)

    return Soak(feed, error)


def multiscale_layer() -> Soak:
    exact = MultiscaleMemory(LegT(16, 10.0), longest=1000.0, scales=6, construction="bank")
    module = MultiscaleLayer(exact)
    state: list[Any] = [None]

    @torch.no_grad()
    def feed(signal: np.ndarray) -> None:
        for part in np.split(signal, 20):
            _, state[0] = module(torch.from_numpy(part).float()[None, :, None], state[0])

    def error(samples: int) -> float:
        expected = exact.final(recent(samples, WINDOWS * 1000))
        return distance(np.asarray(state[0])[0, 0].reshape(expected.shape), expected)

    return Soak(feed, error)


def volterra(learner: Learner) -> Soak:
    """A learner that never stops: the error of its last thousand samples, over the variance of the target."""
    memory, readout = Memory(LegT(8, 16.0)), PolynomialReadout(8, 2)
    state, learnt, last = [memory.initial_state()], [learner.initial_state(readout)], [0.0]

    def feed(signal: np.ndarray) -> None:
        states = memory.scan(signal, state[0])
        state[0] = states[-1]
        target = states[:, 1] * states[:, 2] + states[:, 0]
        predictions, learnt[0] = learner.learn(readout, states, target, learnt[0])
        last[0] = float(np.mean((predictions - target)[-1000:] ** 2) / target.var())

    return Soak(feed, lambda _: last[0])


def forecaster() -> Soak:
    """The mean of the futures that it keeps, against one that was summed exactly."""
    model = Forecaster(LegT(8, 32.0), horizon=4.0, future_order=2, warmup=32.0)
    state = [model.initial_state()]
    total, count = [0.0], [0]

    def feed(signal: np.ndarray) -> None:
        state[0] = model.learn(state[0], signal)
        total[0] = math.fsum([total[0], *signal.tolist()])
        count[0] += len(signal)

    def error(_: int) -> float:
        moments = model.moments(state[0], model.candidates[0])[0]
        # The first coefficient of the future is its mean; the first few samples have no future that was kept.
        return abs(float(moments.mean_y[0]) * count[0] / total[0] - 1)

    return Soak(feed, error)


FORMS: dict[str, Callable[[], Soak]] = {
    "Memory.step": step,
    "Stream.push": stream,
    "Memory.final in pieces": final,
    "Memory.final in pieces, float32": lambda: final("float32"),
    "MemoryLayer in pieces, float64": lambda: layer(torch.float64),
    "MemoryLayer in pieces, float32": lambda: layer(torch.float32),
    "GrowingMemory.final in pieces": growing,
    "MultiscaleMemory.final in pieces": multiscale,
    "MultiscaleLayer in pieces, float32": multiscale_layer,
    "Volterra learner (NLMS) in pieces": lambda: volterra(NLMS()),
    "Volterra learner (SGD) in pieces": lambda: volterra(SGD(0.001)),
    "Volterra learner (RidgeRLS) in pieces": lambda: volterra(RidgeRLS(1e-3)),
    "Forecaster.learn in pieces": forecaster,
}


def soak(name: str, samples: int, seconds: float = math.inf) -> dict[str, Any]:
    """Feed one form, for at most so long; how its error and this process's memory went.

    The peak of the memory never falls, so growth after the first tenth is growth.
    """
    form, began = FORMS[name](), time.monotonic()
    fed, errors, peaks = 0, {}, {}
    looks = {round(samples * share / PIECE) * PIECE for share in (0.01, 0.1, 0.5, 1.0)} | {PIECE}
    for signal in pieces(samples):
        form.feed(signal)
        fed += len(signal)
        late = time.monotonic() - began > seconds
        if fed in looks or late:
            errors[str(fed)] = form.error(fed)
            peaks[str(fed)] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)
        if late:
            break
    return {
        "samples": fed,
        "error": errors,
        "peak_megabytes": peaks,
        "minutes": round((time.monotonic() - began) / 60, 1),
    }
