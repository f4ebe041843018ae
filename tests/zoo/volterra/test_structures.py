"""Cascades and loops of memories: simulated, fitted, and expanded into their kernels."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import oracles
from hippozoo.memory import Memory
from hippozoo.systems import LegS, LegT
from hippozoo.zoo.volterra import (
    BoundedPolynomial,
    Cascade,
    CascadeWeights,
    DivergenceError,
    FeedbackLoop,
    FeedbackWeights,
    sample_responses,
)
from hippozoo.zoo.volterra._least_squares import minimise
from hippozoo.zoo.volterra.cascade import CascadeProblem

SHORT = Memory(LegT(order=3, timescale=3.0))
MEMORY = Memory(LegS(order=5, timescale=4.0))


def cascade_weights(rng, cascade):
    return CascadeWeights(
        rng.normal(size=cascade.first.system.order),
        rng.normal(size=cascade.curve.terms),
        rng.normal(size=cascade.second.system.order),
    )


def test_a_bounded_polynomial_is_a_polynomial_inside_and_its_tangent_outside(rng):
    curve, coefficients = BoundedPolynomial(degree=5, reach=2.0), rng.normal(size=6)
    inside = np.linspace(-2, 2, 9)
    powers = curve.monomials(coefficients)
    assert_allclose(curve.value(coefficients, inside), np.polynomial.Polynomial(powers)(inside), atol=1e-12)
    slope = np.polynomial.Polynomial(powers).deriv()(2.0)
    beyond = np.array([2.5, 7.0])
    expected = np.polynomial.Polynomial(powers)(2.0) + slope * (beyond - 2)
    assert_allclose(curve.value(coefficients, beyond), expected, atol=1e-12)


def test_the_slopes_of_a_bounded_polynomial_are_its_derivative(rng):
    curve, z = BoundedPolynomial(degree=6, reach=1.5), rng.normal(size=50) * 2
    values, slopes = curve.basis(z)
    later, _ = curve.basis(z + 1e-6)
    assert_allclose((later - values) / 1e-6, slopes, atol=1e-3)


def test_a_cascade_is_a_convolution_a_curve_and_a_convolution(rng):
    cascade = Cascade(SHORT, MEMORY, BoundedPolynomial(degree=4, reach=2.0))
    weights, signal = cascade_weights(rng, cascade), rng.normal(size=60)
    first, second = cascade.filters(weights, length=60)
    middle = np.convolve(signal, first)[:60]
    expected = np.convolve(cascade.curve.value(weights.curve, middle), second)[:60]
    assert_allclose(cascade.simulate(weights, signal), expected, atol=1e-10)


def test_the_kernels_of_a_cascade_are_its_volterra_series(rng):
    cascade = Cascade(SHORT, SHORT, BoundedPolynomial(degree=3, reach=50.0))
    weights, signal = cascade_weights(rng, cascade), rng.normal(size=10)
    constant = cascade.simulate(weights, np.zeros(10))
    kernels = [cascade.kernel(weights, k, length=10) for k in (1, 2, 3)]
    assert_allclose(
        cascade.simulate(weights, signal), constant + oracles.volterra_series(kernels, signal), rtol=1e-8, atol=1e-8
    )


def test_the_jacobian_of_a_cascade_is_its_derivative(rng):
    cascade = Cascade(MEMORY, SHORT, BoundedPolynomial(degree=3, reach=1.0))
    signal, target = rng.normal(size=80), rng.normal(size=80)
    problem = CascadeProblem(cascade, signal, target, warm_up=10)
    parameters = np.concatenate(cascade_weights(rng, cascade))
    jacobian = problem.jacobian(parameters)
    for p in range(len(parameters)):
        shifted = [problem.residual(parameters + step * np.eye(len(parameters))[p]) for step in (1e-6, -1e-6)]
        assert_allclose(jacobian[:, p], -(shifted[0] - shifted[1]) / 2e-6, atol=1e-5)


def test_the_start_of_a_cascade_is_the_linear_model_however_it_is_shared(rng):
    signal = rng.normal(size=4000)
    cascade = Cascade(MEMORY, MEMORY, BoundedPolynomial(degree=1, reach=100.0))
    target = np.convolve(signal, 0.5 ** np.arange(12))[:4000]  # minimum phase: any power of it is causal
    for share in (0.0, 0.5, 1.0):
        left = CascadeProblem(cascade, signal, target, warm_up=50)
        assert np.std(left.residual(left.start(share))) < 0.05 * target.std()


def test_a_cascade_finds_an_unknown_wiener_hammerstein_system(rng):
    signal = rng.normal(size=6000)
    middle = np.convolve(signal, 0.7 ** np.arange(40))[:6000]
    target = np.convolve(np.tanh(middle), 0.5 ** np.arange(30))[:6000]
    cascade = Cascade(
        Memory(LegS(order=8, timescale=4.0)), Memory(LegS(order=8, timescale=4.0)), BoundedPolynomial(9, reach=3.0)
    )
    found = cascade.fit(signal[:4000], target[:4000], warm_up=50)
    error = (cascade.simulate(found, signal) - target)[4000:]
    assert error.std() < 0.02 * target.std()


def test_a_cascade_learns_from_a_step_while_its_memory_moves():
    step, response = np.ones(300), 1 - np.exp(-np.arange(300) / 10)
    cascade = Cascade(MEMORY, MEMORY, BoundedPolynomial(degree=3, reach=3.0))
    found = cascade.fit(step, response)
    assert np.std(cascade.simulate(found, step) - response) < 0.02 * response.std()


def test_the_search_goes_down_and_stops_at_the_bottom():
    x = np.linspace(0, 1, 50)
    target = 2 * np.exp(-3 * x)

    def residual(p):
        return target - p[0] * np.exp(p[1] * x)

    def jacobian(p):
        return np.column_stack([np.exp(p[1] * x), p[0] * x * np.exp(p[1] * x)])

    start = np.array([1.0, 0.0])
    costs = [minimise(start, residual, jacobian, iterations=count).cost for count in range(6)]
    assert costs == sorted(set(costs), reverse=True)
    assert_allclose(minimise(start, residual, jacobian, iterations=60).parameters, [2.0, -3.0], rtol=1e-6)


def test_the_search_ends_where_its_slopes_overflow():
    target, slopes = np.ones(5), np.full((5, 2), 1e200)
    found = minimise(np.zeros(2), lambda p: target - p.sum(), lambda p: slopes, iterations=9)
    assert_allclose(found.parameters, 0.0)


# -- loops ----------------------------------------------------------------------------------------------------------


def loop_weights(rng, loop, size=0.1):
    order = loop.memory.system.order
    return FeedbackWeights(0.02, rng.normal(size=order), size * rng.normal(size=(loop.degree, order)))


def by_definition(loop, weights, signal, known=()):
    """The equation of the loop, sample by sample, with the memories stepped one by one."""
    order, outputs = loop.memory.system.order, []
    drive, powers = np.zeros(order), [np.zeros(order) for _ in range(loop.degree)]
    for t, sample in enumerate(signal):
        drive = loop.memory.step(drive, sample)
        feedback = sum(functional @ state for functional, state in zip(weights.feedback, powers, strict=True))
        outputs.append(weights.constant + weights.drive @ drive + feedback)
        fed = known[t] if t < len(known) else outputs[-1]
        powers = [loop.memory.step(state, fed ** (m + 1)) for m, state in enumerate(powers)]
    return np.array(outputs)


def test_a_loop_obeys_its_equation(rng):
    loop = FeedbackLoop(MEMORY, degree=3)
    weights, signal = loop_weights(rng, loop), 0.5 * rng.normal(size=120)
    assert_allclose(loop.simulate(weights, signal), by_definition(loop, weights, signal), atol=1e-8)
    known = rng.normal(size=20)
    assert_allclose(loop.simulate(weights, signal, known), by_definition(loop, weights, signal, known), atol=1e-8)


def test_the_kernels_of_a_loop_are_its_expansion_about_rest(rng):
    loop = FeedbackLoop(SHORT, degree=3)
    weights, n = loop_weights(rng, loop), 9
    kernels = [loop.kernel(weights, k, length=n) for k in (1, 2, 3)]
    level = loop.rest(weights)
    assert_allclose(level, loop.simulate(weights, np.zeros(3000))[-1], atol=1e-9)

    def from_rest(signal):
        return loop.simulate(weights, np.concatenate([np.zeros(2000), signal]))[2000:] - level

    direction = rng.normal(size=n)
    # The part of degree k of the response to x * direction, by fitting a polynomial in x.
    sizes = 0.02 * np.arange(-4, 5)
    responses = np.array([from_rest(size * direction) for size in sizes])
    parts = np.linalg.lstsq(np.vander(sizes, 8, increasing=True), responses, rcond=None)[0]
    for k, kernel in enumerate(kernels, start=1):
        expected = oracles.volterra_series([kernel], direction)
        assert_allclose(parts[k], expected, rtol=1e-3, atol=1e-3 * np.abs(expected).max())


def test_a_loop_finds_an_unknown_oscillator(rng):
    signal, output = 0.7 * rng.normal(size=3000), np.zeros(3000)
    for t in range(2, 3000):
        output[t] = 1.5 * output[t - 1] - 0.75 * output[t - 2] + 0.1 * signal[t - 1] - 0.2 * output[t - 1] ** 3
    noisy = output + 0.02 * rng.normal(size=3000)
    loop = FeedbackLoop(Memory(LegT(order=4, timescale=4.0)), degree=3)
    started = loop.fit(signal[:2000], noisy[:2000], iterations=0)
    found = loop.fit(signal[:2000], noisy[:2000])
    errors = [
        np.std(loop.simulate(each, signal[2000:], output[2000:2050])[50:] - output[2050:]) for each in (started, found)
    ]
    # Noise in the loop biases the linear start; the simulation error does not know this bias.
    assert errors[1] < errors[0]
    assert errors[1] < 0.02 * output.std()


def relative_error(loop, found, signal, output, known):
    return np.std((loop.simulate(found, signal, output[:known]) - output)[known:]) / output[known:].std()


def test_a_loop_is_fitted_to_a_system_that_is_none():
    # Filter, curve, filter: the equation with measured outputs in it runs away as soon as it has to use its own.
    signal = np.random.default_rng(0).normal(size=1000)
    middle = np.tanh(np.convolve(signal, np.ones(5)))[:1000]
    output = np.convolve(middle, np.hanning(9))[:1000]
    loop = FeedbackLoop(SHORT, degree=3)
    with pytest.raises(DivergenceError):
        loop.simulate(loop.fit(signal, output, warm_up=50, iterations=0), signal, output[:50])
    assert relative_error(loop, loop.fit(signal, output, warm_up=50), signal, output, 50) < 0.5


def test_an_output_of_two_values_has_powers_that_stand_still(rng):
    signal = rng.normal(size=600)
    output = np.sign(signal + 0.3 * rng.normal(size=600))
    for degree in (2, 3):
        loop = FeedbackLoop(SHORT, degree=degree)
        assert relative_error(loop, loop.fit(signal, output, warm_up=20), signal, output, 20) < 0.8


@pytest.mark.parametrize("signal", [np.zeros(1000), np.ones(1000), np.random.default_rng(0).normal(size=1000)])
def test_a_chaotic_loop_keeps_the_equation_that_its_measured_outputs_obey(signal):
    output = np.full(1000, 0.3)
    for t in range(1, 1000):
        output[t] = 3.9 * output[t - 1] * (1 - output[t - 1])
    loop = FeedbackLoop(SHORT, degree=3)
    found = loop.fit(signal, output, warm_up=50)
    # Whatever was known before, one sample ahead is right; a thousand ahead nobody can tell.
    predictions = loop.simulate(found, signal, known=output)
    assert_allclose(predictions[50:], output[50:], atol=1e-3)


def test_a_record_that_no_loop_follows_is_refused_with_advice(rng):
    signal, output = rng.normal(size=(2, 600))
    output[0] = 1e15  # long forgotten after the warm-up, but its cube leaves all bounds whatever the weights
    with pytest.raises(DivergenceError, match=r"degree 3 runs away"):
        FeedbackLoop(SHORT, degree=3).fit(signal, output, warm_up=100)


def one_memory_loop(constant, *gains):
    """A loop whose level at rest solves y = constant + Σ gains[m] y^(m + 1)."""
    loop = FeedbackLoop(Memory(LegS(order=1, timescale=1.0)), degree=len(gains))
    return loop, FeedbackWeights(constant, np.ones(1), np.array(gains)[:, None])


@pytest.mark.parametrize("push", [0.01, -0.01])
def test_a_loop_rests_where_it_comes_to_rest(push):
    # Two wells with a summit between them at -2 * push.
    loop, weights = one_memory_loop(push, 1.5, 0.0, -0.5)
    assert_allclose(loop.rest(weights), loop.simulate(weights, np.zeros(500))[-1], rtol=1e-9)
    assert abs(loop.rest(weights) - np.sign(push)) < 0.02
    assert abs(loop.kernel(weights, 1, length=60)[-1]) < 1e-9


@pytest.mark.parametrize(
    ("constant", "gains", "words"),
    [
        (1.0, (1.0, 1.0), r"no y solves y = 1 \+ .*gains \[1.0, 1.0\]"),  # y² = -1
        (1.0, (1.0,), r"no y solves"),  # adds one for ever
        (1.0, (2.0,), r"from -1 a small push leads away, 1.63 times"),  # runs away
        (1.0, (-4.0,), r"from 0.2 a small push leads away, 2.16 times"),  # and from side to side
    ],
)
def test_a_loop_without_rest_says_so(constant, gains, words):
    loop, weights = one_memory_loop(constant, *gains)
    for call in (lambda: loop.rest(weights), lambda: loop.kernel(weights, 1, length=5)):
        with pytest.raises(ValueError, match=rf"state of rest.*{words}.*ridge="):
            call()


def test_a_loop_that_runs_away_says_so(rng):
    loop = FeedbackLoop(SHORT, degree=3)
    weights = loop_weights(rng, loop, size=5.0)
    with pytest.raises(DivergenceError, match=r"^simulation ran away"):
        loop.simulate(weights, rng.normal(size=500))


def test_filters_are_the_responses_of_the_functionals(rng):
    loop = FeedbackLoop(SHORT, degree=2)
    weights = loop_weights(rng, loop)
    drive, feedback = loop.filters(weights, length=7)
    assert_allclose(drive, sample_responses(SHORT, 7) @ weights.drive)
    assert_allclose(feedback[1], sample_responses(SHORT, 7) @ weights.feedback[1])
