"""Learning online: the steps are those of the full tensors, and one sample at a time is the same as many."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

import oracles
from hippozoo.zoo.volterra import (
    NLMS,
    SGD,
    DivergenceError,
    LowRankReadout,
    NetworkReadout,
    PolynomialReadout,
    RidgeRLS,
)
from hippozoo.zoo.volterra._low_rank_kernels import balance

PAIRS = [
    (SGD(0.01), PolynomialReadout(4, 2)),
    (SGD(0.01), PolynomialReadout(3, 3)),
    (SGD(0.01), LowRankReadout(4, 3, 2)),
    (SGD(0.01), NetworkReadout(4, 6)),
    (NLMS(), PolynomialReadout(4, 2)),
    (NLMS(), PolynomialReadout(2, 4)),
    (NLMS(), LowRankReadout(4, 3, 2)),
    (NLMS(), NetworkReadout(4, 6)),
    (RidgeRLS(1e-3), PolynomialReadout(4, 2)),
    (RidgeRLS(1e-3, forgetting=0.99), PolynomialReadout(3, 3)),
]


def data(rng, inputs, time=60):
    states = rng.normal(size=(time, inputs))
    return states, states[:, 0] ** 2 - states[:, -1] + 0.3


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_packed_coefficients_take_the_steps_of_the_full_tensors(rng, degree):
    states, targets = data(rng, 3)
    readout = PolynomialReadout(3, degree)
    predictions, learnt = SGD(rate=0.004).learn(readout, states, targets)
    expected, tensors = oracles.full_tensor_sgd(states, targets, degree, rate=0.004)
    assert_allclose(predictions, expected, rtol=1e-10, atol=1e-12)
    for k, tensor in enumerate(tensors):
        assert_allclose(readout.tensor(learnt.parameters, k), tensor, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("learner", "readout"), PAIRS)
def test_one_sample_at_a_time_gives_the_very_numbers_of_the_whole_array(rng, learner, readout):
    states, targets = data(rng, readout.inputs)
    predictions, learnt = learner.learn(readout, states, targets)
    state, one_by_one = learner.initial_state(readout), []
    for row, target in zip(states, targets, strict=True):
        prediction, state = learner.learn(readout, row[None], target[None], state)
        one_by_one.append(prediction[0])
    assert_array_equal(predictions, one_by_one)
    for ours, theirs in zip(learnt, state, strict=True):
        assert_array_equal(ours, theirs)


@pytest.mark.parametrize(("learner", "readout"), PAIRS)
def test_learning_leaves_the_state_it_was_given_alone(rng, learner, readout):
    states, targets = data(rng, readout.inputs)
    _, before = learner.learn(readout, states[:20], targets[:20])
    kept = [np.array(part) for part in before]
    learner.learn(readout, states[20:], targets[20:], before)
    for part, copy in zip(before, kept, strict=True):
        assert_array_equal(part, copy)


@pytest.mark.parametrize(
    "readout", [PolynomialReadout(4, 2), PolynomialReadout(3, 3), LowRankReadout(4, 3, 2), NetworkReadout(4, 6)]
)
def test_a_prediction_is_made_before_its_target_is_used(rng, readout):
    states, targets = data(rng, readout.inputs)
    learner = NLMS()
    _, learnt = learner.learn(readout, states[:30], targets[:30])
    predictions, _ = learner.learn(readout, states[30:31], targets[30:31], learnt)
    assert_allclose(predictions, readout.predict(learnt.parameters, states[30:31]))


def torch_value(readout, parameters, state):
    if isinstance(readout, LowRankReadout):
        value, begin = parameters[0] + parameters[1 : 1 + readout.inputs] @ state, 1 + readout.inputs
        for k in range(2, readout.degree + 1):
            for _ in range(readout.rank):
                rows = parameters[begin : begin + k * readout.inputs].reshape(k, readout.inputs)
                value = value + (rows @ state).prod()
                begin += k * readout.inputs
        return value
    inward, biases, outward, last = torch.split(
        parameters, [readout.hidden * readout.inputs, readout.hidden, readout.hidden, 1]
    )
    return outward @ torch.tanh(inward.reshape(readout.hidden, readout.inputs) @ state + biases) + last[0]


@pytest.mark.parametrize("readout", [LowRankReadout(4, 2, 1), LowRankReadout(3, 4, 2), NetworkReadout(4, 6)])
def test_gradient_steps_are_those_of_automatic_differentiation(rng, readout):
    states, targets = data(rng, readout.inputs, time=25)
    learner = SGD(rate=0.005)
    started = learner.initial_state(readout)._replace(parameters=0.3 * rng.normal(size=readout.n_parameters))
    _, learnt = learner.learn(readout, states, targets, started)
    parameters = torch.from_numpy(started.parameters.copy()).requires_grad_()
    optimiser = torch.optim.SGD([parameters], lr=0.005)
    for state, target in zip(torch.from_numpy(states), targets, strict=True):
        optimiser.zero_grad()
        ((torch_value(readout, parameters, state) - target) ** 2).backward()
        optimiser.step()
    assert_allclose(learnt.parameters, parameters.detach().numpy(), rtol=1e-9, atol=1e-12)


def test_ridge_rls_is_ridge_regression_on_the_full_tensors(rng):
    states, targets = data(rng, 3)
    readout = PolynomialReadout(3, 2)
    _, learnt = RidgeRLS(ridge=0.1).learn(readout, states, targets)
    full = np.array([[1.0, *state, *np.outer(state, state).ravel()] for state in states])
    expected = np.linalg.solve(full.T @ full + 0.1 * np.eye(full.shape[1]), full.T @ targets)
    ours = [readout.tensor(learnt.parameters, k).ravel() for k in range(3)]
    assert_allclose(np.concatenate(ours), expected, rtol=1e-9, atol=1e-11)


def test_forgetting_weights_samples_by_their_age(rng):
    states, targets = data(rng, 2, time=40)
    readout = PolynomialReadout(2, 1)
    _, learnt = RidgeRLS(ridge=0.1, forgetting=0.9).learn(readout, states, targets)
    full = np.column_stack([np.ones(40), states])
    age = 0.9 ** np.arange(40)[::-1]
    normal = (full * age[:, None]).T @ full + 0.1 * 0.9**40 * np.eye(3)
    expected = np.linalg.solve(normal, (full * age[:, None]).T @ targets)
    assert_allclose(learnt.parameters, expected, rtol=1e-9)


@pytest.mark.parametrize("readout", [PolynomialReadout(4, 2), PolynomialReadout(3, 3)])
@pytest.mark.parametrize("scale", [1e-3, 1e4])
def test_normalised_steps_do_not_notice_the_scale_of_the_input(rng, readout, scale):
    states, targets = data(rng, readout.inputs, time=300)
    predictions, learnt = NLMS().learn(readout, states, targets)
    scaled, learnt_scaled = NLMS().learn(readout, scale * states, targets)
    assert_allclose(scaled, predictions, rtol=1e-8, atol=1e-10)
    for k in range(readout.degree + 1):
        ours = readout.tensor(learnt_scaled.parameters, k) * scale**k
        assert_allclose(ours, readout.tensor(learnt.parameters, k), rtol=1e-7, atol=1e-10)


def test_a_normalised_step_is_the_published_formula(rng):
    state, target = rng.normal(size=3), 2.0
    readout = PolynomialReadout(3, 2)
    _, learnt = NLMS(rate=0.7, offset=0.2).learn(readout, state[None], np.array([target]))
    # At the first sample every power is the sample's own, so each of the three degrees weighs 1.
    square = state @ state
    step = 0.7 * target / (0.2 + 3)
    assert_allclose(readout.tensor(learnt.parameters, 0), step)
    assert_allclose(readout.tensor(learnt.parameters, 1), step * state / square)
    assert_allclose(readout.tensor(learnt.parameters, 2), step * np.outer(state, state) / square**2)


@pytest.mark.parametrize("input_scale", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("target_scale", [1e-3, 1e3])
def test_products_are_learnt_at_any_scale_of_input_and_target(rng, input_scale, target_scale):
    states = rng.normal(size=(4000, 5))
    targets = target_scale * (states @ rng.normal(size=5)) * (states @ rng.normal(size=5))
    predictions, _ = NLMS().learn(LowRankReadout(5, 2, rank=1), input_scale * states, targets)
    assert np.mean((predictions - targets)[3000:] ** 2) < 1e-3 * targets.var()


def test_balancing_functionals_changes_no_product(rng):
    readout, states = LowRankReadout(4, 3, 2), rng.normal(size=(5, 4))
    parameters = rng.normal(size=readout.n_parameters)
    parameters[5:9] *= 1e3
    before = readout.predict(parameters, states)
    power = np.ones(4)
    balance(parameters, 4, 3, 2, np.ones(10), power, np.empty(3))
    assert_allclose(readout.predict(parameters, states), before, rtol=1e-10)
    first, second = np.linalg.norm(readout.functionals(parameters, 2)[0], axis=1)
    assert_allclose(first, second)
    assert power[2] != 1


@pytest.mark.parametrize("degree", [2, 3, 5])
def test_a_normalised_step_never_makes_the_error_of_its_own_sample_larger(rng, degree):
    readout, learner = LowRankReadout(4, degree, 2), NLMS(rate=1.9)
    states, targets = data(rng, 4, time=100)
    state = learner.initial_state(readout)
    for row, target in zip(states[:, None], targets[:, None], strict=True):
        prediction, state = learner.learn(readout, row, target, state)
        after = readout.predict(state.parameters, row)
        assert abs(after - target)[0] <= abs(prediction - target)[0] * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize("readout", [PolynomialReadout(4, 2), LowRankReadout(4, 3, 2)])
def test_a_run_away_is_reported_with_its_cause_and_changes_nothing(rng, readout):
    states, targets = data(rng, 4, time=3000)
    learner = SGD(rate=5.0)
    before = learner.initial_state(readout)
    with pytest.raises(DivergenceError, match=r"rate.*NLMS") as caught:
        learner.learn(readout, states, targets, before)
    assert 0 <= caught.value.sample < 3000
    assert_array_equal(before.parameters, readout.initial_parameters())


def test_the_rate_that_the_report_advises_is_stable(rng):
    states, targets = data(rng, 4, time=3000)
    readout = PolynomialReadout(4, 2)
    with pytest.raises(DivergenceError) as caught:
        SGD(rate=5.0).learn(readout, states, targets)
    advised = float(str(caught.value).split("rate <= ")[1].split(",")[0])
    # The report has seen the states up to the failure; later ones may be longer.
    early = states[: caught.value.sample + 1]
    predictions, _ = SGD(rate=advised).learn(readout, np.tile(early, (200, 1)), np.tile(targets[: len(early)], 200))
    assert np.isfinite(predictions).all()


@pytest.mark.parametrize("scale", [1e-6, 1e6])
@pytest.mark.parametrize(
    "readout", [PolynomialReadout(4, 2), LowRankReadout(4, 2, 1), LowRankReadout(4, 3, 2)], ids=repr
)
def test_scaling_changes_only_the_units_of_normalised_learning(rng, readout, scale):
    states = rng.standard_t(2, size=(5000, 4))  # heavy tails: outliers of all sizes
    targets = states[:, 0] * states[:, 1]
    expected, known = NLMS(rate=1.0).learn(readout, states, targets)
    predictions, learnt = NLMS(rate=1.0).learn(readout, scale * states, scale**2 * targets)
    assert_allclose(predictions / scale**2, expected, rtol=1e-6, atol=1e-6)
    for k in range(readout.degree + 1):
        ours, theirs = (readout.tensor(one.parameters, k) for one in (learnt, known))
        assert_allclose(ours * scale ** (k - 2), theirs, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("readout", [PolynomialReadout(2, 2), LowRankReadout(2, 2, 2)])
@pytest.mark.parametrize("size", [1e100, 1e200])
def test_numbers_whose_products_overflow_are_told(readout, size):
    with pytest.raises(DivergenceError, match=rf"beyond every number|{size:.0e}".replace("+", r"\+")):
        SGD(0.004).learn(readout, np.full((3, 2), size), np.ones(3))
