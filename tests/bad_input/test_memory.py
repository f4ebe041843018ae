"""Wrong input to a memory: a clear sentence, and nothing has changed."""

import numpy as np
import pytest

from hippozoo.memory import Memory, Stream
from hippozoo.systems import LegT

MEMORY = Memory(LegT(4, 10.0))
SIGNAL = np.ones(6)


def with_nan():
    signal = np.ones(6)
    signal[3] = np.nan
    return signal


@pytest.mark.parametrize(
    ("kind", "call", "message"),
    [
        (TypeError, lambda: Memory("legt"), "is not a time-invariant system; pass one of hippozoo.systems"),
        (TypeError, lambda: Memory(LegT), "is not a time-invariant system"),
        (
            ValueError,
            lambda: Memory(LegT(4, timescale=1.0), dt=0.0),
            r"dt=0.0: time only runs forwards; pass a finite dt > 0",
        ),
        (ValueError, lambda: Memory(LegT(4, timescale=1.0), dt=-1), r"dt=-1: time only runs forwards"),
        (ValueError, lambda: Memory(LegT(4, timescale=1.0), dt=float("nan")), r"dt=nan: .* pass a finite dt > 0"),
        (TypeError, lambda: Memory(LegT(4, timescale=1.0), dt="1"), r"dt='1': .* pass one real number"),
        (ValueError, lambda: Memory(LegT(4, timescale=1.0), method="euler"), r"method='euler' is unknown; pass 'zoh'"),
        (
            ValueError,
            lambda: Memory(LegT(4, timescale=1.0), dtype="float16"),
            r"dtype='float16': .*'float64' or 'float32'",
        ),
        (ValueError, lambda: Memory(LegT(4, timescale=1.0), dtype="nonsense"), r"dtype='nonsense'"),
        (ValueError, lambda: MEMORY.initial_state(0), r"channels=0; pass channels >= 1"),
        (TypeError, lambda: MEMORY.initial_state(2.5), r"channels=2.5; pass a whole number"),
        (ValueError, lambda: MEMORY.scan(with_nan()), r"signal\[3\] is nan; all values must be finite.*mask="),
        (ValueError, lambda: MEMORY.final([1.0, np.inf]), r"signal\[1\] is inf"),
        (
            ValueError,
            lambda: MEMORY.scan(np.ones((2, 3, 4))),
            r"shape \(2, 3, 4\); pass \(time,\) or \(time, channels\)",
        ),
        (ValueError, lambda: MEMORY.scan(np.ones(0)), r"holds no sample; pass at least one"),
        (ValueError, lambda: MEMORY.scan(np.ones((5, 0))), r"holds no sample"),
        (ValueError, lambda: MEMORY.scan(3.0), r"shape \(\); pass \(time,\)"),
        (
            TypeError,
            lambda: MEMORY.scan(np.array([1, "a"], dtype=object)),
            r"signal has dtype object; pass real numbers",
        ),
        (TypeError, lambda: MEMORY.scan(["a", "b"]), r"signal has dtype <U1; pass real numbers"),
        (TypeError, lambda: MEMORY.scan(np.ones(3) * 1j), r"signal has dtype complex128"),
        (ValueError, lambda: MEMORY.scan([[1.0], [1.0, 2.0]]), r"signal is not a rectangular array"),
        (ValueError, lambda: Memory(LegT(4, timescale=1.0), dtype="float32").scan([1e300]), r"too large for float32"),
        (ValueError, lambda: MEMORY.scan(SIGNAL, np.zeros(5)), r"state has shape \(5,\), expected \(4,\)"),
        (
            ValueError,
            lambda: MEMORY.scan(np.ones((6, 2)), np.zeros(4)),
            r"expected \(2, 4\): 4 coefficients per channel",
        ),
        (ValueError, lambda: MEMORY.scan(SIGNAL, np.full(4, np.nan)), r"state\[0\] is nan"),
        (
            ValueError,
            lambda: MEMORY.scan(SIGNAL, dt=np.array([1, 1, 0, 1, 1, 1.0])),
            r"dt=0.0: time only runs forwards",
        ),
        (ValueError, lambda: MEMORY.final(SIGNAL, dt=np.ones(5)), r"dt has shape \(5,\), but the signal has 6 samples"),
        (ValueError, lambda: MEMORY.final(SIGNAL, dt=-0.5), r"dt=-0.5: time only runs forwards"),
        (TypeError, lambda: MEMORY.scan(SIGNAL, mask=np.ones(6)), r"mask has dtype float64; pass booleans"),
        (
            ValueError,
            lambda: MEMORY.scan(SIGNAL, mask=np.ones(5, bool)),
            r"mask has shape \(5,\), but the signal \(6,\)",
        ),
        (
            ValueError,
            lambda: MEMORY.scan(SIGNAL, mask=np.ones(6, bool), held=np.zeros(2)),
            r"held has shape \(2,\); pass one number",
        ),
        (ValueError, lambda: MEMORY.step(np.zeros(4), np.nan), r"sample is nan.* pass the last value again.*Stream"),
        (ValueError, lambda: MEMORY.step(np.zeros(4), np.ones((2, 2))), r"sample has shape \(2, 2\)"),
        (ValueError, lambda: MEMORY.step(np.zeros(4), np.ones(2)), r"expected \(2, 4\)"),
        (TypeError, lambda: MEMORY.step(np.zeros(4), None), r"sample has dtype object"),
        (ValueError, lambda: MEMORY.step(np.zeros(4), 1.0, dt=0), r"dt=0: time only runs forwards"),
        (ValueError, lambda: MEMORY.merge(np.zeros(4), np.zeros(5), 1.0), r"right has shape \(5,\), expected \(4,\)"),
        (ValueError, lambda: MEMORY.merge(np.zeros(4), np.zeros(4), 0.0), r"elapsed=0.0"),
        (
            ValueError,
            lambda: Memory(LegT(4, timescale=1.0), method="bilinear").merge(np.zeros(4), np.zeros(4), 1.5),
            r"elapsed=1.5 is not a whole number of steps dt=1.0",
        ),
        (ValueError, lambda: MEMORY.readout(SIGNAL, np.ones(5)), r"weights has shape \(5,\), but the state has 4"),
        (
            ValueError,
            lambda: MEMORY.reconstruct(np.zeros(4), 11.0),
            r"lag=11.0 is outside the remembered window 0 to 10",
        ),
        (ValueError, lambda: MEMORY.reconstruct(np.zeros(4), -1.0), r"lag=-1.0 is in the future"),
        (ValueError, lambda: MEMORY.reconstruct(np.zeros(3), 1.0), r"state has shape \(3,\)"),
        (
            ValueError,
            lambda: MEMORY.final(np.ma.masked_array([1.0, 999.0], [False, True])),
            r"signal\[1\] is masked.*mask=~signal.mask",
        ),
        (ValueError, lambda: MEMORY.step(np.zeros(4), np.ma.masked), r"sample is masked"),
        (ValueError, lambda: MEMORY.scan(3.0, mask=np.array(True)), r"signal has shape \(\); pass \(time,\)"),
        (TypeError, lambda: Stream(LegT(4, timescale=1.0)), r"is not a Memory"),
        (ValueError, lambda: Stream(MEMORY, channels=0), r"channels=0"),
    ],
)
def test_the_message_says_what_was_given_what_is_allowed_and_what_to_do(kind, call, message):
    with pytest.raises(kind, match=message):
        call()


@pytest.mark.parametrize(
    ("kind", "push", "message"),
    [
        (ValueError, lambda s: s.push(1.0, time=5.0), r"time=5.0 is not after 5.0"),
        (ValueError, lambda s: s.push(1.0, time=4.0), r"time only runs forwards"),
        (ValueError, lambda s: s.push(1.0, time=float("nan")), r"time is nan"),
        (ValueError, lambda s: s.push(1.0, time=[6.0]), r"time=\[6.0\]; pass one finite number"),
        (ValueError, lambda s: s.push(1.0), r"begun with time stamps"),
        (ValueError, lambda s: s.push(np.inf, time=6.0), r"is infinite"),
        (TypeError, lambda s: s.push("1.0", time=6.0), r"value='1.0' is not a number"),
        (ValueError, lambda s: s.push([1.0, 2.0], time=6.0), r"value has shape \(2,\), but this stream takes single"),
        (ValueError, lambda s: s.advance(4.5), r"is not after 5.0"),
    ],
)
def test_a_refused_value_leaves_the_stream_as_it_was(kind, push, message):
    stream = Stream(MEMORY)
    stream.push(1.0, time=3.0)
    stream.push(-1.0, time=5.0)
    before = stream.state, stream.time, stream.held
    with pytest.raises(kind, match=message):
        push(stream)
    assert np.array_equal(stream.state, before[0])
    assert (stream.time, stream.held) == before[1:]


@pytest.mark.parametrize("time", [4.0, 5.0])
def test_a_stream_does_not_go_behind_the_time_it_has_advanced_to(time):
    stream = Stream(MEMORY)
    stream.push(1.0, time=3.0)
    stream.advance(5.0)
    call = stream.advance if time == 5.0 else lambda time: stream.push(2.0, time=time)
    with pytest.raises(ValueError, match=f"time={time}"):
        call(time)
    stream.push(2.0, time=5.0)
    with pytest.raises(ValueError, match=r"one per time"):
        stream.push(2.0, time=5.0)


def test_a_stream_begun_without_time_stamps_refuses_them():
    stream = Stream(MEMORY)
    stream.push(1.0)
    with pytest.raises(ValueError, match="without time stamps"):
        stream.push(1.0, time=2.0)
    assert stream.time == 1.0


@pytest.mark.parametrize("value", [2**53 + 1, -(2**53) - 1, 2**63 + 1])
def test_whole_numbers_are_not_rounded_without_a_word(value):
    memory = Memory(LegT(3, timescale=1.0))
    message = rf"{value}, which float64 can only hold rounded; subtract a constant first"
    with pytest.raises(ValueError, match=message):
        memory.scan(np.array([value, value]))
    with pytest.raises(ValueError, match=message):
        memory.step(memory.initial_state(), value)
    stream = Stream(memory)
    with pytest.raises(ValueError, match=message):
        stream.push(value)
    assert stream.time == 0.0
    stream.push(2**60)
    memory.scan(np.array([0, 2**60, -(2**62)]))
    memory.scan(np.array([0, value], float))


def test_one_step_takes_a_list_for_a_state_and_no_text_for_a_time():
    state = MEMORY.final(SIGNAL)
    assert np.array_equal(MEMORY.step(state.tolist(), 0.3), MEMORY.step(state, 0.3))
    with pytest.raises(TypeError, match="dt="):
        MEMORY.step(state, 0.3, "1")
