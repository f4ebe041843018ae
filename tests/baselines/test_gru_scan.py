"""The compiled GRU is torch's: outputs, last state and gradients."""

import pytest
import torch
from torch import nn

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
