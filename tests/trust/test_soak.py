"""A short soak of every streaming form; ``make trust`` feeds a hundred million samples."""

import pytest

from trust.soak import FORMS, PIECE, soak

# What float32 and online learning leave; everything else is rounding.
LIMITS = {
    "MemoryLayer in pieces, float32": 1e-4,
    "MultiscaleLayer in pieces, float32": 1e-4,
    "Memory.final in pieces, float32": 1e-4,
    "Volterra learner (NLMS) in pieces": 1e-3,
    "Volterra learner (SGD) in pieces": 0.1,
    "Volterra learner (RidgeRLS) in pieces": 1e-6,
    "Forecaster.learn in pieces": 1e-3,
}


@pytest.mark.parametrize("name", FORMS)
def test_the_error_is_small_after_a_short_soak(name):
    found = soak(name, PIECE)
    assert found["samples"] == PIECE
    assert found["error"][str(PIECE)] < LIMITS.get(name, 1e-10)
