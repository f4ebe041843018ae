"""Memory and readout together: modes agree, kernels are exact, identification tells what is known."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import oracles
from hippozoo.discretise import discretise
from hippozoo.memory import Memory
from hippozoo.systems import LegS, LegT
from hippozoo.zoo.volterra import (
    NLMS,
    SGD,
    DivergenceError,
    RidgeRLS,
    VolterraModel,
    continuous_kernel,
    identify,
    leading_directions,
    sample_kernel,
    sample_responses,
)
from hippozoo.zoo.volterra import model as model_module

MEMORY = Memory(LegT(order=5, timescale=9.0))


def learnt_model(rng, **settings):
    model = VolterraModel(MEMORY, **settings)
    signal = rng.normal(size=(300, 2) if settings.get("channels") else 300)
    first = signal if signal.ndim == 1 else signal[:, 0]
    _, state = model.learn(model.initial_state(), signal, first**2 - np.roll(first, 1))
    return model, state


@pytest.mark.parametrize("settings", [{"degree": 3}, {"degree": 3, "rank": 2}])
def test_the_output_is_the_volterra_series_of_the_kernels(rng, settings):
    model, state = learnt_model(rng, **settings)
    signal = rng.normal(size=12)
    fresh = state._replace(memory=MEMORY.initial_state())
    predictions, _ = model.predict(fresh, signal)
    kernels = [model.kernel(state, k, length=12) for k in (1, 2, 3)]
    assert_allclose(predictions, model.tensor(state, 0) + oracles.volterra_series(kernels, signal), atol=1e-10)


def test_kernels_of_several_inputs_carry_their_channels(rng):
    model, state = learnt_model(rng, degree=2, channels=2)
    signal = rng.normal(size=(11, 2))
    predictions, _ = model.predict(state._replace(memory=MEMORY.initial_state(2)), signal)
    linear, quadratic = model.kernel(state, 1, 11), model.kernel(state, 2, 11)
    assert linear.shape == (2, 11)
    assert quadratic.shape == (2, 11, 2, 11)
    past = signal[::-1].T
    last = model.tensor(state, 0) + (linear * past).sum() + np.einsum("aibj,ai,bj->", quadratic, past, past)
    assert_allclose(predictions[-1], last)


@pytest.mark.parametrize("System", [LegS, LegT])
@pytest.mark.parametrize("degree", [1, 2])
def test_the_sample_kernel_is_the_integral_of_the_continuous_one_over_the_cells(rng, System, degree):
    memory = Memory(System(order=6, timescale=7.0), dt=0.5)
    tensor = rng.normal(size=(6,) * degree)
    node, mass = np.polynomial.legendre.leggauss(20)
    cells = 10
    lags = (np.arange(cells)[:, None] + (node + 1) / 2) * memory.dt
    fine = continuous_kernel(memory, tensor, lags.ravel())
    for axis in range(degree):
        shape = [*fine.shape[:axis], -1, 20, *fine.shape[axis + 1 :]]
        fine = np.tensordot(fine.reshape(shape), mass * memory.dt / 2, axes=([axis + 1], [0]))
    assert_allclose(sample_kernel(memory, tensor, cells), fine, atol=1e-12)


def test_the_continuous_kernel_of_leg_s_is_the_papers_weight_times_basis(rng):
    memory, lags = Memory(LegS(order=6, timescale=7.0)), np.array([0.0, 0.3, 5.0, 20.0])
    tensor = rng.normal(size=(6, 6))
    printed = memory.system.weight(lags)[:, None] * memory.system.basis(lags)
    assert_allclose(continuous_kernel(memory, tensor, lags), printed @ tensor @ printed.T, atol=1e-12)


def test_the_printed_kernel_at_sample_lags_is_half_a_sample_off():
    # Erratum 5: the paper reads weight * basis at tau = j dt; the exact kernel is its mean over the cell.
    memory = Memory(LegS(order=8, timescale=10.0))
    slow = np.zeros(8)
    slow[0] = 1.0
    exact = sample_kernel(memory, slow, 20)
    printed = continuous_kernel(memory, slow, np.arange(20.0))
    centred = continuous_kernel(memory, slow, np.arange(20.0) + 0.5)
    assert np.abs(centred / exact - 1).max() < 0.001
    assert np.abs(printed / exact - 1).min() > 0.04


def test_sample_responses_are_powers_of_the_discrete_dynamics():
    A_d, b_d = discretise(MEMORY.system, MEMORY.dt, "zoh")
    powers = [np.linalg.matrix_power(A_d, j) @ b_d for j in range(6)]
    assert_allclose(sample_responses(MEMORY, 6), powers, atol=1e-12)


@pytest.mark.parametrize("learner", [SGD(0.02), NLMS(), RidgeRLS(1e-2)])
@pytest.mark.parametrize("settings", [{}, {"channels": 2}])
def test_learning_sample_by_sample_equals_learning_the_array(rng, learner, settings):
    model = VolterraModel(MEMORY, learner=learner, **settings)
    signal = rng.normal(size=(80, 2) if settings else 80)
    targets = rng.normal(size=80)
    predictions, final = model.learn(model.initial_state(), signal, targets)
    state, single = model.initial_state(), []
    for sample, target in zip(signal, targets, strict=True):
        prediction, state = model.learn_one(state, sample, target)
        single.append(prediction)
    assert_allclose(predictions, single, rtol=1e-7, atol=1e-9)
    assert_allclose(final.memory, state.memory, atol=1e-12)
    assert_allclose(final.learnt.parameters, state.learnt.parameters, rtol=1e-6, atol=1e-8)


def test_predicting_learns_nothing_and_moves_the_memory_alike(rng):
    model, state = learnt_model(rng)
    predicted, moved = model.predict_one(state, 0.7)
    learnt, changed = model.learn_one(state, 0.7, 3.0)
    assert predicted == learnt
    assert_array_equal(moved.memory, changed.memory)
    assert moved.learnt is state.learnt
    many, after = model.predict(state, np.array([0.7]))
    assert_allclose(many[0], predicted, rtol=1e-12)
    assert_allclose(after.memory, moved.memory, atol=1e-13)


def test_blocks_leave_no_trace(rng, monkeypatch):
    signal, targets, steps = rng.normal(size=100), rng.normal(size=100), rng.uniform(0.5, 2.0, size=100)
    mask = rng.random(100) > 0.2
    model = VolterraModel(MEMORY)
    whole = model.learn(model.initial_state(), signal, targets, dt=steps, mask=mask, held=0.4)
    told = model.predict(whole[1], signal, dt=steps, mask=mask)
    monkeypatch.setattr(model_module, "_BLOCK", 17)
    pieces = model.learn(model.initial_state(), signal, targets, dt=steps, mask=mask, held=0.4)
    assert_allclose(pieces[0], whole[0], rtol=1e-8, atol=1e-10)
    assert_allclose(pieces[1].learnt.parameters, whole[1].learnt.parameters, rtol=1e-7, atol=1e-9)
    assert_allclose(model.predict(whole[1], signal, dt=steps, mask=mask)[0], told[0], rtol=1e-8, atol=1e-10)


def test_irregular_samples_hold_for_their_own_time(rng):
    model = VolterraModel(MEMORY)
    signal, targets, steps = rng.normal(size=30), rng.normal(size=30), rng.uniform(0.2, 3.0, size=30)
    predictions, _ = model.learn(model.initial_state(), signal, targets, dt=steps)
    state, single = model.initial_state(), []
    for sample, target, dt in zip(signal, targets, steps, strict=True):
        prediction, state = model.learn_one(state, sample, target, dt=float(dt))
        single.append(prediction)
    assert_allclose(predictions, single, rtol=1e-7, atol=1e-9)


def test_directions_confine_the_readout_to_a_subspace(rng):
    columns = np.linalg.qr(rng.normal(size=(5, 2)))[0]
    model, state = learnt_model(rng, directions=columns)
    tensor = model.tensor(state, 2)
    across = np.eye(5) - columns @ columns.T
    assert_allclose(across @ tensor, 0, atol=1e-12)
    signal = rng.normal(size=9)
    predictions, _ = model.predict(state._replace(memory=MEMORY.initial_state()), signal)
    kernels = [model.kernel(state, k, length=9) for k in (1, 2)]
    assert_allclose(predictions, model.tensor(state, 0) + oracles.volterra_series(kernels, signal), atol=1e-10)


def test_a_run_away_names_the_sample_of_the_whole_array(rng, monkeypatch):
    monkeypatch.setattr(model_module, "_BLOCK", 16)
    model = VolterraModel(MEMORY, learner=SGD(rate=30.0))
    signal = np.concatenate([np.zeros(40), 3 * rng.normal(size=400)])
    with pytest.raises(DivergenceError, match="diverged at sample") as caught:
        model.learn(model.initial_state(), signal, signal**2)
    assert caught.value.sample >= 40
    assert f"sample {caught.value.sample}" in str(caught.value)


def test_white_noise_excites_every_direction_alike(rng):
    found = identify(MEMORY, rng.normal(size=60_000))
    assert found.count == 5
    assert_allclose(found.strength, 1.0, atol=0.05)
    assert_allclose(found.shapes(400) @ found.shapes(400).T, np.eye(5), atol=1e-9)


def test_the_strength_of_a_shape_is_the_variance_it_gives_to_the_output(rng):
    signal = np.convolve(rng.normal(size=30_000), np.hanning(9), "valid")
    found = identify(MEMORY, signal)
    for strength, shape in zip(found.strength, found.shapes(60), strict=True):
        output = np.convolve(signal, shape)[60 : len(signal)]
        assert_allclose(np.mean(output**2), strength, rtol=0.02)


def test_a_band_limited_input_leaves_kernel_directions_undetermined(rng):
    memory = Memory(LegT(order=12, timescale=24.0))
    signal = np.convolve(rng.normal(size=8000), np.hanning(40), "valid")
    model = VolterraModel(memory)
    _, state = model.learn(model.initial_state(), signal, signal**2)
    found = model.identification(state, signal)
    assert found.count < 12
    assert 0 <= found.share[1] <= 1
    # A kernel in the other directions gives an output that nobody would notice.
    visible, *_, hidden = found.shapes(200)
    quiet, loud = (np.convolve(signal, shape, "valid").std() for shape in (hidden, visible))
    assert quiet < 0.011 * loud
    assert f"excites {found.count} of 12" in found.report()
    once = found.identified(model.tensor(state, 2))
    assert_allclose(found.identified(once), once, atol=1e-9 * np.abs(once).max())
    shapes = found.shapes(200)[: found.count]
    kernel = sample_kernel(memory, model.tensor(state, 2), 200)
    projected = shapes.T @ (shapes @ kernel @ shapes.T) @ shapes
    assert_allclose(sample_kernel(memory, once, 200), projected, atol=1e-9 * np.abs(kernel).max())
    assert_allclose(found.share[1], (projected**2).sum() / (kernel**2).sum())


def test_the_held_out_error_shows_kernels_that_excited_directions_do_not(rng):
    # A kernel sharper than the basis: every direction is excited, and the model is wrong all the same.
    memory = Memory(LegT(order=4, timescale=40.0))
    model = VolterraModel(memory)
    signal, new = rng.normal(size=(2, 20_000))
    sharp, smooth = (lambda u: np.roll(u, 7) + np.roll(u, 7) ** 2), (lambda u: memory.scan(u)[:, 0])
    _, state = model.learn(model.initial_state(), signal, sharp(signal))
    found = model.identification(state, signal, held_out=(new, sharp(new)))
    assert found.share[1] > 0.999
    assert found.held_out_error > 0.7
    assert found.impulses.shape == (40,)
    assert_allclose(found.impulses, np.square(found.shapes()).sum(0))
    assert found.impulses[7] < 0.2
    assert "held-out data the error is" in found.report()
    assert "impulse at one lag the basis holds" in found.report()
    _, state = model.learn(model.initial_state(), signal, smooth(signal))
    assert model.identification(state, signal, held_out=(new, smooth(new))).held_out_error < 1e-3
    assert "pass held_out=" in model.identification(state, signal).report()


def test_an_impulse_keeps_its_projection_onto_the_shapes(rng):
    memory = Memory(LegS(order=6, timescale=5.0))
    found = identify(memory, rng.normal(size=4000))
    responses = np.linalg.qr(memory.scan(np.eye(1, 400)[0]))[0]
    assert_allclose(found.impulses, np.square(responses[: len(found.impulses)]).sum(1), atol=1e-6)


def test_leading_directions_have_unit_variance_and_are_uncorrelated(rng):
    signal = np.convolve(rng.normal(size=5000), np.hanning(9), "valid")
    columns = leading_directions(MEMORY, signal, 3)
    reduced = MEMORY.scan(signal) @ columns
    assert_allclose(reduced.T @ reduced / len(signal), np.eye(3), atol=1e-9)
