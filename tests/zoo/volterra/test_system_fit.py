"""Identification that chooses by itself: loops that cannot run away, and forms found on systems that have them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hippozoo.memory import Memory
from hippozoo.systems import LegS, LegT
from hippozoo.zoo.volterra import BoundedLoop, FeedbackLoop, FeedbackWeights, fit_system
from hippozoo.zoo.volterra._system_forms import _Looped
from hippozoo.zoo.volterra._system_search import excess
from hippozoo.zoo.volterra.integrator import Integrator
from hippozoo_studies.data.plants import converter, position_drive
from short_series import small_tank

CUBE = ((0, 1), (1, 0), (2, 0), (3, 0))


def held(rng, levels, every):
    """Steps of random height."""
    return np.repeat(rng.normal(size=levels), every)


def overflowing_tank(n, seed):
    """Flow in, flow out by a square root, and an edge: a tank whose level is measured."""
    rng = np.random.default_rng(seed)
    u = 1.2 + 0.6 * held(rng, n // 16, 16)
    level, y = 1.0, np.empty(n)
    for t in range(n):
        y[t] = level
        level = min(max(level + 0.15 * (u[t] - np.sqrt(max(level, 0.0))), 0.0), 2.2)
    return u, y


def test_without_a_bound_it_is_the_feedback_loop(rng):
    memory = Memory(LegT(order=3, timescale=3.0))
    weights = FeedbackWeights(0.1, rng.normal(size=3), 0.05 * rng.normal(size=(3, 3)))
    signal = np.append(np.zeros(200), rng.normal(size=100))  # both begin with nothing in their memories
    plain = FeedbackLoop(memory, degree=3).simulate(weights, signal)
    loop = BoundedLoop(memory, CUBE, -np.inf, np.inf)
    parameters = np.concatenate([[weights.constant], weights.drive, weights.feedback.ravel()])
    assert_allclose(loop.simulate(parameters, signal), plain, atol=1e-9)


@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_no_loop_runs_away_whatever_its_parameters_and_input(rng, scale):
    loop = BoundedLoop(Memory(LegT(order=2, timescale=2.0)), (*CUBE, (1, 1)), -2.0, 2.0)
    parameters = 3 * rng.normal(size=loop.n_parameters)
    outputs = loop.simulate(parameters, scale * rng.normal(size=2_000))
    # Each memory holds at most the largest product that is fed to it, times the sum of its responses.
    assert np.isfinite(outputs).all()
    assert np.abs(outputs).max() < 1e4 * scale


def test_slopes_are_those_of_the_simulated_output(rng):
    loop = BoundedLoop(Memory(LegS(order=2, timescale=3.0)), (*CUBE, (0, 2), (1, 1)), -1.5, 1.5)
    signal, target = rng.normal(size=80), rng.normal(size=80)
    parameters = 0.2 * rng.normal(size=loop.n_parameters)
    slopes = loop._slopes(parameters, signal, target, 5)
    for place in range(loop.n_parameters):
        step = np.zeros(loop.n_parameters)
        step[place] = 1e-6
        ahead, behind = (loop.simulate(parameters + sign * step, signal, target[:5])[5:] for sign in (1, -1))
        assert_allclose(slopes[:, place], (ahead - behind) / 2e-6, atol=1e-5)


def test_a_constant_past_is_a_state_of_rest():
    loop = BoundedLoop(Memory(LegS(order=2, timescale=3.0)), ((0, 1), (1, 0)), -9.0, 9.0)
    parameters = np.array([0.0, 0.5, 0.0, 0.5, 0.0])  # y = 0.5 u + 0.5 y before, both smoothed: rests at y = u
    assert_allclose(loop.simulate(parameters, np.full(30, 2.0), known=np.full(4, 2.0)), 2.0, atol=1e-9)


def test_a_tank_is_found_to_be_a_loop_and_its_edge_is_kept():
    u, y = overflowing_tank(480, 0)
    new_u, new_y = overflowing_tank(480, 1)
    found = fit_system(u, y, blocks=2, forms=("linear", "loop"))
    simulated = found.simulate(new_u, known=new_y[:10])
    assert "loop" in found.form
    assert np.sqrt(np.mean((simulated - new_y)[10:] ** 2)) < 0.1 * new_y.std()
    assert simulated[10:].max() <= y.max() + 1e-9
    forms = {one.form for one in found.tried}
    assert {"linear readout", "linear loop", "loop of degree 3"} <= forms
    assert found.tried[0].error == pytest.approx(found.error)
    linear = min(one.error for one in found.tried if one.form == "linear loop")
    assert found.error < linear
    blocks = found.block_errors
    assert np.sqrt(np.mean(blocks**2)) == pytest.approx(found.error, rel=0.02)  # blocks are of nearly equal length
    assert f"({blocks.min():.4g} to {blocks.max():.4g} in 2 blocks)" in found.summary()
    # Ten times the input it was fitted to: it stays where outputs have been.
    assert np.abs(found.simulate(10 * new_u)).max() < 10 * np.abs(y).max()


def test_several_records_are_one_experiment():
    rng = np.random.default_rng(3)
    parts = [rng.normal(size=length) for length in (150, 240)]

    def system(u):
        return np.convolve(u, [0.5, 0.3, -0.2])[: len(u)]

    found = fit_system(parts, [system(u) for u in parts], blocks=2, forms=["linear"])
    new = rng.normal(size=200)
    assert found.form == "linear readout"
    assert np.std((found.simulate(new) - system(new))[10:]) < 0.02


def test_a_bent_signal_is_found_to_be_a_cascade(rng):
    signal = rng.normal(size=1200)
    bent = np.tanh(1.5 * np.convolve(signal, 0.6 * 0.7 ** np.arange(20))[:1200])
    target = np.convolve(bent, 0.8 ** np.arange(30))[:1200]
    found = fit_system(signal[:900], target[:900], blocks=2, forms=("linear", "cascade"))
    assert found.form == "cascade"
    error = np.std((found.simulate(signal[900:], target[900:910]) - target[900:])[60:])
    assert error < 0.05 * target.std()


@pytest.mark.parametrize(
    ("signal", "target", "words"),
    [
        (np.zeros(500), np.arange(500.0), "signal does not vary"),
        (np.arange(500.0), np.ones(500), "target does not vary"),
        (np.arange(500.0), np.arange(400.0), "signal has 500 samples and target 400"),
        (np.arange(50.0), np.arange(50.0), "50 samples are too few"),
        ([np.arange(500.0)], [np.arange(500.0)] * 2, "signal has 1 records and target 2"),
        (np.append(np.nan, np.arange(499.0)), np.arange(500.0), "signal"),
    ],
)
def test_records_that_say_nothing_are_refused(signal, target, words):
    with pytest.raises(ValueError, match=words):
        fit_system(signal, target)


@pytest.mark.parametrize(  # the power of two is a scale that changes no digit
    ("form", "power"),
    [("linear", 900), ("linear", -900), ("polynomial", 900), ("polynomial", -900), ("cascade", 900), ("loop", -900)],
)
def test_the_unit_of_a_record_changes_nothing_however_large_or_small(form, power):
    forms = (form,)
    u, y = small_tank()
    plain = fit_system(u, y, blocks=2, forms=forms)
    scaled = fit_system(np.ldexp(u, power), np.ldexp(y, power), blocks=2, forms=forms)
    assert scaled.form == plain.form
    assert np.isfinite(scaled.error)
    assert scaled.error == np.ldexp(plain.error, power)
    assert_array_equal(scaled.block_errors, np.ldexp(plain.block_errors, power))
    simulated = scaled.simulate(np.ldexp(u, power), np.ldexp(y[:10], power))
    assert_array_equal(simulated, np.ldexp(plain.simulate(u, y[:10]), power))


@pytest.mark.parametrize(
    ("scale", "words"),
    [(1e300, r"signal reaches 2.*e\+300.*divide it"), (1e-300, r"signal reaches 2.*e-300.*multiply it")],
)
def test_numbers_at_the_ends_of_the_range_of_floats_are_refused(scale, words):
    u, y = small_tank()
    with pytest.raises(ValueError, match=words):
        fit_system(u * scale, y * scale, blocks=2, forms=("linear",))


def test_many_short_records_are_judged_by_whole_ones():
    """Their last fifths are shorter than what begins a simulation."""
    rng = np.random.default_rng(1)
    signals = [rng.normal(size=45) for _ in range(12)]
    targets = [np.convolve(u, [0.5, 0.3])[:45] for u in signals]
    found = fit_system(signals, targets, blocks=4, forms=("linear",), most_rows=450)
    assert 0 < found.error < 0.1


def test_an_input_that_says_nothing_is_named():
    _, y = small_tank()
    with pytest.warns(RuntimeWarning, match=r"form is better"):
        found = fit_system(np.eye(240)[5], y, blocks=2, forms=("linear",))
    assert "no form is better than the mean of the output" in found.summary()
    rng = np.random.default_rng(2)
    found = fit_system(rng.normal(size=240), rng.normal(size=240).cumsum(), blocks=2, forms=("linear",))
    assert found.error > found._units[3]  # without a warning: not absurd, only useless
    assert "no form is better than the mean of the output" in found.summary()


@pytest.fixture(scope="module")
def loop():
    return fit_system(*small_tank(), blocks=2, forms=("loop",))


def test_no_known_output_is_none(loop):
    u, y = small_tank()
    assert_array_equal(loop.simulate(u, y[:0]), loop.simulate(u))


def root_mean_square(values):
    return float(np.sqrt(np.mean(np.square(values))))


def test_slopes_of_an_integrator_are_those_of_its_simulation(rng):
    cart = Integrator(np.array([0.7, 0.2]), np.array([0.1, 0.05]), 0.01, 0.04)
    signal, known = np.repeat(rng.normal(size=12), 6), np.array([0.0, 0.1, 0.2])
    outputs, slopes = cart.run(signal, known)
    moves = np.diff(outputs[2:])
    assert (moves == 0).any()  # it sticks, and
    assert (moves != 0).any()
    parameters = np.array([0.7, 0.2, 0.1, 0.05, 0.01, 0.04])
    for place, step in enumerate(1e-7 * np.eye(6)):
        moved = [parameters + step, parameters - step]
        ahead, behind = (Integrator(p[:2], p[2:4], *p[4:].tolist()).simulate(signal, known) for p in moved)
        assert_allclose(slopes[:, place], (ahead - behind) / 2e-7, atol=1e-4)


def test_a_drive_is_found_to_be_an_integrator_with_dry_friction():
    force, position = position_drive(3_000, np.random.default_rng(0))
    new_force, new_position = position_drive(3_000, np.random.default_rng(1))
    found = fit_system(force, position, forms=("linear", "integrator"))
    assert found.form == "integrator with dry friction"
    simulated = found.simulate(new_force, known=new_position[:10])
    assert root_mean_square(simulated - new_position) < 0.02 * new_position.std()
    # Where nothing drives it, it stays.
    assert_allclose(found.simulate(np.zeros(50), known=np.full(10, 0.1))[10:], 0.1, atol=1e-9)


def test_a_loop_with_a_false_cycle_is_refused_though_held_out_blocks_never_visit_it():
    duty, voltage = converter(600, np.random.default_rng(0))
    found = fit_system(duty, voltage, forms=("loop",))
    assert found.tried[0].error < found.error  # another form errs less on held-out blocks,
    assert found.tried[0].excess > 1.0  # and leaves the range of voltages elsewhere
    assert "leave the range of outputs by" in found.summary()
    room = 0.5 * np.ptp(voltage)
    for seed in range(1, 8):
        new_duty, new_voltage = converter(1_000, np.random.default_rng(seed))
        simulated = found.simulate(new_duty, known=new_voltage[:10])
        assert voltage.min() - room < simulated.min()
        assert simulated.max() < voltage.max() + room
        assert root_mean_square(simulated - new_voltage) < 0.6 * new_voltage.std()


@pytest.mark.parametrize(("kept", "leaves"), [(0.5, False), (1.2, True)])
def test_trial_runs_tell_a_loop_that_settles_from_one_that_does_not(rng, kept, leaves):
    loop = BoundedLoop(Memory(LegT(order=1, timescale=1.0)), ((0, 1), (1, 0)), -3.0, 3.0)
    signal = np.repeat(rng.normal(size=40), 10)
    seen = loop.simulate(np.array([0.0, 0.5, 0.5]), signal)
    found = excess(_Looped(loop, np.array([0.0, 0.5, kept]), -np.inf, np.inf), [(signal, seen)], 10)
    assert (found > 0.1) is leaves


def test_one_error_of_one_definition_whatever_the_length():
    u, y = overflowing_tank(960, 0)
    for rows in (8_000, 300):
        found = fit_system(u, y, blocks=3, forms=("linear",), most_rows=rows)
        left = np.concatenate([(measured - told)[10:] for _, measured, told in found.held_out])
        assert found.error == pytest.approx(root_mean_square(left))
        assert sum(len(measured) for _, measured, _ in found.held_out) == 960  # whole blocks of all that was given
        assert (found.stretch is None) is (rows == 8_000)
        assert ("on a stretch of 300 samples" in found.summary()) is (rows == 300)
