"""Second-order statistics: they are what their definition says, and they add up."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from hippozoo.zoo.forecasting import Moments


def definition(x, y, w):
    total = w.sum()
    mean_x, mean_y = w @ x / total, w @ y / total
    xx = sum(wi * np.outer(a - mean_x, a - mean_x) for wi, a in zip(w, x, strict=True))
    yx = sum(wi * np.outer(b - mean_y, a - mean_x) for wi, a, b in zip(w, x, y, strict=True))
    return total, mean_x, mean_y, xx, yx


def test_moments_are_what_their_definition_says(rng):
    x, y, w = rng.normal(size=(40, 3)) + 5, rng.normal(size=(40, 2)), rng.uniform(0.1, 2.0, size=40)
    found = Moments.empty(3, 2).add(x, y, w)
    total, mean_x, mean_y, xx, yx = definition(x, y, w)
    assert_allclose([found.weight, *found.mean_x, *found.mean_y], [total, *mean_x, *mean_y])
    assert_allclose(found.xx, xx)
    assert_allclose(found.yx, yx)


@given(cuts=st.lists(st.integers(0, 60), max_size=4), seed=st.integers(0, 99))
def test_pieces_in_any_order_merge_to_the_whole(cuts, seed):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(60, 3)) + 100, rng.normal(size=(60, 2))
    edges = [0, *sorted(cuts), 60]
    pieces = [Moments.empty(3, 2).add(x[a:b], y[a:b]) for a, b in itertools.pairwise(edges)]
    merged = Moments.empty(3, 2)
    for number in rng.permutation(len(pieces)):
        merged = merged.merge(pieces[number])
    whole = Moments.empty(3, 2).add(x, y)
    assert_allclose(merged.xx, whole.xx, atol=1e-10)
    assert_allclose(merged.yx, whole.yx, atol=1e-10)
    assert_allclose(merged.mean_x, whole.mean_x)


def test_a_level_far_from_zero_costs_no_digits(rng):
    x, y = rng.normal(size=(500, 2)), rng.normal(size=(500, 2))
    near, far = Moments.empty(2, 2).add(x, y), Moments.empty(2, 2).add(x + 1e8, y - 1e8)
    assert_allclose(far.yx, near.yx, atol=1e-4)  # x itself has lost eight of sixteen digits; naive sums lose all


def test_pairs_of_weight_zero_were_never_seen(rng):
    x, y = rng.normal(size=(20, 2)), rng.normal(size=(20, 1))
    w = np.where(np.arange(20) % 3 == 0, 0.0, 1.0)
    x[w == 0] = np.nan
    assert_allclose(Moments.empty(2, 1).add(x, y, w).xx, Moments.empty(2, 1).add(x[w > 0], y[w > 0]).xx)


def test_a_signal_that_stood_still_is_told_from_one_that_moved_a_little(rng):
    moves = np.column_stack([1e-14 * rng.normal(size=(50, 2)), 1e-9 * rng.normal(size=(50, 2))])
    moments = Moments.empty(4, 2, signals=2).add(moves, np.zeros((50, 2)), levels=np.full((50, 2), 10.0))
    assert moments.still.tolist() == [True, True, False, False]
    assert moments.faded(0.01).still.tolist() == [True, True, False, False]
    assert not Moments.empty(4, 2).add(moves, np.zeros((50, 2))).still.any()  # of no level that we know


def test_pieces_merge_to_the_level_of_the_whole(rng):
    x, y, w, levels = rng.normal(size=(60, 4)), rng.normal(size=(60, 2)), rng.uniform(size=60), rng.normal(size=(60, 2))
    parts = [Moments.empty(4, 2, signals=2).add(x[a:b], y[a:b], w[a:b], levels[a:b]) for a, b in ((0, 25), (25, 60))]
    assert_allclose(parts[0].merge(parts[1]).level_squares, w @ levels**2)


def test_fading_keeps_means_and_covariances(rng):
    moments = Moments.empty(2, 1).add(rng.normal(size=(20, 2)), rng.normal(size=(20, 1)))
    faded = moments.faded(0.25)
    assert faded.weight == moments.weight / 4
    for before, after in zip(moments.covariances(), faded.covariances(), strict=True):
        assert_allclose(after, before)


@pytest.mark.parametrize("centred", [True, False])
def test_covariances_around_the_mean_or_around_zero(rng, centred):
    x, y = rng.normal(size=(50, 2)) + 3, rng.normal(size=(50, 2)) - 1
    _, cov_yx, _ = Moments.empty(2, 2).add(x, y).covariances(centred)
    expected = (y - y.mean(0)).T @ (x - x.mean(0)) / 50 if centred else y.T @ x / 50
    assert_allclose(cov_yx, expected)


def test_errors_of_a_map_need_no_pairs(rng):
    x, y = rng.normal(size=(50, 3)) + 2, rng.normal(size=(50, 2))
    forecast_map, intercept = rng.normal(size=(2, 3)), rng.normal(size=2)
    e = y - (x @ forecast_map.T + intercept)
    assert_allclose(Moments.empty(3, 2).add(x, y).errors_of(forecast_map, intercept), e.T @ e)
