"""Models by name: every recipe makes a layer for any width, and keeps the contract in a stack."""

import pytest
import torch

from hippozoo.layers import SequenceLayer, parameter_count
from hippozoo.models import RECIPES, build_model, recipe


@pytest.mark.parametrize("history", [1, 8, 100])
@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_makes_a_layer_of_any_width_for_any_history(name, history):
    layer = recipe(name, history)(6)
    assert isinstance(layer, SequenceLayer)
    y, state = layer(torch.randn(2, 9, 6))
    y, state = layer.step(torch.randn(2, 6), state)
    assert y.isfinite().all()


def test_a_model_by_name_has_the_size_asked_for():
    model = build_model(["lags", "gru", "memory"], history=20, tokens=12, params=4_000, pool="mean", outputs=3)
    assert abs(parameter_count(model) - 4_000) < 400
    assert model(torch.randint(12, (2, 20)))[0].shape == (2, 3)


def test_a_name_that_is_none_gives_the_names_there_are():
    with pytest.raises(ValueError, match="name='memroy'"):
        build_model("memroy", history=8, inputs=1, outputs=1)
    with pytest.raises(ValueError, match="layers=3"):
        build_model(["lags", "lags"], layers=3, history=8, inputs=1, outputs=1)


def test_an_unknown_option_is_named_with_the_nearest_ones():
    with pytest.raises(TypeError, match=r"unknown option droput=0.1"):
        build_model("lags", history=8, inputs=1, outputs=1, droput=0.1)
