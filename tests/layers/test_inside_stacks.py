"""What can be read of a layer can be read of it inside a stack."""

import numpy as np
import pytest
import torch

from hippozoo.layers import SequenceModel, calls_inside
from hippozoo.memory import LagLayer, MemoryLayer
from hippozoo.systems import LegS, LegT
from hippozoo.zoo import associative, salience
from hippozoo.zoo.volterra import VolterraLayer

X = torch.randn(2, 15, 3, generator=torch.Generator().manual_seed(0))


def build(layer):
    torch.manual_seed(0)
    return SequenceModel(3, 2, [lambda width: LagLayer(LegT(3, 5.0), width, taps=2), layer], width=4)


def test_a_call_inside_a_stack_gives_the_layers_outputs_again():
    model = build(lambda width: MemoryLayer(LegT(4, 9.0), channels=width))
    seen = []
    model.stack.layers[1].layer.register_forward_hook(lambda layer, given, found: seen.append(found[0]))
    steps = torch.rand(2, 15) + 0.5
    call = calls_inside(model, MemoryLayer, X, dt=steps, lengths=[15, 7])[0]
    torch.testing.assert_close(call.layer(call.x, call.state, call.timing)[0], seen[0])
    with pytest.raises(TypeError, match="holds no SalienceLayer"):
        calls_inside(model, salience.SalienceLayer, X)


def test_salience_is_traced_inside_a_stack():
    model = build(lambda width: salience.SalienceLayer(LegT(6, 9.0), width, hidden=8))
    call = calls_inside(model, salience.SalienceLayer, X)[0]
    wanted = call.layer.salience(call.x)[1, :, 0]
    found = salience.trace(model, X, item=1)
    np.testing.assert_allclose(found.salience, wanted.detach(), rtol=1e-6)


def test_a_bank_is_traced_inside_a_stack():
    model = build(lambda width: associative.AssociativeMemory(width, width=4, hidden=8))
    seen = []
    model.stack.layers[1].layer.register_forward_hook(lambda layer, given, found: seen.append(found[0]))
    found = associative.trace(model, X[0])
    np.testing.assert_allclose(found.outputs, seen[0][0].detach(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "options",
    [
        {"outputs": 2},
        {"readout": "shared"},
        {"readout": "per_channel", "reads": 2},
        {"outputs": 1, "trainable_timescale": True},
    ],
)
def test_kernels_of_a_memory_are_what_an_impulse_leaves(options):
    layer = MemoryLayer(LegS(5, 7.0), channels=3, bias=False, dtype=torch.float64, **options)
    impulse = torch.zeros(3, 20, 3, dtype=torch.float64)
    impulse[range(3), 0, range(3)] = 1.0
    y, _ = layer(impulse)
    kernels = layer.kernels(20)
    if options.get("outputs"):
        torch.testing.assert_close(kernels, y.permute(2, 0, 1))
    else:
        alone = y.unflatten(-1, (-1, 3))[range(3), :, :, range(3)]
        torch.testing.assert_close(kernels, alone.permute(2, 0, 1))


def test_a_layer_that_reads_nothing_has_no_kernels():
    with pytest.raises(ValueError, match="reads nothing"):
        MemoryLayer(LegT(4, 9.0)).kernels(5)


@pytest.mark.parametrize("rank", [None, 2])
def test_kernels_of_a_volterra_layer_give_its_output(rank):
    torch.manual_seed(0)
    layer = VolterraLayer(LegT(3, 6.0), outputs=2, rank=rank, dtype=torch.float64)
    torch.nn.init.normal_(layer.readout.weight)
    x = torch.randn(1, 12, 1, dtype=torch.float64)
    y, _ = layer(x)
    past = x[0, :, 0].flip(0).numpy()
    first, second = layer.kernels(1, 12), layer.kernels(2, 12)
    constant = layer.readout(torch.zeros(1, 3, dtype=torch.float64))[0].detach().numpy()
    wanted = constant + first @ past + np.einsum("oij,i,j->o", second, past, past)
    np.testing.assert_allclose(y[0, -1].detach(), wanted, rtol=1e-9)


def test_reconstruct_is_that_of_the_system_with_gradients():
    layer = MemoryLayer(LegT(6, 20.0), dtype=torch.float64)
    state = torch.randn(2, 3, 6, dtype=torch.float64, requires_grad=True)
    lags = [0.0, 3.5, 19.0]
    found = layer.reconstruct(state, lags)
    np.testing.assert_allclose(found.detach(), layer.system.reconstruct(state.detach().numpy(), np.array(lags)))
    found.sum().backward()
    np.testing.assert_allclose(state.grad[0, 0], layer.system.basis(np.array(lags)).sum(0))
    with pytest.raises(ValueError, match="6 coefficients"):
        layer.reconstruct(torch.zeros(2, 5), lags)
