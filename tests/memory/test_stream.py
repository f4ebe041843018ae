"""Values pushed one by one are remembered like a signal given whole."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hippozoo import checkpoint
from hippozoo.memory import Memory, Stream
from hippozoo.systems import LegS, LegT
from hippozoo.zoo.multiscale import MultiscaleMemory


@pytest.mark.parametrize("channels", [None, 3])
def test_pushed_values_are_a_scan(channels, rng):
    memory = Memory(LegT(12, 20.0), dt=0.5)
    signal = rng.normal(size=(40,) if channels is None else (40, channels))
    stream = Stream(memory, channels)
    for t, state in enumerate(memory.scan(signal)):
        stream.push(signal[t])
        assert_allclose(stream.state, state, atol=1e-13)
    assert stream.time == 20.0


def test_missing_values_hold_the_last_one(rng):
    memory = Memory(LegT(12, 20.0))
    signal = rng.normal(size=(40, 2))
    signal[rng.random(signal.shape) < 0.4] = np.nan
    stream = Stream(memory, channels=2)
    for value in signal:
        stream.push(value)
    assert_allclose(stream.state, memory.final(signal, mask=~np.isnan(signal)), atol=1e-13)
    stream.push(None)
    assert_allclose(stream.state, memory.step(memory.final(signal, mask=~np.isnan(signal)), stream.held), atol=1e-13)


def test_a_timed_value_holds_until_the_next(rng):
    memory = Memory(LegS(9, 3.0))
    times = np.cumsum(rng.uniform(0.1, 2.0, size=30)) + 100.0
    signal = rng.normal(size=30)
    stream = Stream(memory)
    for value, time in zip(signal, times, strict=True):
        stream.push(value, time=time)
    assert_allclose(stream.state, memory.final(signal[:-1], dt=np.diff(times)), atol=1e-12)
    stream.advance(times[-1] + 0.25)
    durations = np.append(np.diff(times), 0.25)
    assert_allclose(stream.state, memory.final(signal, dt=durations), atol=1e-12)
    assert stream.time == times[-1] + 0.25


def test_nobody_reaches_into_a_stream():
    stream = Stream(Memory(LegT(4, 2.0)))
    stream.push(1.0)
    stream.state[:] = 7.0
    stream.held[...] = 7.0
    assert np.abs(stream.state).max() < 2
    assert stream.held == 1.0


@pytest.mark.parametrize("timed", [True, False])
def test_a_stream_goes_on_from_its_checkpoint(timed, rng, tmp_path):
    times = np.cumsum(rng.uniform(0.1, 2.0, size=40))
    values = rng.normal(size=(40, 2))
    stream = Stream(Memory(LegT(6, 5.0), dt=0.5, dtype="float32"), channels=2)
    for value, time in zip(values[:20], times[:20], strict=True):
        stream.push(value, time=time if timed else None)
    checkpoint.save(tmp_path / "stream.safetensors", stream)
    again = checkpoint.load(tmp_path / "stream.safetensors", expected=Stream)
    for value, time in zip(values[20:], times[20:], strict=True):
        stream.push(value, time=time if timed else None)
        again.push(value, time=time if timed else None)
    assert np.array_equal(again.state, stream.state)
    assert (again.time, again.memory) == (stream.time, stream.memory)
    with pytest.raises(ValueError, match="begun with"):
        again.push(values[0], time=None if timed else 1e9)


def test_a_stream_serves_any_memory_with_steps(rng):
    memory = MultiscaleMemory(LegT(4, 3.0), longest=30.0, scales=12, dt=0.5)
    times, values = np.cumsum(rng.uniform(0.1, 2.0, size=20)), rng.normal(size=20)
    regular, timed = Stream(memory), Stream(memory)
    for value, time in zip(values, times, strict=True):
        regular.push(value)
        timed.push(value, time=time)
    assert_allclose(regular.state, memory.final(values), atol=1e-12)
    assert_allclose(timed.state, memory.final(values[:-1], dt=np.diff(times)), atol=1e-12)
    assert_allclose(timed.reconstruct(2.0), memory.reconstruct(timed.state, 2.0))
