"""Calls with numbers of every size: the right answer against the plain definition or a clear error, no silent NaN.

A case is drawn from a seed alone, so that one that went wrong can be drawn again: ``case(number)``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from hippozoo.discretise import zero_order_hold
from hippozoo.memory import GrowingMemory, Memory, MemoryLayer, Stream
from hippozoo.polynomials import Legendre
from hippozoo.systems import FouT, HippoSystem, LagT, LegS, LegT
from hippozoo.zoo.associative import PolynomialBank, recall_matrix
from hippozoo.zoo.forecasting import forecaster_for
from hippozoo.zoo.multiscale import MultiscaleMemory
from hippozoo.zoo.volterra import LowRankReadout, PolynomialReadout
from oracles import roll, scaled_projection

SYSTEMS = (LegT, LegS, LagT, FouT)
# High orders are rarer: a case of order 512 takes as long as thousands of order 8.
ORDERS = (1, 2, 3, 5, 8, 13, 21, 34, 55)
HIGH_ORDERS = (144, 256, 512)
SPOILT = (np.nan, np.inf, -np.inf)


@dataclass(frozen=True)
class Case:
    """One call: what is called, with what, and what should come of it."""

    number: int
    entry: str
    system: HippoSystem
    dt: float
    signal: Any
    spoilt: bool


def draw(number: int, high: bool = False) -> Case:
    """The case of this number."""
    rng = np.random.default_rng(number)
    order = int(rng.choice(HIGH_ORDERS if high else ORDERS))
    System = SYSTEMS[rng.integers(len(SYSTEMS))]
    if System is FouT:
        order |= 1
    timescale = 10.0 ** rng.uniform(-100, 100)
    system = System(order, timescale)
    dt = timescale * 10.0 ** rng.uniform(-12, 12)
    scale = 10.0 ** rng.uniform(-300, 300)
    shape = (int(rng.integers(1, 7)),) + ((int(rng.integers(1, 4)),) if rng.random() < 0.3 else ())
    signal: Any = scale * rng.normal(size=shape)
    if rng.random() < 0.1:
        signal = np.where(rng.random(shape) < 0.5, 5e-324, signal)  # the smallest number there is
    kind = rng.integers(8)
    if kind == 0:
        signal = signal.astype(np.float32) if scale < 1e30 else signal
    elif kind == 1:
        signal = rng.integers(-100, 100, size=shape)
    spoilt = bool(rng.random() < 0.1)
    if spoilt:
        signal = np.array(signal, float)
        signal.flat[rng.integers(signal.size)] = SPOILT[rng.integers(3)]
    return Case(number, str(rng.choice(list(ENTRIES))), system, dt, signal, spoilt)


def oracle(case: Case) -> np.ndarray:
    """The states by the loop that people write."""
    A_d, b_d = zero_order_hold(case.system, case.dt)
    rows = np.asarray(case.signal, float).reshape(len(case.signal), -1)
    with np.errstate(all="ignore"):
        return np.stack([roll(A_d, b_d, column) for column in rows.T], axis=1)


def _memory(case: Case) -> tuple[Memory, np.ndarray]:
    return Memory(case.system, dt=case.dt), oracle(case)


def _same_form(found: Any, states: np.ndarray, case: Case) -> tuple[np.ndarray, np.ndarray]:
    return np.asarray(found).reshape(states.shape), states


def scan(case: Case) -> tuple[np.ndarray, np.ndarray]:
    memory, states = _memory(case)
    return _same_form(memory.scan(case.signal), states, case)


def scan_unevenly(case: Case) -> tuple[np.ndarray, np.ndarray]:
    _, states = _memory(case)
    memory = Memory(case.system, dt=2 * case.dt)
    return _same_form(memory.scan(case.signal, dt=np.full(len(case.signal), case.dt)), states, case)


def final(case: Case) -> tuple[np.ndarray, np.ndarray]:
    memory, states = _memory(case)
    return _same_form(memory.final(case.signal), states[-1], case)


def step(case: Case) -> tuple[np.ndarray, np.ndarray]:
    memory, states = _memory(case)
    signal = np.asarray(case.signal)
    state = memory.initial_state(*signal.shape[1:])
    for number, sample in enumerate(signal):
        # By turns at the memory's own step and at one that is given.
        state = memory.step(state, sample, *([np.nextafter(case.dt, np.inf)] if number % 2 else []))
    return _same_form(state, states[-1], case)


def merge(case: Case) -> tuple[np.ndarray, np.ndarray]:
    memory, states = _memory(case)
    half = len(case.signal) // 2
    if not half:
        return final(case)
    left, right = memory.final(case.signal[:half]), memory.final(case.signal[half:])
    return _same_form(memory.merge(left, right, (len(case.signal) - half) * case.dt), states[-1], case)


def readout(case: Case) -> tuple[np.ndarray, np.ndarray]:
    memory, states = _memory(case)
    weights = np.eye(case.system.order)[:, : min(3, case.system.order)]
    return _same_form(memory.readout(case.signal, weights), states @ weights, case)


def stream(case: Case) -> tuple[np.ndarray, np.ndarray]:
    memory, states = _memory(case)
    signal = np.asarray(case.signal)
    if case.spoilt and not np.isinf(signal).any():
        raise ValueError("a stream takes NaN for a missing value")
    pushed = Stream(memory, *signal.shape[1:])
    for sample in signal:
        pushed.push(sample)
    return _same_form(pushed.state, states[-1], case)


def layer(case: Case) -> tuple[np.ndarray, np.ndarray]:
    states = oracle(case)
    module = MemoryLayer(case.system, dt=case.dt, dtype=torch.float64)
    x = torch.from_numpy(np.asarray(case.signal, float).reshape(1, len(case.signal), -1))
    y, _ = module(x)
    return _same_form(y[0].numpy(), states, case)


def layer_unevenly(case: Case) -> tuple[np.ndarray, np.ndarray]:
    states = oracle(case)
    module = MemoryLayer(case.system, dt=2 * case.dt, dtype=torch.float64)
    x = torch.from_numpy(np.asarray(case.signal, float).reshape(1, len(case.signal), -1))
    y, _ = module(x, dt=torch.full((len(case.signal),), case.dt, dtype=torch.float64))
    return _same_form(y[0].numpy(), states, case)


def growing(case: Case) -> tuple[np.ndarray, np.ndarray]:
    memory = GrowingMemory(case.system.order)
    found = memory.final(case.signal, dt=case.dt).coefficients
    rows = np.asarray(case.signal, float).reshape(len(case.signal), -1)
    with np.errstate(all="ignore"):
        states = np.stack([scaled_projection(column, np.ones(len(rows)), memory.order) for column in rows.T])
    return _same_form(found, states, case)


def multiscale(case: Case) -> tuple[np.ndarray, np.ndarray]:
    states = oracle(case)[-1]
    system = case.system
    memory = MultiscaleMemory(system, longest=100 * system.timescale, dt=case.dt, scales=3, construction="bank")
    found = memory.final(case.signal)
    nearest = int(np.abs(np.log(memory.windows / system.timescale)).argmin())
    plain = Memory(type(system)(system.order, float(memory.windows[nearest])), dt=case.dt).final(case.signal)
    return _same_form(found[..., nearest], plain.reshape(states.shape), case)


def bank(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """Writes and reads at addresses, against the exact matrix that says how much of each value is in each read."""
    values = np.asarray(case.signal, float).reshape(len(case.signal), -1)
    addresses = np.random.default_rng(case.number).uniform(size=len(values))
    family = Legendre(min(case.system.order, 64))
    stored = PolynomialBank(values.shape[1], family, epsilon=0.0, dtype=torch.float64)
    where = torch.from_numpy(addresses)[None]
    found, _ = stored(where, torch.from_numpy(values)[None], where)
    rows = [recall_matrix(family, addresses[: t + 1])[-1] @ values[: t + 1] for t in range(len(values))]
    return found[0].numpy(), np.array(rows)


def polynomial(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """A readout of degree 2 against its tensors."""
    return _read(PolynomialReadout(min(case.system.order, 5), 2), case)


def products(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """A readout of low rank against its tensors."""
    return _read(LowRankReadout(min(case.system.order, 5), 2, rank=2), case)


def _read(readout: Any, case: Case) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(case.number)
    parameters = rng.normal(size=readout.n_parameters)
    # Squares of what is larger overflow for everyone.
    size = np.asarray(case.signal, float).ravel()
    states = rng.normal(size=(len(size), readout.inputs)) * np.where(np.abs(size) < 1e120, size, size / 1e180)[:, None]
    zero, one, two = (readout.tensor(parameters, k) for k in range(3))
    return readout.predict(parameters, states), zero + states @ one + np.einsum("ti,ij,tj->t", states, two, states)


def forecast(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """A power of two times the series gives that times the forecast, to the last bit."""
    rng = np.random.default_rng(case.number)
    size = float(np.clip(np.abs(np.asarray(case.signal, float)).max(), 1e-90, 1e90))
    series = size * (rng.normal(size=80).cumsum() + 3 * np.sin(np.arange(80) / 3))
    if case.spoilt:
        series[rng.integers(80)] = np.inf
    model = forecaster_for(int(rng.integers(1, 7)))

    def ahead(values: np.ndarray) -> np.ndarray:
        return np.asarray(model.forecast(model.learn(model.initial_state(), values)).samples(), float)

    factor = 2.0 ** int(rng.integers(-30, 31))
    found, expected = ahead(factor * series), factor * ahead(series)
    assert np.array_equal(found, expected), f"{factor} times the series is not so many times the forecast"
    return found, expected


ENTRIES: dict[str, Callable[[Case], tuple[np.ndarray, np.ndarray]]] = {
    one.__name__: one
    for one in (
        *(scan, scan_unevenly, final, step, merge, readout, stream),
        *(layer, layer_unevenly, growing, multiscale),
        *(bank, polynomial, products, forecast),
    )
}


def trouble(case: Case, tolerance: float = 1e-9) -> str:
    """What is wrong with this call, in words; nothing where it is right or refused."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found, expected = ENTRIES[case.entry](case)
    except (ValueError, TypeError) as error:
        refusable = case.spoilt or not _ordinary(case)
        return "" if refusable and len(str(error)) > 20 else f"refused: {type(error).__name__}: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    if case.spoilt:
        return "a spoilt signal was taken"
    if not np.isfinite(found).all():
        return "" if not np.isfinite(expected).all() else "NaN or infinity, and nothing was said"
    # Below the smallest normal number digits are lost by everyone.
    limit = tolerance * np.abs(expected).max() + 1e-290
    worst = float(np.abs(found - expected).max())
    return "" if worst <= limit else f"off by {worst:.1e}, and the largest is {np.abs(expected).max():.1e}"


def _ordinary(case: Case) -> bool:
    """Whether there is no excuse to refuse the call."""
    signal = np.abs(np.asarray(case.signal, float))
    return bool((signal < 1e250).all())
