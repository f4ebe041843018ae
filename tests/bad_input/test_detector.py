"""What a detector refuses, in words; nothing is changed by it."""

import numpy as np
import pytest

from hippozoo.ensemble import Detector


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rate": 0}, "alarms per 1,000 readings; pass a number between 0 and 1000"),
        ({"rate": "often"}, "rate='often'"),
        ({"warmup": 1.5}, "warmup=1.5"),
        ({"silence": 0}, "silence=0"),
        ({"memory": -1.0}, "memory=-1.0"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, message):
    with pytest.raises((ValueError, TypeError), match=message):
        Detector(**settings)


@pytest.mark.parametrize(
    ("values", "errors", "message"),
    [
        (np.ones((4, 2)), np.ones((4, 2)), r"expected \(time,\)"),
        (np.ones(4), np.ones(3), "pass one error each"),
        (np.array([1.0, np.inf]), np.ones(2), "NaN is a missing reading"),
        (["a"], [1.0], "values"),
    ],
)
def test_readings_that_are_none_are_refused(values, errors, message):
    detector = Detector()
    with pytest.raises((ValueError, TypeError), match=message):
        detector.watch(detector.initial_state(), values, errors)
