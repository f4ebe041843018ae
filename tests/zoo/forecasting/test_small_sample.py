"""Forecasts before any could be compared with what came: near the simple ones, unless the past says clearly more."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hippozoo.systems import LegS, LegT
from hippozoo.zoo.forecasting import Forecaster, Moments, explain, forecaster_with_candidates, reduced_rank
from hippozoo.zoo.forecasting.early import shrunk_map
from short_series import HORIZON, autoregressions, lines, noises, walks, waves


def error_beside_simple_forecasts(forecaster, series):
    """Root mean square of errors, relative to the better of persistence and the mean of all that was seen."""
    seen, came = series[:-HORIZON], series[-HORIZON:]
    state = forecaster.learn(forecaster.initial_state(series.shape[1]), seen)
    assert not state.validation.weight.any()
    ours = np.mean((forecaster.forecast(state).samples().T - came) ** 2)
    simple = min(np.mean((came - seen[-1]) ** 2), np.mean((came - seen.mean(axis=0)) ** 2))
    return np.sqrt(ours / simple)


@pytest.mark.parametrize("horizons", [1.2, 2.0, 3.0, 4.0])
@pytest.mark.parametrize(("kind", "most"), [(noises, 1.25), (autoregressions, 1.6), (walks, 2.0)])
def test_what_cannot_be_foreseen_is_forecast_almost_as_well_as_without_learning(rng, kind, most, horizons):
    series = kind(rng, int(horizons * HORIZON) + HORIZON)
    assert error_beside_simple_forecasts(forecaster_with_candidates(float(HORIZON)), series) < most


@pytest.mark.parametrize(
    ("kind", "horizons", "most"), [(waves, 3.0, 0.75), (waves, 4.0, 0.4), (lines, 2.0, 0.6), (lines, 4.0, 0.4)]
)
def test_what_repeats_or_goes_straight_on_is_believed_early(rng, kind, horizons, most):
    series = kind(rng, int(horizons * HORIZON) + HORIZON)
    assert error_beside_simple_forecasts(forecaster_with_candidates(float(HORIZON)), series) < most


@pytest.mark.parametrize("together", ["independent", "shared", "joint"])
@pytest.mark.parametrize("anchor", ["none", "last"])
@pytest.mark.parametrize("ridge", [0.0, 1e-4])
def test_every_kind_of_forecaster_holds_back(rng, together, anchor, ridge):
    forecaster = Forecaster(LegT(16, 32.0), horizon=16.0, anchor=anchor, together=together, ridge=ridge)
    groups = [walks(rng, 3 * HORIZON)[:, :4] for _ in range(20)] if together == "joint" else [walks(rng, 3 * HORIZON)]
    found = [error_beside_simple_forecasts(forecaster, series) for series in groups]
    assert np.sqrt(np.mean(np.square(found))) < 2


def average_by_definition(x, y, simple, share, ridge, intercept):
    """Slopes and level of the averaged map: every map fitted by itself, to pairs, on the leading principal numbers."""

    def judged(errors):
        total = np.mean(np.sum(errors**2, axis=1))
        E = errors.T @ errors / len(errors)
        values = np.trace(E) ** 2 / np.trace(E @ E)
        return total, 1 + len(errors) * share * np.clip(values, 1, 1 / share)

    found = [judged(y - x @ S.T) for S in simple]
    evidence = min(k for _, k in found)
    odds = np.array([total ** (-evidence / 2) for total, _ in found])
    S = np.average(simple, axis=0, weights=odds)
    left = y - x @ S.T
    centre, level = (x.mean(axis=0), left.mean(axis=0)) if intercept else (0 * x[0], 0 * left[0])
    z = x - centre
    axes = np.linalg.svd(z, full_matrices=False)[2]
    penalty = ridge * np.sum(z**2) / x.shape[1]
    maps, weights = [], []
    for d in range(x.shape[1] + 1):
        for with_level in (False, True) if intercept else (False,):
            scores = z @ axes[:d].T
            gram = scores.T @ scores + penalty * np.eye(d)
            slopes = np.linalg.solve(gram, scores.T @ (left - level)).T @ axes[:d]
            total, k = judged(left - with_level * level - z @ slopes.T)
            freedom = np.trace(np.linalg.solve(gram, scores.T @ scores)) + with_level
            if freedom < k:
                maps.append((S + slopes, with_level * level - slopes @ centre))
                weights.append((total * (k + freedom) / (k - freedom)) ** (-evidence / 2) / 2 ** (d + with_level))
    return tuple(np.average([one[i] for one in maps], axis=0, weights=weights) for i in (0, 1))


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("count", [12, 60])
def test_the_map_is_the_average_of_maps_by_the_evidence_for_them(rng, count, intercept):
    x = rng.normal(size=(count, 5)) * [3, 2, 1, 0.5, 0.2] + 1
    y = x[:, :3] * 0.7 + rng.normal(size=(count, 3)) + 0.5
    simple = [np.eye(3, 5) * [1, 0, 0, 0, 0], np.outer([1, 0, 0], [0.5, -0.5, 0.5, -0.5, 0.5])]
    held = shrunk_map(Moments.empty(5, 3).add(x, y), simple, 0.2, None, 0.1, None, intercept)
    expected_map, expected_intercept = average_by_definition(x, y, simple, 0.2, 0.1, intercept)
    assert_allclose(held.forecast_map, expected_map, atol=1e-10)
    assert_allclose(held.intercept, expected_intercept, atol=1e-10)
    errors = y - x @ held.forecast_map.T - held.intercept
    assert_allclose(held.residual, errors.T @ errors / count, atol=1e-10)


def test_many_independent_futures_are_believed(rng):
    x = rng.normal(size=(20000, 4))
    moments = Moments.empty(4, 3).add(x, x[:, :3] @ rng.normal(size=(3, 3)) + x[:, 3:] + rng.normal(size=(20000, 3)))
    held = shrunk_map(moments, [np.eye(3, 4)], 0.25, None, 1e-3, None, True)
    assert_allclose(held.forecast_map, reduced_rank(moments, ridge=1e-3).forecast_map, atol=0.02)


@pytest.mark.parametrize("history", [LegT(16, 32.0), LegS(16, 20.0), LegT(8, 8.0)])
@pytest.mark.parametrize("anchor", ["none", "last"])
def test_a_map_held_back_keeps_its_rank_and_what_it_reads(rng, anchor, history):
    forecaster = Forecaster(history, horizon=16.0, anchor=anchor, rank=2)
    state = forecaster.learn(forecaster.initial_state(), walks(rng, 50)[:, 0])
    fitted = forecaster.maps(state)[0]
    P = fitted.predictive_projector
    scale = np.abs(fitted.forecast_map).max()
    assert np.linalg.matrix_rank(fitted.forecast_map, tol=1e-6 * scale) <= fitted.rank == 2
    assert_allclose(P @ P, P, atol=1e-6 * np.abs(P).max())
    assert_allclose(fitted.forecast_map @ P, fitted.forecast_map, atol=1e-6 * scale)


@pytest.mark.parametrize("anchor", ["none", "last"])
def test_forecast_replay_and_explanation_use_the_map_that_is_shown(rng, anchor):
    forecaster = Forecaster(LegT(16, 32.0), horizon=16.0, anchor=anchor)
    signal = walks(rng, 50)[:, 0]
    state = forecaster.learn(forecaster.initial_state(), signal)
    forecast = forecaster.forecast(state)
    explanation = explain(forecaster, state)
    expected = explanation.fitted.forecast_map @ explanation.past + explanation.fitted.intercept
    expected[0] += explanation.level
    assert_array_equal(explanation.fitted.forecast_map, forecaster.maps(state)[0].forecast_map)
    assert_allclose(forecast.coefficients, expected, atol=1e-12)
    assert_allclose(forecaster.replay(state, signal, 3.5)[-1], forecast.mean(3.5), rtol=1e-9)


def test_learning_in_pieces_and_merging_either_way_forecast_the_same(rng):
    forecaster = forecaster_with_candidates(float(HORIZON))
    one, two = walks(rng, 60)[:, :2].T
    whole = forecaster.learn(forecaster.initial_state(), one)
    pieces = forecaster.learn(forecaster.learn(forecaster.initial_state(), one[:23]), one[23:])
    assert_allclose(forecaster.forecast(pieces).coefficients, forecaster.forecast(whole).coefficients, atol=1e-9)
    other = forecaster.learn(forecaster.initial_state(), two)
    left, right = forecaster.merge(whole, other), forecaster.merge(other, whole)
    assert not left.validation.weight.any()
    assert_allclose(forecaster.maps(left)[0].forecast_map, forecaster.maps(right)[0].forecast_map, atol=1e-9)


@pytest.mark.parametrize("anchor", ["none", "last"])
def test_a_forecast_moves_with_the_unit_and_the_level(rng, anchor):
    forecaster = Forecaster(LegT(16, 32.0), horizon=16.0, anchor=anchor, ridge=1e-2)
    signal = walks(rng, 40)[:, 0]
    plain, other = (
        forecaster.forecast(forecaster.learn(forecaster.initial_state(), one)).samples()
        for one in (signal, 500 + 1000 * signal)
    )
    assert_allclose(other, 500 + 1000 * plain, rtol=1e-6)


@pytest.mark.parametrize("together", ["independent", "shared", "joint"])
def test_once_validated_nothing_is_held_back(rng, together):
    forecaster = Forecaster(LegT(16, 32.0), horizon=16.0, anchor=("last", "none"), together=together)
    state = forecaster.learn(forecaster.initial_state(2), walks(rng, 6 * HORIZON)[:, :2])
    assert state.validation.weight.all()
    for g, (shown, one) in enumerate(zip(forecaster.maps(state), forecaster.chosen(state), strict=True)):
        moments = forecaster.moments(state, one)[g]
        if together != "joint":
            free = reduced_rank(moments, one.rank, one.ridge)
            assert_array_equal(shown.forecast_map, free.forecast_map)
            assert_array_equal(shown.intercept, free.intercept)
        assert_allclose(shown.residual, moments.errors_of(shown.forecast_map, shown.intercept) / moments.weight)
        # The mean of what was learnt is forecast without any error: no level is held back.
        assert_allclose(shown.forecast_map @ moments.mean_x + shown.intercept, moments.mean_y, atol=1e-9)
