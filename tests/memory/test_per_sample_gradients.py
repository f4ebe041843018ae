"""Gradients per sample, by vmap: those of every item alone, in every layer that learns."""

import pytest
import torch
from torch import nn
from torch.func import functional_call, grad, vmap

from hippozoo.layers import updates
from hippozoo.memory import MemoryLayer
from hippozoo.systems import LegS, LegT
from hippozoo.zoo.associative import AssociativeMemory
from hippozoo.zoo.multiscale import MultiscaleLayer, MultiscaleMemory
from hippozoo.zoo.volterra import VolterraLayer

LAYERS = {
    "readout": lambda **place: MemoryLayer(LegT(5, 9.0), outputs=2, channels=3, **place),
    "timescale": lambda **place: MemoryLayer(LegS(5, 9.0), outputs=2, channels=3, trainable_timescale=True, **place),
    "associative": lambda **place: AssociativeMemory(3, width=4, hidden=8, **place),
    "multiscale": lambda **place: MultiscaleLayer(
        MultiscaleMemory(LegT(3, 5.0), 50.0, 4), outputs=2, channels=3, **place
    ),
    "volterra": lambda **place: VolterraLayer(LegT(4, 9.0), channels=3, trainable_timescale=True, **place),
}
STEPS = {"own step": None, "one step": 0.7, "many steps": torch.linspace(0.5, 1.0, 7, dtype=torch.float64)}


# Torch has no batching rule for the gradient of unfold, takes a loop, and warns of its speed.
@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize("dt", STEPS.values(), ids=STEPS)
@pytest.mark.parametrize("make", LAYERS.values(), ids=LAYERS)
def test_gradients_per_sample_are_those_of_every_item_alone(make, dt):
    torch.manual_seed(0)
    layer: nn.Module = make(dtype=torch.float64)
    x = torch.randn(3, 7, 3, dtype=torch.float64)

    def loss(parameters, item):
        return functional_call(layer, parameters, (item[None],), {"dt": dt})[0].square().sum()

    found = vmap(grad(loss), in_dims=(None, 0))(dict(layer.named_parameters()), x)
    for number, item in enumerate(x):
        layer.zero_grad()
        layer(item[None], dt=dt)[0].square().sum().backward()
        for name, parameter in layer.named_parameters():
            torch.testing.assert_close(found[name][number], parameter.grad, rtol=1e-9, atol=1e-12)


@pytest.mark.filterwarnings("ignore:There is a performance drop")
def test_gradients_per_sample_pass_through_stretches_of_time(monkeypatch):
    torch.manual_seed(0)
    layer = MemoryLayer(LegT(4, 9.0), outputs=1, channels=1, dtype=torch.float64)
    x, dt = torch.randn(1, 7, 1, dtype=torch.float64), torch.linspace(0.5, 1.0, 7, dtype=torch.float64)
    whole = grad(lambda x: layer(x, dt=dt)[0].sum())(x)
    monkeypatch.setattr(updates, "MATRIX_BUDGET", 2 * 5**2)  # two samples at once
    torch.testing.assert_close(grad(lambda x: layer(x, dt=dt)[0].sum())(x), whole)


def test_values_are_still_looked_at_where_there_are_some():
    layer = MemoryLayer(LegT(4, 9.0), outputs=1, channels=1)
    x = torch.full((1, 5, 1), torch.nan)
    with pytest.raises(ValueError, match=r"x\[0, 0, 0\] is nan"):
        grad(lambda x: layer(x)[0].sum())(x)
