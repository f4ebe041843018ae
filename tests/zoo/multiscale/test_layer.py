"""The torch layer is the NumPy memory with gradients."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from torch.autograd import gradcheck

from hippozoo.systems import LegS, LegT
from hippozoo.zoo.multiscale import MultiscaleLayer, MultiscaleMemory

BANK = MultiscaleMemory(LegT(4, timescale=5.0), longest=200.0, scales=4, construction="bank")
LOG = MultiscaleMemory(LegS(3, timescale=5.0), longest=100.0, scales=7, dt=0.5)


def make(memory, **options):
    torch.manual_seed(0)
    return MultiscaleLayer(memory, dtype=torch.float64, **options)


@pytest.mark.parametrize("n_steps", [1, 31, 32, 33, 100])
@pytest.mark.parametrize("memory", [BANK, LOG], ids=["bank", "log"])
def test_states_are_those_of_the_memory(memory, n_steps, rng):
    signal = rng.normal(size=(n_steps, 2))
    y, state = make(memory)(torch.from_numpy(signal)[None])
    assert_allclose(y[0].numpy(), memory.scan(signal), atol=1e-12)
    assert_allclose(state[0].numpy(), memory.final(signal), atol=1e-12)


def test_coefficients_at_horizons_are_those_of_the_memory(rng):
    signal = rng.normal(size=(90, 2))
    for memory in (BANK, LOG):
        y, state = make(memory, horizons=(7.0, 60.0))(torch.from_numpy(signal)[None])
        states = memory.scan(signal)
        assert_allclose(y[0].numpy(), memory.coefficients(states, np.array([7.0, 60.0])), atol=1e-11)
        assert_allclose(state[0].numpy(), states[-1], atol=1e-12)


@pytest.mark.parametrize("horizons", [None, (7.0, 60.0)])
def test_a_readout_weighs_what_would_be_given_otherwise(horizons, rng):
    x = torch.from_numpy(rng.normal(size=(3, 70, 2)))
    layer = make(BANK, outputs=5, channels=2, horizons=horizons)
    given, _ = make(BANK, horizons=horizons)(x)
    y, _ = layer(x)
    assert_allclose(y.detach(), layer.readout(given.flatten(2)).detach(), atol=1e-12)
    y_step, _ = layer.step(x[:, 0], layer.initial_state(3))
    assert_allclose(y_step.detach(), y[:, 0].detach(), atol=1e-12)


@pytest.mark.parametrize("options", [{}, {"horizons": (7.0, 60.0)}, {"outputs": 3, "channels": 2}])
def test_irregular_steps_are_taken_exactly(options, rng):
    signal, dt = rng.normal(size=(20, 2)), rng.uniform(0.1, 8.0, size=20)
    layer = make(BANK, **options)
    y, state = layer(torch.from_numpy(signal)[None], dt=torch.from_numpy(dt))
    assert_allclose(state[0].detach(), BANK.final(signal, dt=dt), atol=1e-11)
    stepped = layer.initial_state(1, 2)
    for t in range(20):
        out, stepped = layer.step(torch.from_numpy(signal[t])[None], stepped, dt=torch.tensor([dt[t]]))
        assert_allclose(out.detach(), y[:, t].detach(), atol=1e-11)
    whole, _ = layer(torch.from_numpy(signal)[None], dt=2.0)
    assert_allclose(
        whole[0, -1].detach(), layer(torch.from_numpy(signal)[None], dt=torch.full((20,), 2.0))[0][0, -1].detach()
    )


def test_no_time_passes_in_padding(rng):
    x = torch.from_numpy(rng.normal(size=(4, 50, 2)))
    lengths = torch.tensor([50, 33, 32, 0])
    spoilt = torch.where((torch.arange(50) < lengths[:, None])[..., None], x, torch.nan)
    layer = make(BANK, horizons=(7.0,))
    before = torch.from_numpy(rng.normal(size=(4, 2, 4, 4)))
    for dt in (None, torch.from_numpy(rng.uniform(0.1, 3.0, size=50))):
        y, state = layer(spoilt, before, dt=dt, lengths=lengths)
        for i, n in enumerate(lengths.tolist()):
            assert (y[i, n:] == 0).all()
            if n == 0:
                assert_allclose(state[i], before[i])
                continue
            alone, after = layer(x[i : i + 1, :n], before[i : i + 1], dt=None if dt is None else dt[:n])
            assert_allclose(y[i, :n], alone[0], atol=1e-12)
            assert_allclose(state[i], after[0], atol=1e-12)


@pytest.mark.parametrize("options", [{}, {"horizons": (7.0, 60.0)}, {"outputs": 3, "channels": 2}])
def test_gradients_are_right(options, rng):
    small = MultiscaleMemory(LegT(2, timescale=5.0), longest=100.0, scales=3, construction="bank")
    layer = make(small, **options)
    x = torch.from_numpy(rng.normal(size=(2, 5, 2))).requires_grad_()
    state = torch.from_numpy(rng.normal(size=(2, 2, 2, 3))).requires_grad_()
    dt = torch.from_numpy(rng.uniform(0.5, 3.0, size=(2, 5))).requires_grad_()
    assert gradcheck(lambda x, s: layer(x, s), (x, state))
    assert gradcheck(lambda x, s: layer(x, s, lengths=torch.tensor([5, 3])), (x, state))
    assert gradcheck(lambda x, s, d: layer(x, s, dt=d), (x, state, dt))
    if "outputs" in options:
        weight = layer.readout.weight
        layer(x)[0].square().sum().backward()
        assert weight.grad is not None
        assert weight.grad.abs().max() > 0


def test_it_learns_what_was_said_far_back():
    """A readout of one state learns, by gradient descent, the means over a short and over a long past."""
    torch.manual_seed(1)
    memory = MultiscaleMemory(LegT(4, timescale=8.0), longest=128.0, scales=5, construction="bank")
    layer = MultiscaleLayer(memory, horizons=(8.0, 128.0), outputs=2, channels=1)
    x = torch.randn(16, 256, 1).cumsum(1) / 16
    cells = torch.nn.functional.pad(x[..., 0].cumsum(1), (1, 0))
    target = torch.stack([(cells[:, 136:] - cells[:, 136 - n : -n]) / n for n in (8, 128)], -1)
    optimiser = torch.optim.Adam(layer.parameters(), lr=0.05)
    for _ in range(150):
        loss = (layer(x)[0][:, 135:] - target).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    assert loss.item() < 0.02 * target.var().item()


def test_precision_follows_the_layer_and_tables_are_not_saved():
    layer = MultiscaleLayer(BANK, outputs=2, channels=1)
    assert set(layer.state_dict()) == {"_extra_state", "readout.weight", "readout.bias"}
    assert_allclose(layer.double()._A_d.numpy(), make(BANK)._A_d.numpy(), atol=1e-15)
    with torch.autocast("cpu", torch.bfloat16):
        y, state = MultiscaleLayer(BANK)(torch.ones(1, 40, 1, dtype=torch.bfloat16))
    assert (y.dtype, state.dtype) == (torch.float32, torch.float32)


def test_states_go_in_and_come_out_unharmed(rng):
    layer = make(LOG)
    x, state = torch.from_numpy(rng.normal(size=(2, 40, 3))), torch.from_numpy(rng.normal(size=(2, 3, 3, 7)))
    before = state.clone()
    whole, last = layer(x, state)
    first, middle = layer(x[:, :17], state)
    second, end = layer(x[:, 17:], middle)
    assert_allclose(torch.cat([first, second], 1), whole, atol=1e-12)
    assert_allclose(end, last, atol=1e-12)
    assert torch.equal(state, before)
