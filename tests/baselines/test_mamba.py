"""Mamba: the scan is the recurrence, its gradients are right, and mambapy with the same weights says the same."""

import numpy as np
import pytest
import torch

from hippozoo.baselines import Mamba
from hippozoo.baselines._selective_scan import STRETCH, selective_scan
from hippozoo.baselines._short_convolution import ShortConvolution
from oracles import selective_scan as slow_scan

mambapy = pytest.importorskip("mambapy.mamba", reason="mambapy is not installed")


def scan_arguments(n_steps, batch=2, channels=3, order=4):
    generator = torch.Generator().manual_seed(0)
    normal = lambda *shape: torch.randn(shape, dtype=torch.float64, generator=generator)  # noqa: E731
    return [
        normal(batch, n_steps, channels),
        normal(batch, n_steps, channels).exp() / 4,
        -normal(order, channels).exp(),
        normal(batch, n_steps, order),
        normal(batch, n_steps, order),
        normal(batch, order, channels),
    ]


@pytest.mark.parametrize("n_steps", [1, 2 * STRETCH, 2 * STRETCH + 5])
def test_the_scan_is_the_recurrence(n_steps):
    x, steps, A, B, C, state = scan_arguments(n_steps)
    y, after = selective_scan(x, steps, A, B, C, state)
    for item in range(len(x)):
        one = (part[item].numpy() for part in (x, steps))
        rest = (part[item].numpy() for part in (B, C, state))
        outputs, last = slow_scan(*one, A.numpy(), *rest)
        np.testing.assert_allclose(y[item], outputs, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(after[item], last, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n_steps", [1, STRETCH + 3])
def test_the_backward_pass_is_the_derivative_of_outputs_and_last_state(n_steps):
    arguments = [part.requires_grad_() for part in scan_arguments(n_steps, batch=2, channels=2, order=3)]
    assert torch.autograd.gradcheck(selective_scan, arguments)


def test_the_short_convolution_is_torchs_and_its_gradients_are_right():
    layer = ShortConvolution(5, taps=4, device=torch.device("cpu"), dtype=torch.float64)
    x = torch.randn(2, 9, 5, dtype=torch.float64, requires_grad=True)
    before = torch.randn(2, 3, 5, dtype=torch.float64, requires_grad=True)
    y, after = layer(x, before, None)
    signal = torch.cat([before, x], 1).mT
    wanted = torch.nn.functional.conv1d(signal, layer.weight.T[:, None], layer.bias, groups=5).mT
    torch.testing.assert_close(y, wanted)
    torch.testing.assert_close(after, x[:, -3:])
    sources = [x, before, *layer.parameters()]
    weights = torch.randn_like(y)
    ours, theirs = (torch.autograd.grad((found * weights).sum(), sources) for found in (y, wanted))
    torch.testing.assert_close(ours, theirs)


def theirs_with_our_weights(model):
    config = mambapy.MambaConfig(model.width, model.layers, d_state=model.order, expand_factor=model.expand)
    theirs = mambapy.Mamba(config).to(model.dtype)
    with torch.no_grad():
        for ours, layer in zip(model.blocks, theirs.layers, strict=True):
            mixer = layer.mixer
            layer.norm.weight.copy_(ours.norm.weight)
            for name, weight in {
                "in_proj": ours.enter.weight,
                "x_proj": ours.select.weight,
                "dt_proj": ours.to_steps.weight,
                "out_proj": ours.leave.weight,
            }.items():
                getattr(mixer, name).weight.copy_(weight)
            mixer.dt_proj.bias.copy_(ours.to_steps.bias)
            mixer.conv1d.weight.copy_(ours.convolution.weight.T[:, None])
            mixer.conv1d.bias.copy_(ours.convolution.bias)
            mixer.A_log.copy_(ours.log_A.T)
            mixer.D.copy_(ours.skip)
    return theirs


@pytest.mark.parametrize("layers", [1, 2])
def test_mambapy_with_the_same_weights_says_the_same_and_feels_the_same(layers):
    torch.manual_seed(0)
    model = Mamba(inputs=3, outputs=2, width=10, layers=layers)
    with torch.no_grad():  # at the start A and D are the same in all channels, which would hide a mistake
        for parameter in model.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
    theirs = theirs_with_our_weights(model)
    x = torch.randn(4, 37, 3)
    ours_y, _ = model(x)
    theirs_y = model.readout(model.norm(theirs(model.encoder(x))))
    torch.testing.assert_close(ours_y, theirs_y, rtol=1e-4, atol=1e-5)

    weights = torch.randn_like(ours_y)
    first, second = model.blocks[0], theirs.layers[0].mixer
    ours = torch.autograd.grad((ours_y * weights).sum(), [first.log_A, first.enter.weight, first.to_steps.bias])
    wanted = torch.autograd.grad((theirs_y * weights).sum(), [second.A_log, second.in_proj.weight, second.dt_proj.bias])
    torch.testing.assert_close(ours[0], wanted[0].T, rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(ours[1:], wanted[1:], rtol=1e-3, atol=1e-4)
