"""What `fit_system`, and what it finds, say to records they cannot take."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from hippozoo.memory import Memory
from hippozoo.systems import LegS
from hippozoo.zoo.volterra import BoundedLoop, FeedbackLoop, FeedbackWeights, fit_system
from short_series import small_tank

PIECES = [slice(begin, begin + 25) for begin in range(0, 225, 25)]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"signal": np.ones((240, 1))}, r"signal has shape \(240, 1\); pass one record, \(time,\), here np.ravel\(sig"),
        ({"signal": np.ones((240, 2))}, r"\(240, 2\).* several records go into a list, .* one input and one output"),
        ({"signal": [np.ones((240, 1))], "target": [np.ones(240)]}, r"signal\[0\] has shape \(240, 1\)"),
        ({"signal": [np.ones(240)], "target": None}, r"signal is a list of records and target=None; pass a list"),
        ({"signal": [], "target": []}, r"signal has no samples; pass at least one"),
        (
            {"target": np.append(np.nan, np.ones(239))},
            r"target\[0\] is nan.* Fill the gap, or cut the record there",
        ),
        ({"forms": "linear"}, r"forms='linear': pass several of linear, .* for example \('linear', 'loop'\)"),
        (
            {"signal": ["a"] * 240},
            r"signal has dtype <U1; pass real numbers, for example np.asarray\(signal, float\)\.$",
        ),
        ({"known": 100}, r"240 samples are too few .* at least 280 samples, fewer blocks, or a smaller known"),
        ({"forms": None}, r"forms=None: pass several"),
        ({"forms": ("linear", "lop")}, r"forms=\('linear', 'lop'\): pass several of linear, polynomial"),
        ({"forms": ()}, r"forms=\(\): pass several"),
        ({"progress": 1}, r"progress=1 cannot be called"),
        (
            {
                "signal": [small_tank()[0][piece] for piece in PIECES],
                "target": [small_tank()[1][piece] for piece in PIECES],
            },
            r"no record leaves more than 30 samples to learn from .* the longest has 25; pass longer records, or a",
        ),
        (
            {"signal": [small_tank()[0][:80]] * 4, "target": [small_tank()[1][:80]] * 4, "most_rows": 200, "known": 35},
            r"the longest has 50 after most_rows=200 cut it; .* a larger most_rows, or a smaller known",
        ),
    ],
)
def test_what_cannot_be_fitted_is_refused_in_words(change, words):
    u, y = small_tank()
    with pytest.raises((ValueError, TypeError), match=words):
        fit_system(**{"signal": u, "target": y, "blocks": 2, "forms": ("linear",)} | change)


@pytest.fixture(scope="module")
def loop():
    return fit_system(*small_tank(), blocks=2, forms=("loop",))


@pytest.mark.parametrize(
    ("signal", "known", "words"),
    [
        (np.zeros(0), None, r"signal has no samples; pass at least one"),
        (np.ones((30, 1)), None, r"signal has shape \(30, 1\); pass one record, \(time,\), here np.ravel\(signal\)"),
        (np.ones((2, 30)), None, r"several records are simulated one by one"),
        ([1.0, np.nan], None, r"signal\[1\] is nan.* Fill the gap, or cut"),
        (np.ones(30), np.full(5, 1e200), r"known 1e\+200, .* this system was fitted to inputs of .* in the same units"),
    ],
)
def test_what_cannot_be_simulated_is_refused_in_words(loop, signal, known, words):
    with pytest.raises(ValueError, match=words):
        loop.simulate(signal, known)


def test_lists_and_whole_numbers_are_as_good_as_arrays():
    loop = BoundedLoop(Memory(LegS(order=2, timescale=3.0)), [[0, 1], [1, 0]], -9, 9)
    parameters, signal = [0, 1, 0, 0.5, 0], [0, 1, 2, -1]
    expected = loop.simulate(np.array(parameters, float), np.array(signal, float), np.array([1.0, 2.0]))
    assert_array_equal(loop.simulate(parameters, signal, [1, 2]), expected)
    assert_array_equal(loop.simulate(parameters, signal, []), loop.simulate(parameters, signal))
    assert loop == BoundedLoop(Memory(LegS(order=2, timescale=3.0)), ((0, 1), (1, 0)), -9.0, 9.0)
    plain, weights = FeedbackLoop(loop.memory, degree=1), FeedbackWeights(0.0, np.ones(2), np.zeros((1, 2)))
    assert_array_equal(plain.simulate(weights, signal, known=[]), plain.simulate(weights, signal))
