"""The compiled GRU is torch's: outputs, last state and gradients."""

import pytest
import torch
from torch import nn

from hippozoo.baselines import GRU
from hippozoo.baselines.gru_scan import CompiledGRU


def outputs_and_gradients(cells, forward, x, state):
    x, state = (part.clone().requires_grad_() for part in (x, state))
    y, last = forward(x, state)
    weights = torch.linspace(-1, 1, y.numel()).view(y.shape)
    return y, last, *torch.autograd.grad((y * weights).sum() + last.square().sum(), [x, state, *cells.parameters()])


@pytest.mark.parametrize("n_steps", [1, 19])
@pytest.mark.parametrize("size", [1.0, 60.0])  # the second one drives gates to their ends
def test_the_compiled_cells_say_what_torchs_say(n_steps, size):
    torch.manual_seed(0)
    cells = CompiledGRU(3, 13)
    x, state = size * torch.randn(4, n_steps, 3), torch.randn(1, 4, 13)
    ours = outputs_and_gradients(cells, cells, x, state)
    theirs = outputs_and_gradients(cells, lambda *given: nn.GRU.forward(cells, *given), x, state)
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5 * max(1.0, other.abs().max().item()))


def test_without_a_state_it_begins_with_zeros_and_other_numbers_go_torchs_way():
    torch.manual_seed(0)
    cells, x = CompiledGRU(2, 5), torch.randn(3, 4, 2)
    torch.testing.assert_close(cells(x)[0], cells(x, torch.zeros(1, 3, 5))[0])
    double = cells.double()(x.double())[0]
    assert double.dtype == torch.float64


def test_what_is_no_number_stays_none():
    cells, x = CompiledGRU(2, 5), torch.randn(1, 4, 2)
    x[0, 2] = torch.nan
    y, _ = cells(x)
    assert y[0, :2].isfinite().all()
    assert y[0, 2:].isnan().all()


@pytest.mark.parametrize("lengths", [None, [6, 0, 3]])
def test_a_fading_gru_is_gru_d(lengths):
    """Che et al. (2018), equations 12 and 13: the hidden state fades by the time since the last sample."""
    torch.manual_seed(0)
    model = GRU(3, 2, width=5, layers=1, time="fading")
    with torch.no_grad():
        model.rate.uniform_(0.1, 1.0)
    x, state, dt = torch.randn(3, 6, 3, requires_grad=True), torch.randn(3, 1, 5), torch.rand(3, 6) + 0.1
    y, last = model(x, state, dt, lengths)
    wanted = []
    for item, length in enumerate(lengths or [6, 6, 6]):
        hidden = state[item]
        for t in range(length):
            out, _ = model.cells(x[item : item + 1, t : t + 1], hidden[None])
            hidden = out[0] * torch.exp(-torch.relu(model.rate * dt[item, t] + model.offset))
            torch.testing.assert_close(y[item, t], model.readout(out[0, 0]))
        wanted.append(hidden)
    torch.testing.assert_close(last, torch.stack(wanted))
    learnt = [x, *model.parameters()]
    ours = torch.autograd.grad(y.square().sum() + last.sum(), learnt, retain_graph=True)
    double = GRU(3, 2, width=5, layers=1, time="fading", dtype=torch.float64)
    double.load_state_dict(model.state_dict())
    x64 = x.detach().double().requires_grad_()
    y, last = double(x64, state.double(), dt, lengths)  # not compiled
    theirs = torch.autograd.grad(y.square().sum() + last.sum(), [x64, *double.parameters()])
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one.double(), other, rtol=1e-4, atol=1e-5)


def test_time_as_a_feature_is_one_more_number():
    torch.manual_seed(0)
    model, x, dt = GRU(3, 2, width=5, time="feature"), torch.randn(2, 4, 3), torch.rand(2, 4) + 0.1
    y, _ = model(x, dt=dt)
    torch.testing.assert_close(y, model.readout(model.cells(torch.cat([x, dt.log()[..., None]], -1))[0]))


def test_time_is_refused_where_it_is_not_known():
    with pytest.raises(TypeError, match="knows no time"):
        GRU(3, 2, width=4)(torch.zeros(1, 2, 3), dt=0.5)
