"""Mamba: the scan is the recurrence, its gradients are right, and mambapy with the same weights says the same."""

import numpy as np
import pytest
import torch

from hippozoo.baselines import Mamba
from hippozoo.baselines._selective_scan import selective_scan
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


@pytest.mark.parametrize("n_steps", [1, 32, 37])
def test_the_scan_is_the_recurrence(n_steps):
    x, steps, A, B, C, state = scan_arguments(n_steps)
    y, after = selective_scan(x, steps, A, B, C, state)
    for item in range(len(x)):
        one = (part[item].numpy() for part in (x, steps))
        rest = (part[item].numpy() for part in (B, C, state))
        outputs, last = slow_scan(*one, A.numpy(), *rest)
        np.testing.assert_allclose(y[item], outputs, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(after[item], last, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n_steps", [1, 19])
def test_the_backward_pass_is_the_derivative_of_outputs_and_last_state(n_steps):
    arguments = [part.requires_grad_() for part in scan_arguments(n_steps, batch=2, channels=2, order=3)]
    assert torch.autograd.gradcheck(selective_scan, arguments)


@pytest.mark.parametrize("n_steps", [1, 19])
def test_the_compiled_scan_says_what_the_plain_one_says(n_steps):
    arguments = scan_arguments(n_steps, batch=3, channels=21, order=5)
    arguments[1][:, ::4] = 0.0  # no time passes
    arguments[1][:, 1::7] = 300.0  # all is forgotten
    found = []
    for dtype in (torch.float32, torch.float64):
        given = [part.to(dtype).requires_grad_() for part in arguments]
        y, after = selective_scan(*given)
        weights = torch.linspace(-1, 1, y.numel(), dtype=torch.float64).view(y.shape).to(dtype)
        found.append((y, after, *torch.autograd.grad((y * weights).sum() + after.square().sum(), given)))
    for single, double in zip(*found, strict=True):
        assert single.dtype == torch.float32
        torch.testing.assert_close(single.double(), double, rtol=2e-5, atol=2e-5 * double.abs().max().item())


def test_the_compiled_scan_hides_nothing_that_is_no_number():
    arguments = [part.float() for part in scan_arguments(3)]
    arguments[2][0, 0] = torch.nan
    y, _ = selective_scan(*arguments)
    assert y[..., 0].isnan().all()
    assert y[..., 1:].isfinite().all()


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


@pytest.mark.parametrize("kind", [{}, {"shared_step": True}, {"step_sees_state": True}])
def test_the_time_steps_shown_are_those_that_the_memory_took(kind):
    torch.manual_seed(0)
    model = Mamba(inputs=3, outputs=2, width=6, order=4, dt_rank=2, dtype=torch.float64, **kind)
    x = torch.randn(2, 9, 3, dtype=torch.float64)
    _, state = model(torch.randn(2, 5, 3, dtype=torch.float64))
    steps = model.time_steps(x, state)[:, :, 0]
    block = model.blocks[0]
    u, _ = block.enter(block.norm(model.encoder(x))).chunk(2, dim=-1)
    u, _ = block.convolution(u, state.samples[:, 0], None)
    u = torch.nn.functional.silu(u)
    _, B, C = block.select(u).split([2, 4, 4], dim=-1)
    for item in range(2):
        given = (part[item].detach().numpy() for part in (u, steps))
        rest = (part[item].detach().numpy() for part in (B, C, state.memory[:, 0]))
        _, last = slow_scan(*given, -block.log_A.detach().exp().numpy(), *rest)
        np.testing.assert_allclose(model(x, state)[1].memory[item, 0].detach(), last, rtol=1e-12)
    apart = (steps - steps[..., :1]).abs().max() > 0
    assert bool(apart) != model.shared_step


def test_the_rank_of_the_time_steps_is_the_number_of_directions_they_take():
    model = Mamba(inputs=3, outputs=2, width=20, dt_rank=2, dtype=torch.float64)
    steps = model.time_steps(torch.randn(1, 40, 3, dtype=torch.float64))[0, :, 0]
    before_softplus = torch.log(torch.expm1(steps))
    assert torch.linalg.matrix_rank(before_softplus - before_softplus[0], rtol=1e-6) == 2
    assert model.configuration()["dt_rank"] == 2


def test_a_step_that_sees_the_state_does_not_run_away_with_it():
    torch.manual_seed(0)
    model = Mamba(inputs=3, outputs=2, width=6, step_sees_state=True)
    block = model.blocks[0]
    with torch.no_grad():
        block.see.weight.mul_(1000.0)
        block.select.weight.mul_(30.0)
        block.to_steps.weight.abs_()
        y, state = model(torch.randn(64, 200, 3))
    assert torch.isfinite(y).all()
    assert state.memory.abs().max() < 1e6


def test_a_step_that_sees_the_state_differs_from_one_that_does_not():
    torch.manual_seed(0)
    model = Mamba(inputs=3, outputs=2, width=6, step_sees_state=True)
    x, one, two = torch.randn(1, 4, 3), *(model(torch.randn(1, 9, 3))[1] for _ in range(2))
    same_samples = two._replace(samples=one.samples)
    assert (model.time_steps(x, one) - model.time_steps(x, same_samples)).abs().max() > 1e-6
    other = Mamba(inputs=3, outputs=2, width=6)
    torch.testing.assert_close(other.time_steps(x, one), other.time_steps(x, same_samples), rtol=0, atol=0)
