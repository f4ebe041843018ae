"""MemoryFeatures: gaps, channels, times of their own, and streams."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

pytest.importorskip("sklearn", reason="needs scikit-learn")

from hippozoo import LegT, Memory
from hippozoo.estimators import MemoryFeatures


def test_a_gap_holds_the_last_value_and_a_late_start_the_first(rng):
    series = rng.normal(size=(3, 40))
    held = series.copy()
    held[0, 10:13] = held[0, 9]
    held[1, :5] = held[1, 5]
    series[0, 10:13], series[1, :5] = np.nan, np.nan
    assert_allclose(MemoryFeatures(6).fit_transform(series), MemoryFeatures(6).fit_transform(held))


def test_channels_stand_one_after_the_other(rng):
    series = rng.normal(size=(4, 30, 2))
    both = MemoryFeatures(5).fit(series)
    alone = [MemoryFeatures(5).fit_transform(series[:, :, channel]) for channel in range(2)]
    assert_allclose(both.transform(series), np.hstack(alone))
    assert len(both.get_feature_names_out()) == 10
    with pytest.raises(ValueError, match="fit saw 2"):
        both.transform(series[:, :, :1])


def test_times_of_their_own_are_steps_of_the_memory(rng):
    series, times = rng.normal(size=(2, 25)), np.cumsum(rng.uniform(0.5, 2.0, size=25))
    features = MemoryFeatures(6, timescale=10.0, times=times).fit_transform(series)
    steps = np.append(np.diff(times), np.median(np.diff(times)))
    assert_allclose(features[1], Memory(LegT(6, 10.0)).final(series[1], dt=steps))
    even = MemoryFeatures(6, times=np.arange(25.0)).fit_transform(series)
    assert_allclose(even, MemoryFeatures(6).fit_transform(series), atol=1e-10)


def test_a_stream_ends_with_the_features_of_its_series(rng):
    series = rng.normal(size=(2, 30, 3))
    made = MemoryFeatures(5).fit(series)
    stream = made.stream()
    for row in series[1]:
        stream.push(row)
    assert_allclose(np.ravel(stream.state), made.transform(series)[1], atol=1e-10)


@pytest.mark.parametrize(
    ("settings", "series", "message"),
    [
        ({"times": [0.0, 2.0, 1.0]}, np.ones((2, 3)), "pass one for each of the 3 columns, rising"),
        ({"times": [0.0, 1.0]}, np.ones((2, 3)), "pass one for each of the 3 columns"),
        ({}, np.array([[1.0, 2.0], [np.nan, np.nan]]), "series 1 has no values"),
    ],
)
def test_what_cannot_be_used_is_told(settings, series, message):
    with pytest.raises(ValueError, match=message):
        MemoryFeatures(2, **settings).fit_transform(series)
