"""What ForecastLayer refuses."""

import numpy as np
import pytest
import torch

from hippozoo.zoo.forecasting import ForecastLayer


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rank": 0}, "rank=0"),
        ({"ridge": 0.0}, "ridge=0.0"),
        ({"future_metric": np.ones((2, 3))}, "pass a symmetric matrix"),
        ({"future_metric": -np.eye(2)}, "positive definite"),
    ],
)
def test_options_that_make_no_map_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        ForecastLayer(**options)


def test_states_without_futures_are_refused():
    with pytest.raises(ValueError, match="future for each"):
        ForecastLayer().fit(torch.zeros(5, 3), torch.zeros(4, 2))
    with pytest.raises(ValueError, match="two or more"):
        ForecastLayer().fit(torch.zeros(1, 3), torch.zeros(1, 2))
    with pytest.raises(ValueError, match="is for 2 outputs"):
        ForecastLayer(1, future_metric=np.eye(2)).fit(torch.randn(9, 4), torch.randn(9, 3))
