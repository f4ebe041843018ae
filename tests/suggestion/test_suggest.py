"""Suggestions: right where the answer is known, and their promise is kept on data that they have not seen."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from hippozoo import FouT, LegS, LegT, Memory, suggest
from hippozoo.apps.tour.signals import pulse_wave
from hippozoo.suggestion.measure import slowest_period

WAVE = np.sin(2 * np.pi * np.arange(3000) / 50)


def relative_error(system, signal, horizon, dt=1.0):
    """By definition: run to a moment, ask for every sample within the horizon; only the memory is the library's."""
    count, errors = round(horizon / dt), []
    centred = signal - signal.mean()
    memory = Memory(system, dt=dt)
    for now in range(2 * count, len(signal), count // 3):
        past = memory.reconstruct(memory.final(centred[:now]), (np.arange(count) + 0.5) * dt)
        errors.append(past - centred[:now][::-1][:count])
    return np.sqrt(np.mean(np.square(errors))) / signal.std()


def test_a_parabola_needs_three_legendre_coefficients():
    time = np.linspace(-1, 1, 2000)
    found = suggest(time**2 + 0.3 * time, horizon=200.0, accuracy=0.01, systems=[LegT])
    assert found.met
    assert found.system.order <= 3


def test_noise_cannot_be_kept_in_fewer_numbers_than_samples(rng):
    noise = rng.normal(size=3000)
    found = suggest(noise, horizon=100.0, budget=32)
    assert found.system.order <= 32
    # Of 100 independent numbers, 32 keep 32 % of the variance at most.
    assert np.sqrt(1 - 0.32) * 0.97 < found.error < 1.0
    unmet = suggest(noise, horizon=300.0, accuracy=0.05, systems=[LegT])
    assert not unmet.met
    assert "more than the 0.05 that was asked for" in unmet.report()


def test_waves_are_resolved_by_about_three_numbers_each():
    for waves in (2, 4, 8):
        found = suggest(WAVE, horizon=50.0 * waves, accuracy=0.1, systems=[LegT])
        assert np.pi * waves * 0.8 < found.system.order < np.pi * waves * 1.3 + 6


def test_the_order_is_the_smallest_that_does():
    found = suggest(WAVE, horizon=150.0, accuracy=0.05, systems=[LegT])
    smaller = LegT(found.system.order - 1, found.system.timescale)
    assert found.error <= 0.05 < found.question.error(smaller)


@pytest.mark.parametrize("accuracy", [0.3, 0.1])
def test_the_promise_is_kept_on_fresh_data(accuracy):
    found = suggest(pulse_wave(40.0, seed=1), horizon=2.0, accuracy=accuracy, dt=0.01, systems=[LegT])
    measured = relative_error(found.system, pulse_wave(40.0, seed=2), 2.0, 0.01)
    assert found.met
    assert measured < 1.15 * accuracy
    np.testing.assert_allclose(
        found.error, relative_error(found.system, pulse_wave(40.0, seed=1), 2.0, 0.01), rtol=0.15
    )


def test_a_fading_interest_is_served_best_where_it_is_greatest(rng):
    signal = np.convolve(rng.normal(size=6000), np.ones(8) / 8, "same")
    found = suggest(signal, horizon=60.0, budget=24, care="recent", systems=[LegS])
    errors, lags = found.question.errors(found.system), found.question.lags
    assert errors[lags < 20].mean() < errors[(lags > 60) & (lags < 100)].mean() / 2
    # A window of the horizon alone would know nothing of the 37 % that lie before it.
    assert found.error < found.question.error(LegT(24, 60.0))


def test_more_numbers_do_no_harm():
    errors = [suggest(WAVE, horizon=300.0, budget=budget, systems=[LegT]).error for budget in (4, 8, 16, 32)]
    assert errors == sorted(errors, reverse=True)


def test_without_a_horizon_one_turn_of_the_slowest_wave_is_taken():
    assert slowest_period(WAVE[:, None], 0.5) == pytest.approx(25.0, rel=0.05)
    assert suggest(WAVE, dt=0.5, accuracy=0.2, systems=[LegT]).question.horizon == pytest.approx(25.0, rel=0.05)


def test_channels_count_alike_whatever_their_unit():
    both = np.column_stack([WAVE, 1000 * np.roll(WAVE, 9)])
    one, two = (suggest(given, horizon=100.0, accuracy=0.1, systems=[LegT]) for given in (WAVE, both))
    assert abs(one.system.order - two.system.order) <= 1


def test_missing_values_hold_the_last_one(rng):
    holes = WAVE.copy()
    holes[rng.choice(3000, 50, replace=False)] = np.nan
    assert suggest(holes, horizon=100.0, accuracy=0.2, systems=[LegT]).met


def test_one_memory_over_many_horizons_is_built_from_it():
    memory = suggest(WAVE, horizon=50.0, accuracy=0.1, systems=[LegT]).over_horizons(400.0)
    assert (memory.shortest, memory.longest) == (50.0, 400.0)


def test_the_picture_shows_what_was_tried():
    found = suggest(WAVE, horizon=100.0, accuracy=0.05, systems=[LegT, FouT])
    left, middle, right = found.plot(Figure().subplots(1, 3))
    lines = {line.get_label(): line for line in left.lines}
    assert {"LegT", "FouT", "suggested", "allowed"} == set(lines)
    assert lines["suggested"].get_xdata() == [found.system.order]
    np.testing.assert_allclose(middle.lines[0].get_ydata() ** 2, found.question.errors(found.system))
    assert right.lines[0].get_ydata()[-1] == pytest.approx(1.0)
    assert all(ax.get_xlabel() and ax.get_ylabel() for ax in (left, middle, right))
