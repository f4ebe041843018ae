"""What cannot be suggested for is told in a sentence."""

import numpy as np
import pytest

from hippozoo import suggest

WAVE = np.sin(2 * np.pi * np.arange(3000) / 50)


@pytest.mark.parametrize(
    ("given", "settings", "message"),
    [
        (np.ones(100), {}, "constant in at least one channel"),
        (WAVE, {"accuracy": 1.5}, "knowing only the mean gives an error of 1"),
        (WAVE, {"accuracy": -1}, "accuracy"),
        (WAVE, {"budget": 0}, "budget"),
        (WAVE, {"horizon": 5000.0}, "can be tried from 1 to 1200"),
        (WAVE, {"care": "old"}, "pass 'even' or 'recent'"),
        (WAVE, {"systems": []}, "systems is empty"),
        (WAVE, {"systems": [int]}, "pass some of"),
        (np.full(50, np.nan), {}, "all missing"),
        (np.array([1.0, np.inf] * 20), {}, "infinite"),
        (np.zeros((3, 3, 3)), {}, "pass numbers"),
        (np.arange(5.0), {}, "ten samples"),
    ],
)
def test_bad_input_is_told_in_a_sentence(given, settings, message):
    with pytest.raises((ValueError, TypeError), match=message):
        suggest(given, **settings)
