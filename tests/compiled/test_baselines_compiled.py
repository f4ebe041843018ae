"""Baselines as graphs: compiled they give the outputs and gradients, exported the outputs, of eager mode."""

import pytest
import torch

from hippozoo._internal.nests import leaves
from hippozoo.baselines import DeltaNet, Mamba

# torch's own compiler instantiates autograd functions, and warns about it.
pytestmark = pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")


@pytest.fixture(params=[Mamba, DeltaNet])
def model(request):
    torch.compiler.reset()
    torch.manual_seed(0)
    return request.param(3, 2, width=4, layers=2)


def test_a_compiled_model_gives_the_same_outputs_and_gradients(model):
    x = torch.randn(2, 20, 3)
    results = []
    for call in (model, torch.compile(model, fullgraph=True, backend="aot_eager")):
        y, state = call(x)
        loss = y.square().sum() + sum(leaf.square().sum() for _, leaf in leaves(state))
        results.append([y, *torch.autograd.grad(loss, list(model.parameters()))])
    for found, wanted in zip(*results, strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


def test_an_exported_model_gives_the_same_outputs(model):
    x = torch.randn(2, 20, 3)
    found, _ = torch.export.export(model, (x,)).module()(x)
    torch.testing.assert_close(found, model(x)[0], rtol=1e-4, atol=1e-5)
