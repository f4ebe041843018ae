import numpy as np
import pytest
from numpy.testing import assert_allclose

from hippozoo_studies import mean_and_sem, over_seeds


def test_the_spread_is_the_standard_error_of_the_mean(rng):
    values = rng.normal(size=7)
    spread = over_seeds(values)
    assert_allclose(spread["mean"], np.mean(values), rtol=1e-12)
    assert_allclose(spread["sem"], np.std(values, ddof=1) / np.sqrt(7), rtol=1e-12)
    assert spread["seeds"] == list(values)
    assert mean_and_sem(values) == {"mean": spread["mean"], "sem": spread["sem"]}


def test_one_seed_has_no_spread():
    assert over_seeds([3]) == {"mean": 3.0, "sem": None, "seeds": [3]}


def test_nests_are_spread_leaf_by_leaf():
    nests = [{"error": {1e3: seed, 10: 0.0}, "params": 7} for seed in (1.0, 3.0)]
    spread = over_seeds(nests)
    assert spread["error"]["1000"] == over_seeds([1.0, 3.0])
    assert spread["params"] == over_seeds([7, 7])


@pytest.mark.parametrize("other", [{"b": 1}, {"a": 1, "b": 1}, 2.0])
def test_seeds_with_different_keys_are_refused(other):
    with pytest.raises(ValueError, match="every seed needs"):
        over_seeds([{"a": 1}, other])


def test_no_values_or_nan_are_refused():
    with pytest.raises(ValueError, match="least one value"):
        over_seeds([])
    with pytest.raises(ValueError, match=r"values\[1\] is nan"):
        over_seeds([1.0, float("nan")])
