"""Recall: what followed a context is found again by it, and one can see where it came from."""

import numpy as np
import pytest
import torch

from hippozoo.layers import Stack
from hippozoo.memory import LagLayer
from hippozoo.systems import LegT
from hippozoo.zoo.associative import Recall


def slow(layer, x, values):
    """The definition, one sample after the other, in NumPy: a write under the last address, then a read."""
    weight, bias = (part.detach().numpy() for part in (layer.write_gate.weight[0], layer.write_gate.bias))
    size = layer.directions**layer.factors
    bank, before, outputs = np.zeros((values.shape[1], size)), np.zeros(size), []
    for sample, value in zip(x, values, strict=True):
        gate = 1 / (1 + np.exp(-(weight @ sample + bias)))
        bank = bank + gate * np.outer(value - bank @ before, before)
        address = np.ones(1)
        for factor in range(layer.factors):
            part = sample[factor * layer.directions : (factor + 1) * layer.directions]
            address = np.outer(address, part / np.linalg.norm(part)).ravel()
        outputs.append(bank @ address)
        before = address
    return np.stack(outputs)


def drawn(channels=6, **options):
    torch.manual_seed(0)
    layer = Recall(channels, dtype=torch.float64, **options)
    torch.nn.init.normal_(layer.write_gate.weight)
    return layer


@pytest.mark.parametrize("options", [{}, {"factors": 3}, {"factors": 1, "directions": 4}])
def test_a_value_is_written_under_the_moment_before_it_then_the_present_is_looked_up(options):
    layer = drawn(7, **options)
    x = torch.randn(2, 150, 7, dtype=torch.float64)
    y, _ = layer(x)
    for item in x:
        np.testing.assert_allclose(layer(item[None])[0][0].detach(), slow(layer, item.numpy(), item.numpy()), atol=1e-9)
    assert y.shape == x.shape


def test_in_a_stack_moments_are_what_the_blocks_below_make_and_values_are_what_entered():
    torch.manual_seed(0)
    below = lambda width: LagLayer(LegT(3, 5.0), width, taps=2)  # noqa: E731
    stack = Stack(6, [below, Recall], gate=False, dtype=torch.float64)
    x = torch.randn(1, 90, 6, dtype=torch.float64)
    lower, upper = stack.layers
    with torch.no_grad():
        contexts, _ = lower(x)
        moments = upper.enter(upper.before(contexts))
        wanted = contexts + upper.leave(torch.from_numpy(slow(upper.layer, moments[0].numpy(), x[0].numpy())))
        torch.testing.assert_close(stack(x)[0], wanted, rtol=1e-9, atol=1e-9)


def test_what_came_next_is_recalled_when_the_moment_comes_back():
    layer = Recall(16, dtype=torch.float64)
    torch.nn.init.constant_(layer.write_gate.bias, 6.0)
    symbols = torch.randn(12, 16, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    y, _ = layer(symbols[[*range(12), 3, 9, 5]][None])  # the first time, 6 came after 5
    assert (y[0, -1] @ symbols.T).argmax() == 6


def test_the_carriers_of_a_read_are_its_weights_and_none_lies_in_the_future():
    layer = drawn()
    x = torch.randn(2, 90, 6, dtype=torch.float64)
    carriers = layer.carriers(x)
    torch.testing.assert_close(carriers @ x, layer(x)[0])
    assert torch.triu(carriers, 1).abs().max() == 0


def test_moments_that_differ_wholly_in_one_part_share_no_address():
    layer = drawn(4)
    one, other = (layer._features(layer._address(torch.tensor(x).double())) for x in ([3, 0, 1, 2], [0, 5, 1, 2]))
    assert (one * other).sum().abs() < 1e-12
    assert one.norm() == pytest.approx(1)


def test_parts_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"parts of directions=4"):
        Recall(7, directions=4)
