"""A stream gives what the layer gives, sample by sample; the first sample is checked, then nothing is."""

import numpy as np
import pytest
import torch
from torch import nn

from test_promises import MEMBERS

LAYERS = {name: make for name, (make, _) in MEMBERS.items() if isinstance(make(), nn.Module)}


@pytest.mark.parametrize("name", LAYERS)
def test_a_stream_is_the_layer_sample_by_sample(name):
    torch.manual_seed(0)
    layer = LAYERS[name]().eval()
    inputs = MEMBERS[name][1].get("inputs")
    channels = layer.channels or 3
    x = inputs(np.random.default_rng(0), 2, 20) if inputs else torch.randn(2, 20, channels, dtype=layer.dtype)
    stream = layer.stream(2) if layer.channels else layer.stream(2, channels)
    y = torch.stack([stream.push(sample) for sample in x.unbind(1)], 1)
    wanted, _ = layer(x)
    scale = wanted.detach().abs().max().item() + 1e-3
    assert (y - wanted).abs().max().item() < (2e-4 if y.dtype == torch.float32 else 1e-6) * scale
    assert not y.requires_grad
    if layer.knows_time:
        state = stream.state
        torch.testing.assert_close(stream.push(x[:, 0], 0.5), layer.step(x[:, 0], state, 0.5)[0], rtol=1e-3, atol=1e-5)


def test_the_first_sample_of_a_stream_is_checked():
    stream = LAYERS["layer-readout"]().stream(2)
    with pytest.raises(ValueError, match="is nan"):
        stream.push(torch.full((2, 3), torch.nan))
    with pytest.raises(ValueError, match="has 2 channels"):
        stream.push(torch.zeros(2, 2))
    with pytest.raises(ValueError, match="batch=-1"):
        LAYERS["layer-readout"]().stream(-1)
