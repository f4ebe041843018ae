"""Recurrences without a loop over time: they are the loop, in values and in gradients."""

import pytest
import torch

from hippozoo.baselines import Mamba, _selective_scan
from hippozoo.baselines._selective_scan import scan_as_tree

# torch's own, of its forward derivatives.
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")


def looped(decays, arrived):
    states = [arrived[:, 0]]
    for decay, arrival in zip(decays[:, 1:].unbind(1), arrived[:, 1:].unbind(1), strict=True):
        states.append(decay * states[-1] + arrival)
    return torch.stack(states, 1)


@pytest.mark.parametrize("n_steps", [1, 2, 3, 4, 7, 16, 37, 100])
def test_a_scan_is_the_loop(n_steps):
    torch.manual_seed(0)
    decays, arrived = torch.rand(2, n_steps, 3, dtype=torch.float64), torch.randn(2, n_steps, 3, dtype=torch.float64)
    torch.testing.assert_close(scan_as_tree(decays, arrived), looped(decays, arrived))


def given(n_steps, batch=2, order=3, channels=4):
    torch.manual_seed(0)
    place = {"dtype": torch.float64, "requires_grad": True}
    x = torch.randn(batch, n_steps, channels, **place)
    steps = torch.rand(batch, n_steps, channels, **place)
    A = (-torch.rand(order, channels, dtype=torch.float64) - 0.1).requires_grad_()
    B, C = torch.randn(batch, n_steps, order, **place), torch.randn(batch, n_steps, order, **place)
    return x, steps, A, B, C, torch.randn(batch, order, channels, **place)


@pytest.mark.parametrize("held", [1 << 19, 24 * 16, 24 * 7], ids=["one stretch", "16", "7"])
@pytest.mark.parametrize("n_steps", [1, 5, 16, 50])
def test_all_samples_at_once_are_the_loop_in_values_and_gradients(n_steps, held, monkeypatch):
    monkeypatch.setattr(_selective_scan, "HELD", held)
    found = []
    for scan in (_selective_scan.all_at_once, _selective_scan.one_by_one):
        arguments = given(n_steps)
        y, state = scan(*arguments)
        (y.square().sum() + state.sum()).backward()
        found.append([y, state, *(one.grad for one in arguments)])
    torch.testing.assert_close(*found, rtol=1e-10, atol=1e-12)


def test_mamba_has_derivatives_forwards():
    torch.manual_seed(0)
    model = Mamba(3, 2, width=4, order=3, dtype=torch.float64)
    x, tangent = torch.randn(2, 9, 3, dtype=torch.float64), torch.randn(2, 9, 3, dtype=torch.float64)
    _, found = torch.func.jvp(lambda x: model(x)[0], (x,), (tangent,))
    with torch.autograd.forward_ad.dual_level():
        y, _ = model(torch.autograd.forward_ad.make_dual(x, tangent))
        dual = torch.autograd.forward_ad.unpack_dual(y).tangent
    step = 1e-6
    numeric = (model(x + step * tangent)[0] - model(x - step * tangent)[0]) / (2 * step)
    torch.testing.assert_close(found, numeric, rtol=1e-6, atol=1e-8)
    torch.testing.assert_close(dual, numeric, rtol=1e-6, atol=1e-8)
