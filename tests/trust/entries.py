"""What the fuzz calls: each entry gives what was found and how to find it slowly.

What is found is asked for first: where the call is refused, nothing slow is done.
"""

from __future__ import annotations

import math
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from hippozoo.checkpoint import dumps, loads
from hippozoo.discretise import settled, zero_order_hold
from hippozoo.ensemble import ForecastStream, forecaster_for
from hippozoo.estimators import MemoryFeatures
from hippozoo.memory import GrowingMemory, LagLayer, Memory, MemoryLayer, Stream, hold_missing
from hippozoo.polynomials import Laguerre, Legendre, shifted_legendre
from hippozoo.systems import HippoSystem, LegT
from hippozoo.tables import read_table
from hippozoo.zoo.associative import AssociativeMemory, PolynomialBank, recall_matrix
from hippozoo.zoo.multiscale import MultiscaleLayer, MultiscaleMemory
from hippozoo.zoo.salience import SalienceLayer
from hippozoo.zoo.volterra import NLMS, SGD, LowRankReadout, PolynomialReadout, RidgeRLS, VolterraLayer
from oracles import (
    associative_episode,
    full_tensor_sgd,
    laguerre_in_60_digits,
    legendre_in_60_digits,
    roll,
    roll_in_80_bits,
    roll_trapezoid,
    scaled_projection,
)


@dataclass(frozen=True)
class Case:
    """One call: what is called, with what, and whether it has to be refused."""

    number: int
    entry: str
    system: HippoSystem
    dt: float
    signal: Any
    spoilt: bool

    @property
    def rng(self) -> np.random.Generator:
        """For what else a call needs."""
        return np.random.default_rng((self.number, 1))

    @property
    def columns(self) -> np.ndarray:
        """The signal as (time, channels)."""
        return np.ascontiguousarray(self.signal, float).reshape(len(self.signal), -1)


@dataclass(frozen=True)
class Answer:
    """What was found, and what should have been, to so much of the largest number; 0 for every bit.

    `size` is that number where it is not in the answer.
    """

    found: Any
    expected: Callable[[], Any]
    tolerance: float = 1e-9
    size: float = 0.0


def states(case: Case) -> np.ndarray:
    """The states by the loop that people write."""
    A_d, b_d = zero_order_hold(case.system, case.dt)
    with np.errstate(all="ignore"):
        return np.stack([roll(A_d, b_d, column) for column in case.columns.T], axis=1)


def _seeded(module: Any, case: Case) -> Any:
    """Weights from the case alone, also where two threads make the layer at once."""
    rng = case.rng
    with torch.no_grad():
        for weight in module.parameters():
            weight.copy_(torch.from_numpy(rng.normal(size=tuple(weight.shape)) * weight.shape[-1] ** -0.5))
    return module


def _as_it_should(answer: Answer, case: Case) -> Answer:
    """For calls that may take a spoilt signal."""
    if case.spoilt:
        raise ValueError("this call takes anything, and gave it back")
    return answer


def tensor(case: Case, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.from_numpy(case.columns)[None].to(dtype)


# -- memories ----------------------------------------------------------------------------------------------------


def hold(case: Case) -> Answer:
    """The exact update itself: short steps by their series in 80 bits, others by what a constant past stays."""
    system, dt = case.system, case.dt
    A_d, b_d = zero_order_hold(system, dt)
    if case.spoilt:
        return _as_it_should(Answer(b_d, lambda: b_d), case)
    if dt / system.timescale * np.abs(system.A).sum(1).max() < 1:
        return Answer(b_d, lambda: roll_in_80_bits(system, [1.0], [dt])[-1], 1e-10)
    constant = settled(system)
    return Answer(A_d @ constant + b_d, lambda: constant)


def scan(case: Case) -> Answer:
    return Answer(Memory(case.system, dt=case.dt).scan(case.signal), lambda: states(case))


def scan_unevenly(case: Case) -> Answer:
    memory = Memory(case.system, dt=2 * case.dt)
    return Answer(memory.scan(case.signal, dt=np.full(len(case.signal), case.dt)), lambda: states(case))


def scan_single(case: Case) -> Answer:
    """Float32 where it is offered; what float32 cannot hold is refused."""
    memory = Memory(case.system, dt=case.dt, dtype="float32")
    found = memory.scan(case.signal)
    return Answer(found + 1e-36 * np.isfinite(found), lambda: states(case) + 1e-36, 1e-3)


def scan_with_gaps(case: Case) -> Answer:
    memory = Memory(case.system, dt=case.dt)
    mask = case.rng.random(len(case.signal)) < 0.7
    if case.spoilt:
        mask[:] = True

    def expected() -> np.ndarray:
        held, rows = np.zeros(case.columns.shape[1]), []
        for row, there in zip(case.columns, mask, strict=True):
            held = row if there else held
            rows.append(held)
        return states(replace(case, signal=np.array(rows)))

    return Answer(memory.scan(case.signal, mask=mask), expected)


def filled(case: Case) -> Answer:
    mask = case.rng.random(len(case.signal)) < 0.7

    def expected() -> np.ndarray:
        rows = np.asarray(case.signal, float)
        return np.array([rows[max(np.flatnonzero(mask[: t + 1]))] if mask[: t + 1].any() else 0 * rows[t]
                         for t in range(len(rows))])  # fmt: skip

    # What stands in a gap is not looked at.
    return _as_it_should(Answer(hold_missing(case.signal, mask), expected, 0.0), case)


def bilinear_scan(case: Case) -> Answer:
    memory = Memory(case.system, dt=case.dt, method="bilinear")

    def expected() -> np.ndarray:
        steps = np.full(len(case.signal), case.dt)
        rows = [roll_trapezoid(case.system, column, steps, np.zeros(case.system.order)) for column in case.columns.T]
        return np.stack(rows, axis=1)

    return Answer(memory.scan(case.signal), expected, 1e-7)


def final(case: Case) -> Answer:
    return Answer(Memory(case.system, dt=case.dt).final(case.signal), lambda: states(case)[-1])


def step(case: Case) -> Answer:
    memory = Memory(case.system, dt=case.dt)
    signal = np.asarray(case.signal)
    state = memory.initial_state(*signal.shape[1:])
    for number, sample in enumerate(signal):
        # By turns at the memory's own step and at one that is given.
        state = memory.step(state, sample, *([np.nextafter(case.dt, np.inf)] if number % 2 else []))
    return Answer(state, lambda: states(case)[-1])


def merge(case: Case) -> Answer:
    memory = Memory(case.system, dt=case.dt)
    half = len(case.signal) // 2
    if not half:
        return final(case)
    left, right = memory.final(case.signal[:half]), memory.final(case.signal[half:])
    return Answer(memory.merge(left, right, (len(case.signal) - half) * case.dt), lambda: states(case)[-1])


def readout(case: Case) -> Answer:
    weights = np.eye(case.system.order)[:, : min(3, case.system.order)]
    return Answer(Memory(case.system, dt=case.dt).readout(case.signal, weights), lambda: states(case) @ weights)


def reconstruct(case: Case) -> Answer:
    """What a state says of the past, term by term."""
    memory, system = Memory(case.system, dt=case.dt), case.system
    lags = system.timescale * case.rng.uniform(0, 1, size=4)
    found = memory.reconstruct(memory.final(case.signal), lags)
    return Answer(found, lambda: states(case)[-1] @ system.basis(lags).T)


def stream(case: Case) -> Answer:
    signal = np.asarray(case.signal)
    if case.spoilt and not np.isinf(signal).any():
        raise ValueError("a stream takes NaN for a missing value")
    pushed = Stream(Memory(case.system, dt=case.dt), *signal.shape[1:])
    for sample in signal:
        pushed.push(sample)
    return Answer(pushed.state, lambda: states(case)[-1])


def growing(case: Case) -> Answer:
    return _grown(case, lambda memory: memory.final(case.signal, dt=case.dt).coefficients)


def growing_scan(case: Case) -> Answer:
    return _grown(case, lambda memory: memory.scan(case.signal, dt=case.dt).coefficients[-1])


def growing_step(case: Case) -> Answer:
    def found(memory: GrowingMemory) -> np.ndarray:
        state = memory.initial_state(*np.shape(case.signal)[1:])
        for sample in np.asarray(case.signal):
            state = memory.step(state, sample, case.dt)
        return state.coefficients

    return _grown(case, found)


def _grown(case: Case, found: Callable[[GrowingMemory], np.ndarray]) -> Answer:
    memory = GrowingMemory(min(case.system.order, 13))

    def expected() -> np.ndarray:
        ones = np.ones(len(case.signal))
        return np.stack([scaled_projection(column, ones, memory.order) for column in case.columns.T])

    return Answer(found(memory), expected)


def features(case: Case) -> Answer:
    """The estimator of scikit-learn: one series to a row, and the last state of each."""
    if case.spoilt and not np.isinf(case.columns).any():
        raise ValueError("NaN is a missing value here, and steps are counted")
    system = type(case.system)(case.system.order, 7.0)
    found = MemoryFeatures(system.order, 7.0, type(system).__name__.lower()).fit_transform(case.columns.T)
    return Answer(found, lambda: states(replace(case, system=system, dt=1.0))[-1])


# -- torch layers ------------------------------------------------------------------------------------------------


def layer(case: Case) -> Answer:
    y, _ = MemoryLayer(case.system, dt=case.dt, dtype=torch.float64)(tensor(case))
    return Answer(y[0].numpy(), lambda: states(case))


def layer_single(case: Case) -> Answer:
    y, _ = MemoryLayer(case.system, dt=case.dt)(tensor(case, torch.float32))
    return Answer(y[0].numpy() + 1e-36, lambda: states(case) + 1e-36, 1e-3)


def layer_unevenly(case: Case) -> Answer:
    module = MemoryLayer(case.system, dt=2 * case.dt, dtype=torch.float64)
    y, _ = module(tensor(case), dt=torch.full((len(case.signal),), case.dt, dtype=torch.float64))
    return Answer(y[0].numpy(), lambda: states(case))


def lag_layer(case: Case) -> Answer:
    x = tensor(case)
    module = _seeded(LagLayer(case.system, x.shape[2], dt=case.dt, dtype=torch.float64), case)
    with torch.no_grad():
        y, _ = module(x)
    weights = module.weight.detach().numpy()[0]
    return Answer(y[0].numpy(), lambda: np.einsum("tcn,cn->tc", states(case), weights))


def volterra_layer(case: Case) -> Answer:
    """A polynomial of degree 2 of all coefficients, against its tensors."""
    x = tensor(case)
    module = _seeded(VolterraLayer(case.system, x.shape[2], dt=case.dt, dtype=torch.float64), case)
    with torch.no_grad():
        y, _ = module(x)

    def expected() -> np.ndarray:
        flat = states(case).reshape(len(case.signal), -1)
        return _polynomial(module.readout.readout, module.readout.parameters_of(), flat)

    return Answer(y[0].numpy(), expected)


def salience(case: Case) -> Answer:
    """A memory on a clock of its own: each sample held for its salience times the step."""
    x, system = tensor(case), _small(case, 8)
    settings = {"readout": "states", "summary": 0, "hidden": 4, "form": "stepwise"}
    module = _seeded(SalienceLayer(system, x.shape[2], **settings, dt=case.dt, dtype=torch.float64), case)
    with torch.no_grad():
        y, _ = module(x)
        clock = module.salience(x)[0, :, 0].numpy()

    def expected() -> np.ndarray:
        state, rows = np.zeros((x.shape[2], system.order)), []
        for row, pace in zip(case.columns, clock, strict=True):
            if pace:  # where it is 0, no time passes
                A_d, b_d = zero_order_hold(system, float(pace * case.dt))
                state = state @ A_d.T + np.outer(row, b_d)
            rows.append(state)
        return np.array(rows)

    # A clock that hardly moves leaves little of a sample; updates are read from a table that knows them to 1e-10.
    return Answer(y[0].numpy(), expected, 1e-7, size=np.abs(case.columns).max())


def associative(case: Case) -> Answer:
    """The paper's formulas one after the other."""
    x, system, family = tensor(case), _small(case, 8), Legendre(5)
    module = AssociativeMemory(
        x.shape[2], 2, width=3, hidden=4, system=system, family=family, dt=case.dt, dtype=torch.float64,
        start="random", generator=torch.Generator().manual_seed(case.number),
    )  # fmt: skip
    with torch.no_grad():
        y, _ = module(x)
    weights = {name: parameter.detach().numpy() for name, parameter in module.named_parameters()}
    update = zero_order_hold(system, case.dt)
    if np.abs(case.columns).max() > 1e3:
        # A gate is a sigmoid of sums that cancel: of large numbers only their rounding is left. No NaN, though.
        return Answer(y[0].numpy(), lambda: np.nan_to_num(y[0].numpy()), 0.0)
    return Answer(
        y[0].numpy(), lambda: associative_episode(weights, *update, family.values, case.columns, 1e-6)[0], 1e-6
    )


def bank(case: Case) -> Answer:
    """Writes and reads at addresses, against the exact matrix that says how much of each value is in each read."""
    values = case.columns[:6]
    if case.spoilt and np.isfinite(values).all():
        raise ValueError("what is not a number comes later than the first six")
    addresses = case.rng.uniform(size=len(values))
    family = Legendre(min(case.system.order, 64))
    stored = PolynomialBank(values.shape[1], family, epsilon=0.0, dtype=torch.float64)
    where = torch.from_numpy(addresses)[None]
    found, _ = stored(where, torch.from_numpy(values)[None], where)

    def expected() -> np.ndarray:
        rows = [recall_matrix(family, addresses[: t + 1])[-1] @ values[: t + 1] for t in range(len(values))]
        return np.array(rows)

    return Answer(found[0].numpy(), expected)


# -- multiscale --------------------------------------------------------------------------------------------------


def _bank_of_windows(case: Case) -> tuple[MultiscaleMemory, int, Memory]:
    system = _small(case, 55)
    memory = MultiscaleMemory(system, longest=100 * system.timescale, dt=case.dt, scales=3, construction="bank")
    nearest = int(np.abs(np.log(memory.windows / system.timescale)).argmin())
    return memory, nearest, Memory(type(system)(system.order, float(memory.windows[nearest])), dt=case.dt)


def multiscale(case: Case) -> Answer:
    memory, nearest, plain = _bank_of_windows(case)
    return Answer(memory.final(case.signal)[..., nearest], lambda: plain.final(case.signal))


def multiscale_layer(case: Case) -> Answer:
    memory, nearest, plain = _bank_of_windows(case)
    y, _ = MultiscaleLayer(memory, dtype=torch.float64)(tensor(case))
    return Answer(y[0, ..., nearest].numpy(), lambda: plain.scan(case.columns))


# -- readouts and learners ---------------------------------------------------------------------------------------


def polynomial(case: Case) -> Answer:
    """A readout of degree 2 against its tensors."""
    return _read(PolynomialReadout(min(case.system.order, 5), 2), case)


def products(case: Case) -> Answer:
    """A readout of low rank against its tensors."""
    return _read(LowRankReadout(min(case.system.order, 5), 2, rank=2), case)


def _polynomial(reader: Any, parameters: np.ndarray, rows: np.ndarray) -> np.ndarray:
    zero, one, two = (reader.tensor(parameters, k) for k in range(3))
    return zero + rows @ one + np.einsum("ti,ij,tj->t", rows, two, rows)


def _read(reader: Any, case: Case) -> Answer:
    rng = case.rng
    parameters = rng.normal(size=reader.n_parameters)
    rows = _rows(case, reader.inputs, rng)
    return Answer(reader.predict(parameters, rows), lambda: _polynomial(reader, parameters, rows))


def _rows(case: Case, inputs: int, rng: np.random.Generator) -> np.ndarray:
    # Squares of what is larger overflow for everyone.
    size = case.columns.ravel()[:50]
    if case.spoilt and np.isfinite(size).all():
        raise ValueError("what is not a number comes later than the first fifty")
    return rng.normal(size=(len(size), inputs)) * np.where(np.abs(size) < 1e120, size, size / 1e180)[:, None]


def gradient_descent(case: Case) -> Answer:
    """Online steps of the packed coefficients, against those of the full tensors."""
    rng, inputs = case.rng, min(case.system.order, 3)
    rows = _rows(case, inputs, rng)
    targets = rng.normal(size=len(rows))
    found, _ = SGD(0.004).learn(PolynomialReadout(inputs, 2), rows, targets)
    return Answer(found, lambda: full_tensor_sgd(rows, targets, 2, 0.004)[0], 1e-6)


def learners(case: Case) -> Answer:
    """One sample at a time gives the very numbers of the whole array."""
    rng, inputs = case.rng, min(case.system.order, 3)
    reader, learner = PolynomialReadout(inputs, 2), (NLMS(), RidgeRLS(1e-3))[case.number % 2]
    rows = _rows(case, inputs, rng)
    targets = rows[:, 0] + rng.normal(size=len(rows))
    found, _ = learner.learn(reader, rows, targets)

    def expected() -> list[float]:
        state, answers = learner.initial_state(reader), []
        for row, target in zip(rows, targets, strict=True):
            answer, state = learner.learn(reader, row[None], target[None], state)
            answers.append(float(answer[0]))
        return answers

    return Answer(found, expected, 0.0)


# -- forecasts ---------------------------------------------------------------------------------------------------


@cache
def _forecaster(horizon: int) -> Any:
    return forecaster_for(horizon, history=LegT(8, 16.0), ridge=1e-2)


def _series(case: Case, rng: np.random.Generator, length: int) -> np.ndarray:
    size = float(np.clip(np.abs(np.nan_to_num(case.columns, posinf=0, neginf=0)).max(), 1e-80, 1e80))
    series = size * (rng.normal(size=length).cumsum() + 3 * np.sin(np.arange(length) / 3))
    if case.spoilt:
        series[rng.integers(length)] = np.inf
    return series


def forecast(case: Case) -> Answer:
    """A power of two times the series gives that times the forecast, to the last bit."""
    return _doubled(case, forecaster_for(int(case.rng.integers(1, 7))))


def forecast_simply(case: Case) -> Answer:
    """The same with one history, which is much faster."""
    return _doubled(case, _forecaster(int(case.rng.integers(1, 7))))


def _doubled(case: Case, model: Any) -> Answer:
    rng = case.rng
    series = _series(case, rng, 80)

    def ahead(values: np.ndarray) -> np.ndarray:
        return np.asarray(model.forecast(model.learn(model.initial_state(), values)).samples(), float)

    factor = 2.0 ** int(rng.integers(-30, 31))
    return Answer(ahead(factor * series), lambda: factor * ahead(series), 0.0)


def pushed(case: Case) -> Answer:
    """Readings one by one, at times of any scale, give the very numbers of readings all at once."""
    rng = case.rng
    dt = float(np.clip(case.dt, 1e-80, 1e80)) if np.isfinite(case.dt) and case.dt > 0 else 1.0
    model = forecaster_for(3 * dt, dt=dt, history=LegT(8, 16.0 * dt), ridge=1e-2)
    series = _series(case, rng, 40)
    one, many = ForecastStream(model), ForecastStream(model)
    found = [one.push(value).parts for value in series]

    def numbers(parts: Any) -> np.ndarray:
        return np.nan_to_num(np.asarray(parts, float), posinf=1.0, neginf=-1.0)

    return Answer(numbers(found), lambda: numbers(many.push_many(series).parts).T, 0.0)


# -- polynomials -------------------------------------------------------------------------------------------------


def legendre(case: Case) -> Answer:
    points = _points(case, 1.0)
    found = shifted_legendre(points, case.system.order)
    return Answer(found, lambda: np.array([legendre_in_60_digits(s, case.system.order) for s in points.tolist()]))


def laguerre(case: Case) -> Answer:
    points = _points(case, 1000.0)
    found = np.exp(-points / 2)[:, None] * Laguerre(case.system.order).values(points)
    return Answer(found, lambda: np.array([laguerre_in_60_digits(s, case.system.order) for s in points.tolist()]))


def _points(case: Case, end: float) -> np.ndarray:
    rng = case.rng
    points = end * 10.0 ** rng.uniform(-300 if rng.random() < 0.1 else -9, 0, size=3)
    if case.spoilt:
        points[rng.integers(3)] = case.columns[~np.isfinite(case.columns)][0]
    return points


# -- files -------------------------------------------------------------------------------------------------------


def checkpoint(case: Case) -> Answer:
    """What is saved comes back, bit for bit."""
    found = loads(dumps({"signal": case.signal, "system": case.system}))
    assert found["system"] == case.system
    assert found["signal"].dtype == case.signal.dtype
    # Data may hold anything, also what is not a number.
    assert np.array_equal(found["signal"], case.signal, equal_nan=True)
    return _as_it_should(Answer(found["signal"], lambda: case.signal, 0.0), case)


@cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp())


def csv(case: Case) -> Answer:
    lines = [",".join(f"x{c}" for c in range(case.columns.shape[1])), *(",".join(map(repr, r)) for r in _cells(case))]
    path = _folder() / f"{threading.get_ident()}.csv"
    path.write_text("\n".join(lines) + "\n")
    return _read_back(path, case)


def parquet(case: Case) -> Answer:
    path = _folder() / f"{threading.get_ident()}.parquet"
    pd.DataFrame(np.array(_cells(case)), columns=[f"x{c}" for c in range(case.columns.shape[1])]).to_parquet(path)
    return _read_back(path, case)


def _cells(case: Case) -> list[list[float]]:
    return np.where(np.isnan(case.columns), np.inf, case.columns).tolist()  # an empty cell is a missing value


def _read_back(path: Path, case: Case) -> Answer:
    names = [f"x{c}" for c in range(case.columns.shape[1])]
    try:
        found = np.concatenate([rows.values for rows, _ in read_table(path, names).chunks])
    finally:
        path.unlink(missing_ok=True)
    return Answer(found, lambda: case.columns, 0.0)


def _small(case: Case, most: int) -> HippoSystem:
    order = min(case.system.order, most)
    if math.isclose(order, case.system.order):
        return case.system
    return type(case.system)(order - (order % 2 == 0), case.system.timescale)


# How often each is called: what takes long is called less.
ENTRIES: dict[str, tuple[Callable[[Case], Answer], int]] = {
    one.__name__: (one, often)
    for often, some in {
        100: (hold, scan, scan_unevenly, scan_single, scan_with_gaps, filled, final, step, merge, readout, reconstruct),
        80: (stream, bilinear_scan, polynomial, products, gradient_descent, learners, checkpoint, multiscale),
        40: (bank, layer, layer_single, legendre, laguerre, growing, growing_scan, growing_step, multiscale_layer),
        20: (layer_unevenly, lag_layer, volterra_layer, associative, features, csv, parquet),
        5: (forecast_simply, pushed, salience),
        1: (forecast,),
    }.items()
    for one in some
}
# Those that take the signal as it is, so that other types and shapes have to be refused by the library itself.
ARRAYS = frozenset({"scan", "scan_unevenly", "final", "merge", "readout", "growing", "multiscale", "scan_single"})
# Those that are called at high orders.
HIGH = (
    *("hold", "scan", "scan_unevenly", "scan_single", "final", "step", "merge", "readout", "stream", "layer"),
    *("layer_single", "layer_unevenly", "reconstruct", "bilinear_scan", "legendre", "laguerre"),
)
# Larger numbers may be refused, in words: by float32, where squares overflow, and in tables, whose squares are summed.
LARGEST = {"scan_single": 1e37, "layer_single": 1e37, "csv": 1e130, "parquet": 1e130, "volterra_layer": 1e100}
