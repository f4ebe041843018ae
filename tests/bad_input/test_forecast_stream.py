"""What a stream refuses, in words."""

import numpy as np
import pytest

from hippozoo.ensemble import ForecastStream, forecaster_for
from hippozoo.ensemble.detector import DetectorState
from hippozoo.systems import LegT
from hippozoo.zoo.forecasting import Forecaster


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: ForecastStream("soon"), "pass one made by forecaster_for"),
        (lambda: ForecastStream(Forecaster(LegT(8, 20.0), horizon=4.0)), "pass one made by forecaster_for"),
        (lambda: ForecastStream(forecaster_for(6.0), coverage=1.0), "between 0 and 1"),
        (lambda: ForecastStream(forecaster_for(6.0), late="never"), "pass one of"),
        (lambda: ForecastStream(forecaster_for(6.0), channels=0), "channels=0"),
    ],
)
def test_streams_that_cannot_be_are_refused(build, message):
    with pytest.raises((ValueError, TypeError), match=message):
        build()


@pytest.mark.parametrize(
    ("value", "time", "message"),
    [
        ("high", None, "is not a number"),
        (np.inf, None, "is infinite"),
        ([1.0, 2.0], None, "takes single numbers"),
        (1.0, 3.0, "came without a time so far"),
        (True, None, "is not a number"),
    ],
)
def test_readings_that_are_none_are_refused_and_change_nothing(value, time, message):
    stream = ForecastStream(forecaster_for(6.0))
    stream.push(1.0)
    with pytest.raises((ValueError, TypeError), match=message):
        stream.push(value, time)
    assert stream.readings == 1


def test_times_that_are_none_are_refused():
    stream = ForecastStream(forecaster_for(6.0))
    with pytest.raises(ValueError, match="time"):
        stream.push(1.0, np.nan)
    with pytest.raises(ValueError, match="has not begun"):
        stream.advance(4.0)


def test_what_another_detector_knew_is_refused_and_changes_nothing():
    stream = ForecastStream(forecaster_for(6.0))
    stream.push(1.0)
    other = stream.state_dict()
    kept = vars(other["watched"]) | {"ring": np.zeros((1, 200), np.float32)}
    with pytest.raises(ValueError, match="knew has another"):
        stream.load_state_dict(other | {"watched": DetectorState(**kept)})
    assert stream.readings == 1
