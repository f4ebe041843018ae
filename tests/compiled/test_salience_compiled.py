"""Salience under torch.compile and torch.export: the same numbers, the same gradients."""

import pytest
import torch
from torch import nn

from hippozoo.systems import LegT
from hippozoo.zoo.salience import SalienceLayer


class Step(nn.Module):
    """One step as a module, which is what export functions want."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x, state):
        return self.layer.step(x, state)


@pytest.mark.parametrize("summary", [0, 4])
def test_an_exported_step_streams_like_the_layer(summary):
    torch.manual_seed(0)
    layer = SalienceLayer(LegT(16, timescale=20.0), channels=3, outputs=2, summary=summary)
    x = torch.randn(2, 6, 3)
    state = other = layer.initial_state(2)
    program = torch.export.export(Step(layer), (x[:, 0], state)).module()
    for t in range(6):
        y, state = layer.step(x[:, t], state)
        exported, other = program(x[:, t], other)
        assert torch.allclose(exported, y, atol=1e-6)
    assert torch.allclose(other, state, atol=1e-6)


# torch's own compiler instantiates autograd functions, and warns about it.
@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")
@pytest.mark.parametrize("summary", [0, 4])
def test_a_compiled_layer_gives_the_same_values_and_gradients(summary):
    torch.manual_seed(0)
    layer = SalienceLayer(LegT(16, timescale=20.0), channels=3, outputs=2, summary=summary)
    x = torch.randn(2, 8, 3)
    results = []
    for call in (layer, torch.compile(layer, backend="aot_eager")):
        layer.zero_grad()
        y, state = call(x)
        (y.square().sum() + state.square().sum()).backward()
        gradients = [p.grad.clone() for p in layer.parameters() if p.grad is not None]
        results.append([y.detach(), state.detach(), *gradients])
    for one, other in zip(*results, strict=True):
        assert torch.allclose(one, other, rtol=1e-4, atol=1e-5)
