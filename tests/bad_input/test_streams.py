"""What a stream refuses, and that nothing has changed then."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from hippozoo.ensemble import ForecastStream, forecaster_for


def test_many_readings_are_checked_before_any_is_taken_in():
    stream = ForecastStream(forecaster_for(6.0))
    stream.push_many(np.sin(np.arange(20.0)), np.arange(20.0))
    for values, times, words in (
        ([1.0, 2.0], [20.0, 19.5], r"times\[1\]=19.5 is not after 20.0"),
        ([1.0, np.inf], [20.0, 21.0], "values hold inf, which is infinite or too large"),
        ([1.0, 2.0], [20.0], r"times have shape \(1,\), and there are 2"),
        ([[1.0], [2.0]], [20.0, 21.0], r"values have shape \(2, 1\), but this stream takes \(time,\)"),
        (["a", "b"], [20.0, 21.0], "pass numbers, NaN where one is missing"),
        ([1.0, 2.0], None, "readings came with a time so far"),
    ):
        with pytest.raises((TypeError, ValueError), match=words):
            stream.push_many(np.array(values), None if times is None else np.array(times))
    assert stream.readings == 20
    skipping = ForecastStream(forecaster_for(6.0), late="skip")
    pushed = skipping.push_many(np.array([1.0, 5.0, 2.0]), np.array([0.0, 0.0, 1.0]))
    assert (skipping.readings, skipping.skipped) == (2, 1)
    assert_array_equal(np.isnan(pushed.p), [False, True, False])
