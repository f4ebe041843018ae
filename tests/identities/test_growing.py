"""The growing memory (HiPPO-LegS of 2020) is the projection of the whole past, in every mode."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.polynomial import Polynomial
from numpy.testing import assert_allclose

from hippozoo.memory.growing import GrowingMemory, GrowingState
from hippozoo.systems import LegS
from oracles import scaled_projection

seeds = st.integers(0, 2**32 - 1)


def irregular(seed, samples, channels=None):
    rng = np.random.default_rng(seed)
    shape = (samples,) if channels is None else (samples, channels)
    return rng.normal(size=shape), 10 ** rng.uniform(-2, 1, size=samples)


@given(seeds, st.integers(1, 20), st.integers(1, 12))
def test_the_final_state_is_the_projection_of_the_whole_past(seed, samples, order):
    signal, dt = irregular(seed, samples)
    state = GrowingMemory(order).final(signal, dt=dt)
    assert_allclose(state.coefficients, scaled_projection(signal, dt, order), atol=1e-12)
    assert state.elapsed == pytest.approx(dt.sum())


@settings(max_examples=30)
@given(seeds, st.integers(1, 90), st.integers(1, 12))
def test_steps_scan_final_and_merge_agree(seed, samples, order):
    signal, dt = irregular(seed, samples)
    assert GrowingMemory(order).verify(signal, dt) < 1e-11


@settings(max_examples=30)
@given(seeds, st.integers(1, 40))
def test_channels_are_remembered_as_if_alone(seed, samples):
    signal, dt = irregular(seed, samples, channels=3)
    memory = GrowingMemory(6)
    history = memory.scan(signal, dt=dt)
    assert history.coefficients.shape == (samples, 3, 6)
    assert_allclose(history[-1].coefficients, memory.final(signal, dt=dt).coefficients, atol=1e-12)
    for channel in range(3):
        alone = memory.scan(signal[:, channel], dt=dt)
        assert_allclose(history.coefficients[:, channel], alone.coefficients, atol=1e-12)
        assert_allclose(history.elapsed, alone.elapsed)
    state = memory.initial_state(channels=3)
    for sample, duration in zip(signal, dt, strict=True):
        state = memory.step(state, sample, float(duration))
    assert_allclose(state.coefficients, history[-1].coefficients, atol=1e-12)


@settings(max_examples=30)
@given(seeds, st.lists(st.integers(0, 30), min_size=2, max_size=5))
def test_pieces_merge_in_any_grouping(seed, lengths):
    memory, signal_of, duration_of = GrowingMemory(7), *irregular(seed, sum(lengths) + 1)
    cuts = np.cumsum([0, *lengths, 1])
    pieces = [
        memory.final(signal_of[a:b], dt=duration_of[a:b]) if b > a else memory.initial_state()
        for a, b in pairwise(cuts)
    ]
    from_left, from_right = pieces[0], pieces[-1]
    for piece in pieces[1:]:
        from_left = memory.merge(from_left, piece)
    for piece in pieces[-2::-1]:
        from_right = memory.merge(piece, from_right)
    whole = memory.final(signal_of, dt=duration_of)
    assert_allclose(from_left.coefficients, whole.coefficients, atol=1e-12)
    assert_allclose(from_right.coefficients, whole.coefficients, atol=1e-12)
    assert from_left.elapsed == pytest.approx(whole.elapsed)


@settings(max_examples=30)
@given(seeds, st.integers(1, 60), st.integers(1, 60))
def test_a_scan_continues_from_a_state(seed, first, second):
    signal, dt = irregular(seed, first + second)
    memory = GrowingMemory(9)
    whole = memory.scan(signal, dt=dt)
    rest = memory.scan(signal[first:], memory.final(signal[:first], dt=dt[:first]), dt[first:])
    assert_allclose(rest.coefficients, whole.coefficients[first:], atol=1e-12)
    assert_allclose(rest.elapsed, whole.elapsed[first:])
    cut = whole[first:]
    assert len(cut) == second
    assert_allclose(cut.coefficients, rest.coefficients, atol=1e-12)
    assert cut[0].elapsed == whole[first].elapsed


@given(st.floats(1e-6, 1e6))
def test_the_speed_of_the_stream_does_not_matter(speed):
    signal = np.random.default_rng(0).normal(size=50)
    memory = GrowingMemory(12)
    assert_allclose(memory.final(signal, dt=speed).coefficients, memory.final(signal).coefficients, atol=1e-13)


def test_the_dynamics_are_leg_s_with_the_rate_one_over_time():
    # Paper of 2020, theorem 2: s'(t) = (A s + b f) / t, on a polynomial that the memory holds in full.
    system, now = LegS(order=6, timescale=1.0), 2.3
    signal = Polynomial([0.3, -1.0, 0.5, 0.2])
    node, mass = np.polynomial.legendre.leggauss(16)

    def state(time):
        lag = time * (node + 1) / 2
        basis = np.polynomial.legendre.legvander(1 - 2 * lag / time, 5) * system.b
        return (mass / 2 * signal(time - lag)) @ basis

    velocity = (state(now + 1e-4) - state(now - 1e-4)) / 2e-4
    assert_allclose((system.A @ state(now) + system.b * signal(now)) / now, velocity, atol=1e-6)
    # And fine samples lead there.
    time = (np.arange(20_000) + 0.5) * now / 20_000
    assert_allclose(GrowingMemory(6).final(signal(time), dt=now / 20_000).coefficients, state(now), atol=1e-8)


def test_a_polynomial_past_is_reconstructed_from_its_coefficients():
    memory, signal = GrowingMemory(8), Polynomial([0.3, -1.0, 0.5, 0.2])
    time = (np.arange(40_000) + 0.5) / 10_000
    lags = np.linspace(0, 4, 33)
    state = memory.final(signal(time), dt=1e-4)
    assert_allclose(memory.reconstruct(state, lags), signal(4 - lags), atol=1e-6)


def test_the_first_coefficient_is_the_running_mean(rng):
    signal = rng.normal(size=300)
    history = GrowingMemory(5).scan(signal)
    assert_allclose(history.coefficients[:, 0], np.cumsum(signal) / np.arange(1, 301), atol=1e-13)


def test_the_future_is_invisible(rng):
    signal, memory = rng.normal(size=100), GrowingMemory(6)
    changed = signal.copy()
    changed[50:] += 100
    before, after = memory.scan(signal).coefficients, memory.scan(changed).coefficients
    assert_allclose(after[:50], before[:50], rtol=0, atol=1e-13)


def test_missing_samples_hold_the_last_value():
    signal = np.array([np.nan, 2.0, np.nan, np.nan, 5.0])
    memory, mask = GrowingMemory(4), ~np.isnan(signal)
    filled = np.array([1.0, 2.0, 2.0, 2.0, 5.0])
    assert_allclose(memory.final(signal, mask=mask, held=1.0).coefficients, memory.final(filled).coefficients, rtol=0)
    assert_allclose(memory.scan(signal, mask=mask, held=1.0).coefficients, memory.scan(filled).coefficients, rtol=0)


def test_a_million_steps_do_not_drift(rng):
    memory, signal = GrowingMemory(16), rng.normal(size=2**20)
    in_pieces = memory.initial_state()
    for piece in signal.reshape(64, -1):
        in_pieces = memory.final(piece, in_pieces)
    assert_allclose(in_pieces.coefficients, memory.final(signal).coefficients, atol=1e-13)


def test_high_orders_stay_accurate(rng):
    memory, signal = GrowingMemory(256), rng.normal(size=64)
    assert memory.verify(signal) < 1e-11


def test_states_and_memories_pickle_and_print(rng):
    memory = GrowingMemory(5)
    state = memory.final(rng.normal(size=7))
    again = pickle.loads(pickle.dumps(state))
    assert_allclose(again.coefficients, state.coefficients, rtol=0)
    assert again.elapsed == 7.0
    assert pickle.loads(pickle.dumps(memory)) == memory
    assert repr(memory) == "GrowingMemory(order=5)"


def test_no_mode_writes_into_what_it_is_given(rng):
    memory, signal = GrowingMemory(5), rng.normal(size=7)
    state = GrowingState(rng.normal(size=5), 3.0)
    kept_signal, kept_state = signal.copy(), state.coefficients.copy()
    memory.step(state, 1.0)
    memory.scan(signal, state)
    memory.final(signal, state)
    memory.merge(state, state)
    memory.reconstruct(state, 1.0)
    assert (signal == kept_signal).all()
    assert (state.coefficients == kept_state).all()
