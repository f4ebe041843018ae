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


def test_a_value_may_come_at_the_time_that_was_advanced_to(rng):
    memory = Memory(LegS(9, 3.0))
    times, signal = np.cumsum(rng.uniform(0.1, 2.0, size=12)), rng.normal(size=12)
    plain, looked_at = Stream(memory), Stream(memory)
    for value, time in zip(signal, times, strict=True):
        plain.push(value, time=time)
        looked_at.advance(time)  # before the first value too
        looked_at.push(value, time=time)
        assert_allclose(looked_at.state, plain.state, atol=1e-14)
        assert (looked_at.time, looked_at.held) == (time, value)


def test_masked_values_are_missing(rng):
    memory = Memory(LegT(12, 20.0))
    signal = np.ma.masked_array(rng.normal(size=(40, 2)), rng.random((40, 2)) < 0.4, fill_value=1e20)
    stream, single = Stream(memory, channels=2), Stream(memory)
    for value in signal:
        stream.push(value)
        single.push(value[0])  # np.ma.masked where it is missing
    wanted = memory.final(signal.data, mask=~signal.mask)
    assert_allclose(stream.state, wanted, atol=1e-13)
    assert_allclose(single.state, wanted[0], atol=1e-13)


@pytest.mark.parametrize(("dtype", "huge"), [("float32", 1e39), ("float32", 3e38), ("float64", 1e308)])
def test_a_value_too_large_for_the_memory_is_refused_before_it_does_harm(dtype, huge):
    stream, timed = (Stream(Memory(LegT(64, 10.0), dtype=dtype)) for _ in range(2))
    stream.push(1.0)
    timed.push(1.0, time=0.0)
    for push in (stream.push, lambda value: timed.push(value, time=1.0)):
        with pytest.raises(ValueError, match=f"memory of {dtype}"):
            push(huge)
        push(2.0)
    known = timed.state_dict()
    with pytest.raises(ValueError, match=r"held="):
        timed.load_state_dict(known | {"held": np.array(huge)})
    for time in np.arange(2.0, 30.0):
        timed.push((-1) ** time * 2e-7 * huge, time=time)  # what is accepted can be gone on from
    assert np.isfinite(timed.state).all()


def test_nobody_reaches_into_a_stream():
    stream = Stream(Memory(LegT(4, 2.0)))
    stream.push(1.0)
    stream.state[:] = 7.0
    stream.held[...] = 7.0
    assert np.abs(stream.state).max() < 2
    assert stream.held == 1.0


def test_a_buffer_that_is_filled_again_leaves_what_was_pushed_as_it_was(rng):
    memory, values, buffer = Memory(LegT(6, 5.0)), rng.normal(size=(8, 2)), np.empty(2)
    reused, copied = Stream(memory, channels=2), Stream(memory, channels=2)
    for time, value in enumerate(values):
        buffer[:] = value
        reused.push(buffer, time=float(time))
        buffer[:] = np.nan  # as a driver does that reads its next sample
        copied.push(value.copy(), time=float(time))
    for stream in (reused, copied):
        stream.advance(9.0)
    assert np.array_equal(reused.held, values[-1])
    assert np.array_equal(reused.state, copied.state)


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


def test_a_checkpoint_knows_whether_a_value_has_come_at_the_present(tmp_path):
    stream = Stream(Memory(LegT(6, 5.0)))
    stream.push(1.0, time=0.0)
    stream.advance(2.0)
    checkpoint.save(tmp_path / "stream.safetensors", stream)
    checkpoint.load(tmp_path / "stream.safetensors").push(3.0, time=2.0)
    known = stream.state_dict()
    del known["advanced"]  # as streams were saved before they knew
    old = Stream(Memory(LegT(6, 5.0)))
    old.load_state_dict(known)
    with pytest.raises(ValueError, match="not after 2"):
        old.push(3.0, time=2.0)
    old.push(3.0, time=2.5)


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
