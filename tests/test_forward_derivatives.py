"""Derivatives forwards, as torch.autograd.forward_ad takes them: layers with backward passes of their own too.

Not of Transformer: torch has none of its attention on a processor.
"""

import pytest
import torch
from torch.autograd import forward_ad

from test_promises import MEMBERS

# torch's own, of its forward derivatives.
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
NAMES = [
    "layer-readout-float64", "layer-shared", "lags", "lags-shared", "multiscale-layer-per-channel", "volterra-layer",
    "salience-input-only", "salience-per-channel", "salience-model", "associative", "recall", "mamba",
    "mamba-sees-state", "deltanet", "s4d", "model",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_layer_has_derivatives_forwards(name):
    torch.manual_seed(0)
    layer = MEMBERS[name][0]()
    channels = layer.channels or 3
    x, tangent = (torch.randn(2, 20, channels, dtype=torch.float64) for _ in range(2))
    with forward_ad.dual_level():
        y, _ = layer(forward_ad.make_dual(x, tangent))
        found = forward_ad.unpack_dual(y).tangent
    step = 1e-5
    wanted = (layer(x + step * tangent)[0] - layer(x - step * tangent)[0]) / (2 * step)
    torch.testing.assert_close(found, wanted.detach(), rtol=1e-4, atol=1e-5)
