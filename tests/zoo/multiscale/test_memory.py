"""All modes of the multiscale memory agree with plain memories and with each other."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from hippozoo import checkpoint
from hippozoo.memory import Memory
from hippozoo.systems import FouT, LagT, LegS, LegT
from hippozoo.zoo.multiscale import MultiscaleMemory
from hippozoo.zoo.multiscale.constructions import CONSTRUCTIONS


@pytest.mark.parametrize("construction", CONSTRUCTIONS)
@pytest.mark.parametrize(
    "system", [LegT(5, timescale=4.0), LegS(6, timescale=4.0), LagT(4, timescale=4.0), FouT(3, 4.0)]
)
def test_all_modes_agree_with_plain_memories(system, construction, rng):
    memory = MultiscaleMemory(system, longest=300.0, scales=7, construction=construction, dt=0.5)
    assert memory.verify(rng.normal(size=150)) < 1e-12
    assert memory.verify(rng.normal(size=(40, 3))) < 1e-12
    assert memory.verify(rng.normal(size=1)) < 1e-12


def test_float32_states_stay_close_to_float64(rng):
    memory = MultiscaleMemory(LegT(8, timescale=10.0), longest=1e3, scales=20, dtype="float32")
    assert memory.final(rng.normal(size=50)).dtype == np.float32
    assert memory.verify(rng.normal(size=300)) < 1e-5


@given(st.integers(1, 400), st.integers(0, 400), st.integers(1, 3), st.integers(0, 2**31))
def test_a_signal_in_two_parts_is_the_whole_signal(first, second, channels, seed):
    rng = np.random.default_rng(seed)
    memory = MultiscaleMemory(LegT(4, timescale=5.0), longest=200.0, scales=6)
    signal = rng.normal(size=(first + second, channels))
    whole = memory.final(signal)
    assert_allclose(whole, memory.scan(signal)[-1], atol=1e-12)
    if second:
        halfway = memory.final(signal[:first])
        assert_allclose(memory.final(signal[first:], halfway), whole, atol=1e-12)
        assert_allclose(memory.merge(halfway, memory.final(signal[first:]), float(second)), whole, atol=1e-12)


def test_irregular_samples_are_held_exactly_in_every_window(rng):
    memory = MultiscaleMemory(LegT(5, timescale=3.0), longest=100.0, scales=6)
    signal, steps = rng.normal(size=(120, 2)), rng.uniform(0.01, 4.0, size=120)
    states = memory.scan(signal, dt=steps)
    for m, window in enumerate(memory.windows):
        plain = Memory(LegT(5, timescale=float(window))).scan(signal, dt=steps)
        assert_allclose(states[..., m], plain, atol=1e-11)
    assert_allclose(memory.final(signal, dt=steps), states[-1], atol=1e-11)
    assert_allclose(memory.final(signal[:9], dt=steps[:9]), states[8], atol=1e-11)
    state = memory.initial_state(2)
    for sample, step in zip(signal, steps, strict=True):
        state = memory.step(state, sample, dt=float(step))
    assert_allclose(state, states[-1], atol=1e-11)


def test_one_long_step_is_many_short_ones_of_the_same_sample():
    memory = MultiscaleMemory(LegT(5, timescale=3.0), longest=100.0, scales=6)
    state = memory.final(np.array([1.0, -2.0, 3.0]))
    assert_allclose(memory.step(state, 0.7, dt=5.0), memory.final(np.full(5, 0.7), state), atol=1e-12)


def test_in_gaps_time_passes_and_the_last_value_is_held(rng):
    memory = MultiscaleMemory(LegT(5, timescale=3.0), longest=100.0, scales=6)
    signal = rng.normal(size=40)
    mask = rng.random(40) < 0.6
    mask[:2] = False  # a gap at the beginning holds what was seen before
    filled, last = signal.copy(), 0.25
    for t in range(40):
        last = filled[t] = signal[t] if mask[t] else last
    gappy = np.where(mask, signal, np.nan)
    assert_allclose(memory.scan(gappy, mask=mask, held=0.25), memory.scan(filled), atol=1e-14)
    assert_allclose(memory.final(gappy, mask=mask, held=0.25), memory.final(filled), atol=1e-14)


def test_long_signals_are_taken_in_blocks_and_bunches(rng, monkeypatch):
    from hippozoo.zoo.multiscale import bank_step

    signal = rng.normal(size=(3000, 2))
    expected = MultiscaleMemory(LegT(4, timescale=5.0), longest=200.0, scales=6).scan(signal)[-1]
    monkeypatch.setattr(bank_step, "_TABLE_SIZE", 512)
    memory = MultiscaleMemory(LegT(4, timescale=5.0), longest=200.0, scales=6)
    assert_allclose(memory.final(signal), expected, atol=1e-12)


def test_signals_of_many_lengths_leave_few_tables_behind(rng):
    memory = MultiscaleMemory(LegT(4, timescale=5.0), longest=200.0, scales=6)
    signal = rng.normal(size=300)
    for length in range(1, 300, 7):
        assert_allclose(memory.final(signal[:length]), memory.scan(signal[:length])[-1], atol=1e-12)
    assert memory._engine._tables.cache_info().currsize <= 12


def test_questions_take_stacks_of_states_and_of_horizons(rng):
    memory = MultiscaleMemory(LegT(5, timescale=3.0), longest=100.0, scales=20)
    states = memory.scan(rng.normal(size=(9, 2)))
    horizons = np.array([[3.0, 10.0, 30.0], [50.0, 70.0, 100.0]])
    asked = memory.coefficients(states, horizons)
    assert asked.shape == (9, 2, 2, 3, 5)
    assert_allclose(asked[4, 1, 1, 0], memory.coefficients(states[4, 1], 50.0))
    lags = np.linspace(0, 40, 7)
    assert_allclose(
        memory.reconstruct(states, lags, horizon=50.0)[4, 1],
        LegT(5, timescale=50.0).reconstruct(asked[4, 1, 1, 0], lags),
    )
    assert memory.coefficients(states, np.zeros(0)).shape == (9, 2, 0, 5)


def test_following_a_horizon_is_asking_every_state(rng, monkeypatch):
    from hippozoo.zoo.multiscale import memory as module

    monkeypatch.setattr(module, "_HELD_NUMBERS", 500)  # several pieces
    memory = MultiscaleMemory(LegT(4, timescale=3.0), longest=100.0, scales=9)
    signal, start = rng.normal(size=(40, 2)), rng.normal(size=(2, 4, 9))
    mask, steps, horizons = rng.random((40, 2)) < 0.7, rng.uniform(0.5, 2.0, size=40), np.array([5.0, 80.0])
    for options in ({}, {"dt": steps}, {"mask": mask, "held": 0.5}):
        states = memory.scan(signal, start, **options)
        found = memory.follow(signal, horizons, start, **options)
        assert_allclose(found, memory.coefficients(states, horizons), atol=1e-12)
    assert memory.follow(signal[:, 0], 20.0).shape == (40, 4)


@pytest.mark.parametrize("construction", CONSTRUCTIONS)
def test_a_reading_is_the_linear_map_of_the_question(construction, rng):
    memory = MultiscaleMemory(LegT(5, timescale=3.0), longest=100.0, scales=9, construction=construction)
    state = rng.normal(size=(5, 9))
    assert_allclose(np.tensordot(memory.reading(20.0), state, axes=2), memory.coefficients(state, 20.0), atol=1e-12)


def test_without_a_horizon_the_shortest_that_reaches_all_lags_is_asked(rng):
    for system in (LegT(5, timescale=3.0), LegS(5, timescale=3.0)):
        memory = MultiscaleMemory(system, longest=100.0, scales=30)
        state = memory.final(rng.normal(size=200))
        assert_allclose(memory.reconstruct(state, 20.0), memory.reconstruct(state, 20.0, horizon=20.0))
        assert_allclose(memory.reconstruct(state, 1.0), memory.reconstruct(state, 1.0, horizon=3.0))
    # A fading memory reaches beyond its longest timescale.
    assert np.isfinite(memory.reconstruct(state, 250.0))


def test_both_ends_of_the_range_can_be_asked_for(rng):
    memory = MultiscaleMemory(LegT(4, timescale=0.1), longest=0.7, scales=12)
    state = memory.final(rng.normal(size=20))
    for horizon in np.geomspace(0.1, 0.7, 50):  # ends one rounding beyond 0.7 on some machines
        assert np.isfinite(memory.coefficients(state, horizon)).all()


def test_it_compares_pickles_prints_and_is_saved(tmp_path, rng):
    memory = MultiscaleMemory(LegT(4, timescale=10.0), longest=100.0, construction="bank")
    state = memory.final(rng.normal(size=20))
    again = pickle.loads(pickle.dumps(memory))
    assert again == memory
    assert_allclose(again.final(rng.normal(size=5), state).shape, state.shape)
    assert repr(memory) == (
        "MultiscaleMemory(system=LegT(order=4, timescale=10.0), longest=100.0, scales=6, construction='bank', "
        "dt=1.0, dtype='float64')"
    )
    checkpoint.save(tmp_path / "memory.safetensors", memory)
    assert checkpoint.load(tmp_path / "memory.safetensors") == memory
    checkpoint.save_state(tmp_path / "state.safetensors", state, memory)
    assert_allclose(checkpoint.load_state(tmp_path / "state.safetensors", memory), state, rtol=0)
