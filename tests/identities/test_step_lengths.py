"""Any order from 1 to 512 and any step from 1e-12 to 1e12 timescales: the right answer, in every mode."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from hippozoo.discretise import bilinear, zero_order_hold
from hippozoo.memory import Memory, MemoryLayer
from hippozoo.systems import FouT, HippoSystem, LagT, LegS, LegT
from hippozoo.zoo.multiscale import MultiscaleLayer, MultiscaleMemory
from oracles import roll, roll_in_80_bits

every_system = pytest.mark.parametrize("System", [LegT, LegS, LagT, FouT])


def all_modes(memory, signal, dt):
    """The last state of a signal, by every way there is."""
    usual = Memory(memory.system, dt=1.5 * dt, method=memory.method)
    steps = np.full(len(signal), dt)
    stepped = irregular = memory.initial_state()
    for sample in signal:
        stepped, irregular = memory.step(stepped, sample), usual.step(irregular, sample, dt=dt)
    first, second = memory.final(signal[:3]), memory.final(signal[3:])
    yield from (stepped, irregular, memory.scan(signal)[-1], memory.final(signal))
    yield from (usual.scan(signal, dt=steps)[-1], usual.final(signal, dt=steps))
    yield memory.merge(first, second, elapsed=(len(signal) - 3) * dt)
    yield memory.readout(signal, np.eye(memory.system.order))[-1]
    yield usual.readout(signal, np.eye(memory.system.order), dt=steps)[-1]


@every_system
@pytest.mark.parametrize(("order", "dt"), [(1, 1e12), (9, 1e3), (9, 1e12), (257, 1e7)])
def test_after_a_long_step_only_the_sample_is_left(System, order, dt):
    signal = np.array([1e9, -3.0, 0.5, 2.0])
    expected = 2.0 * np.eye(order)[0]
    for state in all_modes(Memory(System(order, 1.0), dt=dt), signal, dt):
        assert_allclose(state, expected, atol=1e-14)


@every_system
@pytest.mark.parametrize(("order", "dt"), [(1, 1e-12), (9, 1e-12), (9, 1e-6), (97, 1e-9)])
@pytest.mark.parametrize("method", ["zoh", "bilinear"])
def test_short_steps_keep_their_digits(System, order, dt, method, rng):
    system, signal = System(order, 2.0), rng.normal(size=7)
    expected = roll_in_80_bits(system, signal, np.full(7, dt))[-1]
    if method == "bilinear":
        expected = roll(*bilinear(system, dt), signal)[-1]
    for state in all_modes(Memory(system, dt=dt, method=method), signal, dt):
        assert_allclose(state, expected, rtol=0, atol=1e-11 * np.abs(expected).max())


def test_a_long_signal_of_short_steps_keeps_its_digits(rng):
    system, signal = LegT(5, 1.0), rng.normal(size=20_000)
    memory = Memory(system, dt=1.0)
    steps = rng.uniform(0.5, 1.0, size=20_000) * 1e-12
    expected = roll_in_80_bits(system, signal, steps)[-1]
    assert_allclose(memory.final(signal, dt=steps), expected, rtol=0, atol=1e-11 * np.abs(expected).max())


@every_system
def test_steps_of_every_length_follow_each_other(System, rng):
    system, signal = System(9, 1.0), rng.normal(size=25)
    steps = rng.permutation(10.0 ** np.arange(-12, 13))
    state = np.zeros(9)
    for sample, step in zip(signal, steps, strict=True):
        A_d, b_d = zero_order_hold(system, float(step))
        state = A_d @ state + b_d * sample
    found = Memory(system).scan(signal, dt=steps)[-1]
    assert_allclose(found, state, rtol=0, atol=1e-12 * np.abs(state).max())


@every_system
@pytest.mark.parametrize(("order", "dt"), [(9, 1e-12), (9, 1e12), (97, 1e-6), (97, 1e7), (3, 2.0**-7), (9, 1e-3)])
def test_torch_takes_the_same_steps(System, order, dt, rng):
    system, signal = System(order, 1.0), rng.normal(size=5)
    layer = MemoryLayer(system, dtype=torch.float64)
    x = torch.from_numpy(signal)[None, :, None]
    uneven = dt * np.linspace(1, 1.5, 5)
    for steps, digits in ((np.full(5, dt), 2e-11), (uneven, 1e-9)):  # uneven steps are a series
        expected = Memory(system).scan(signal, dt=steps)
        found, _ = layer(x, dt=torch.from_numpy(steps))
        assert_allclose(found[0, :, 0], expected, rtol=0, atol=digits * np.abs(expected).max())


@pytest.mark.parametrize("dt", [1e-10, 1e10])
def test_every_scale_takes_the_same_steps(dt, rng):
    memory = MultiscaleMemory(LegT(6, 1.0), longest=100.0, dt=dt, scales=4, construction="bank")
    signal = rng.normal(size=5)
    steps = np.full(5, dt)
    expected = np.stack([Memory(LegT(6, window), dt).scan(signal) for window in memory.windows], axis=-1)
    limit = 1e-11 * np.abs(expected).max((0, 1))
    other = MultiscaleMemory(LegT(6, 1.0), longest=100.0, dt=1.0, scales=4, construction="bank")
    layer = MultiscaleLayer(other, dtype=torch.float64)
    torched, _ = layer(torch.from_numpy(signal)[None, :, None], dt=torch.from_numpy(steps))
    for states in (memory.scan(signal), memory.scan(signal, dt=steps), other.scan(signal, dt=steps), torched[0, :, 0]):
        assert (np.abs(np.asarray(states) - expected).max((0, 1)) <= limit).all()


class Undamped(HippoSystem):
    """A system of somebody else, which never forgets."""

    @property
    def A(self):
        return np.array([[0.0, 1.0], [-1.0, 0.0]])

    @property
    def b(self):
        return np.array([0.0, 1.0])

    def weight(self, lag):
        return np.ones_like(lag)

    def _values(self, scaled_lag):
        return np.stack([np.cos(scaled_lag), np.sin(scaled_lag)], -1)


@pytest.mark.parametrize(("System", "order", "dt"), [(LegS, 448, 1e8), (LagT, 448, 1e12), (LegT, 512, 1e7)])
def test_the_highest_orders_forget_too(System, order, dt):
    state = Memory(System(order, 1.0), dt=dt).step(np.zeros(order), 1.0)
    assert_allclose(state, np.eye(order)[0], atol=1e-12)


def test_a_system_that_never_forgets_is_not_made_to():
    assert Undamped(2, 1.0).forgotten_after == np.inf
    A_d, _ = zero_order_hold(Undamped(2, 1.0), 2 * np.pi * 100)
    assert_allclose(A_d, np.eye(2), atol=1e-10)
