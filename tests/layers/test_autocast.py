"""Backward inside autocast: it works, and backward passes of our own keep to the precision of the layer."""

import pytest
import torch

from test_promises import MEMBERS

NAMES = [
    "layer-readout", "layer-per-channel", "layer-trainable-readout", "lags-float32", "salience", "salience-input-only",
    "salience-per-channel", "mamba-float32", "deltanet-float32", "s4d-float32", "associative-float32", "recall-float32",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_backward_inside_autocast_gives_nearly_the_same_gradients(name):
    torch.manual_seed(0)
    layer = MEMBERS[name][0]().float()
    x = torch.randn(2, 50, layer.channels or 3)
    found = []
    for mixed in (False, True):
        layer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=mixed):
            layer(x)[0].square().sum().backward()
        found.append([parameter.grad.clone() for parameter in layer.parameters()])
    for wanted, one in zip(*found, strict=True):
        assert one.dtype == torch.float32
        # torch's own linear maps go backwards in half a precision there: eight bits.
        torch.testing.assert_close(one, wanted, rtol=2e-2, atol=2e-2 * wanted.abs().max().item() + 1e-6)
