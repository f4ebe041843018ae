import numpy as np
import pytest

from hippozoo.memory.growing import GrowingMemory, GrowingState

MEMORY = GrowingMemory(3)
STATE = MEMORY.final(np.array([1.0, 2.0]))


@pytest.mark.parametrize(("order", "error"), [(0, ValueError), (-1, ValueError), (2.5, TypeError), (True, TypeError)])
def test_a_memory_has_at_least_one_coefficient(order, error):
    with pytest.raises(error, match="least one coefficient"):
        GrowingMemory(order)


@pytest.mark.parametrize("channels", [0, -1, 1.5])
def test_there_is_at_least_one_channel(channels):
    with pytest.raises((ValueError, TypeError), match="channels="):
        MEMORY.initial_state(channels)


@pytest.mark.parametrize("dt", [0.0, -1.0, np.nan, np.inf])
def test_time_only_runs_forwards(dt):
    with pytest.raises(ValueError, match="dt"):
        MEMORY.step(STATE, 1.0, dt)
    with pytest.raises(ValueError, match="dt"):
        MEMORY.final(np.ones(3), STATE, dt)
    with pytest.raises(ValueError, match="dt"):
        MEMORY.scan(np.ones(3), STATE, np.array([1.0, dt, 1.0]))


def test_time_ends_with_the_floats():
    with pytest.raises(ValueError, match="more than a float"):
        MEMORY.final(np.ones(3), dt=1e308)


@pytest.mark.parametrize("sample", [np.nan, np.inf, "a", None, 1j])
def test_a_sample_is_a_finite_number(sample):
    with pytest.raises((ValueError, TypeError), match="sample"):
        MEMORY.step(STATE, sample)


def test_a_missing_sample_of_a_step_is_the_last_value_again():
    with pytest.raises(ValueError, match=r"last value again"):
        MEMORY.step(STATE, np.nan)


@pytest.mark.parametrize("index", [1.0, True, None, [0, 1], (0, 1)])
def test_a_history_is_asked_for_one_state_or_a_slice(index):
    history = MEMORY.scan(np.ones(5))
    with pytest.raises(TypeError, match=r"one whole number"):
        history[index]


def test_a_missing_sample_is_told_by_a_mask():
    with pytest.raises(ValueError, match=r"signal\[1\] is nan"):
        MEMORY.final(np.array([1.0, np.nan]))


@pytest.mark.parametrize("signal", [np.ones(0), np.ones((0, 2)), np.ones((3, 0)), np.ones((2, 2, 2)), np.array(1.0)])
def test_a_signal_has_samples_and_at_most_one_axis_of_channels(signal):
    for mode in (MEMORY.final, MEMORY.scan, MEMORY.verify):
        with pytest.raises(ValueError, match="signal has shape"):
            mode(signal)


def test_there_is_one_step_per_sample():
    with pytest.raises(ValueError, match=r"signal has 3 samples"):
        MEMORY.scan(np.ones(3), dt=np.ones(2))


def test_a_state_fits_the_signal_and_the_memory():
    with pytest.raises(ValueError, match=r"shape \(3,\), expected \(2, 3\)"):
        MEMORY.final(np.ones((4, 2)), STATE)
    with pytest.raises(ValueError, match=r"shape \(3,\), expected \(2, 3\)"):
        MEMORY.step(STATE, np.ones(2))
    with pytest.raises(ValueError, match=r"shape \(3,\), expected \(5,\)"):
        GrowingMemory(5).reconstruct(STATE, 0.0)
    with pytest.raises(ValueError, match=r"expected \(3,\)"):
        MEMORY.merge(STATE, MEMORY.initial_state(channels=2))
    with pytest.raises(ValueError, match="sample has shape"):
        MEMORY.step(STATE, np.ones((2, 2)))


@pytest.mark.parametrize("state", [np.zeros(3), None, 0.0])
def test_coefficients_without_a_clock_are_no_state(state):
    with pytest.raises(TypeError, match=r"GrowingState"):
        MEMORY.step(state, 1.0)
    with pytest.raises(TypeError, match="right="):
        MEMORY.merge(STATE, state)


@pytest.mark.parametrize(
    ("coefficients", "elapsed", "message"),
    [
        (np.ones(3), -1.0, "elapsed=-1.0 is no duration; pass one number >= 0"),
        (np.ones(3), np.nan, "elapsed"),
        (np.ones(3), np.ones(2), "elapsed"),
        (np.ones(3), 0.0, "elapsed=0, but there are coefficients"),
        (np.array([1.0, np.nan]), 1.0, r"coefficients\[1\] is nan"),
        (np.ones((2, 2, 2)), 1.0, "coefficients have shape"),
        (np.ones(0), 1.0, "coefficients have shape"),
        (np.array(1.0), 1.0, "coefficients have shape"),
    ],
)
def test_a_state_is_coefficients_and_a_duration(coefficients, elapsed, message):
    with pytest.raises(ValueError, match=message):
        GrowingState(coefficients, elapsed)


def test_one_looks_back_no_further_than_the_beginning():
    with pytest.raises(ValueError, match=r"lag=2.1 is before"):
        MEMORY.reconstruct(STATE, 2.1)
    with pytest.raises(ValueError, match=r"lag=-1.0"):
        MEMORY.reconstruct(STATE, np.array([0.0, -1.0]))
    with pytest.raises(ValueError, match="seen nothing yet"):
        MEMORY.reconstruct(MEMORY.initial_state(), 0.0)


def test_a_refused_sample_leaves_the_state_as_it_was():
    before = STATE.coefficients.copy()
    with pytest.raises(ValueError, match="sample"):
        MEMORY.step(STATE, np.nan)
    assert (STATE.coefficients == before).all()
    assert STATE.elapsed == 2.0
