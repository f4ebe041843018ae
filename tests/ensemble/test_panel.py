"""A panel: every series scaled, the mean of all lent to each, against plain definitions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from hippozoo.ensemble import forecaster_for
from hippozoo.ensemble.moments import Moments, symmetric
from hippozoo.ensemble.records import open_map

LENT = 500.0  # pairs that the others count as


def panel(rng: np.random.Generator, steps: int = 150) -> np.ndarray:
    """Five series of one process, of different size and length."""
    values = np.zeros((steps, 5))
    for t in range(1, steps):
        values[t] = 0.9 * values[t - 1] + rng.normal(size=5)
    values = (values + 20) * np.array([1.0, 8.0, 64.0, 1024.0, 0.25])
    values[:70, 1] = values[:110, 3] = np.nan
    return values


def forecasts(values: np.ndarray, together: str = "panel") -> np.ndarray:
    forecaster = forecaster_for(6, together=together)
    state = forecaster.initial_state(values.shape[1])
    state = forecaster.learn(state, np.nan_to_num(values), mask=np.isfinite(values))
    return forecaster.forecast(state).samples()


def test_maps_are_those_of_each_series_and_the_mean_of_all(rng):
    """Ridge regression from C_c + 500 s_c² mean_i (C_i / (n_i s_i²)), s² being the mean variance of a coefficient."""
    values = panel(rng)
    forecaster = forecaster_for(6, together="panel")
    state = forecaster.learn(forecaster.initial_state(5), np.nan_to_num(values), mask=np.isfinite(values))
    mixer, mixture = forecaster.mixer, state.mixture
    found, moments = mixer.maps(mixture), mixture.moments.kinds(mixer.plan)
    for n, (memory, _, _) in enumerate(mixer.kinds):
        q = mixer.systems[memory].order
        weight, _, _, packed, yx = moments[n]
        xx = symmetric(packed, q)
        square = np.array([np.trace(one) for one in xx]) / weight
        mean_xx = np.mean([a / (w * s) for a, w, s in zip(xx, weight, square, strict=True)], axis=0)
        mean_yx = np.mean([a / (w * s) for a, w, s in zip(yx, weight, square, strict=True)], axis=0)
        for c in range(5):
            own, across = xx[c] + LENT * square[c] * mean_xx, yx[c] + LENT * square[c] * mean_yx
            for r, ridge in enumerate(mixer.ridges):
                wanted = np.linalg.solve(own + ridge * np.trace(own) / q * np.eye(q), across.T).T
                leads = slice(r * mixer.horizon, (r + 1) * mixer.horizon)
                columns = open_map.py_func(found[c], n, mixer.plan).columns
                assert_allclose(columns[:, leads].T, wanted, rtol=1e-7, atol=1e-9)


def test_the_size_of_one_series_changes_nothing_for_the_others(rng):
    values = panel(rng)
    larger = values * np.array([1.0, 1.0, 2.0**20, 1.0, 1.0])
    plain, scaled = forecasts(values), forecasts(larger)
    assert_array_equal(np.delete(scaled, 2, axis=0), np.delete(plain, 2, axis=0))
    assert_array_equal(scaled[2], plain[2] * 2.0**20)


def test_copies_of_one_series_are_forecast_alike_and_a_series_alone_as_by_itself(rng):
    one = panel(rng)[:, :1]
    copies = forecasts(np.tile(one, 4))
    assert_array_equal(copies, np.tile(copies[:1], (4, 1)))
    # With nobody else there is nothing to lend but itself: the same map, up to rounding.
    assert_allclose(forecasts(one), forecasts(one, "independent"), rtol=1e-6)


def test_a_series_without_pairs_of_its_own_borrows_nothing_and_lends_nothing(rng):
    values = panel(rng)
    newcomer = np.full((len(values), 1), np.nan)
    newcomer[-5:] = 7.0
    together = forecasts(np.hstack([values, newcomer]))
    assert_array_equal(together[:5], forecasts(values))
    assert_allclose(together[5], 7.0)


def test_what_is_lent_matters_less_the_longer_a_series_is(rng):
    values = panel(rng, 900)[:, [0, 2, 4]]
    forecaster = forecaster_for(6, together="panel")
    state = forecaster.learn(forecaster.initial_state(3), values)
    many = Moments(state.mixture.moments.numbers.copy())
    for weight, _, _, xx, yx in many.kinds(forecaster.mixer.plan):
        for one in (weight, xx, yx):
            one *= 100
    gaps = []
    for moments in (state.mixture.moments, many):
        lent, own = (replace(state.mixture, moments=Moments(moments.numbers)) for _ in range(2))
        columns = [
            open_map.py_func(maker.mixer.maps(one)[c], n, forecaster.mixer.plan).columns
            for maker, one in ((forecaster, lent), (forecaster_for(6), own))
            for n in range(4)
            for c in range(3)
        ]
        gaps.append(max(np.abs(a - b).max() for a, b in zip(columns[:12], columns[12:], strict=True)))
    assert gaps[1] < 0.1 * gaps[0]
