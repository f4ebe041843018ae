"""Missing samples: time passes, and the last value seen is held."""

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_sequence

from hippozoo.layers import SequenceModel
from hippozoo.memory import LagLayer, Memory, MemoryLayer
from hippozoo.memory.missing import hold_missing
from hippozoo.systems import LegT
from test_promises import MEMBERS

LAYERS = {
    name: make for name, (make, options) in MEMBERS.items() if isinstance(make(), nn.Module) and "inputs" not in options
}


def gappy(layer, n_steps=20):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(2, n_steps, layer.channels or 3, dtype=layer.dtype, generator=generator)
    return x, torch.rand(2, n_steps, generator=generator) < 0.6


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_holds_the_last_value_through_a_gap(name):
    torch.manual_seed(0)
    layer = LAYERS[name]().eval()
    x, mask = gappy(layer)
    filled = [torch.as_tensor(hold_missing(one.numpy(), there.numpy())) for one, there in zip(x, mask, strict=True)]
    wanted, _ = layer(torch.stack(filled).to(x))
    spoilt = torch.where(mask[..., None], x, torch.nan).requires_grad_()
    found, _ = layer(spoilt, mask=mask)
    assert torch.equal(found, wanted)
    each = mask[..., None].expand_as(x)
    assert torch.equal(layer(spoilt.detach(), mask=each)[0], wanted)
    found.square().sum().backward()
    assert spoilt.grad.isfinite().all()
    assert not spoilt.grad[~mask].any()


def test_channels_are_missing_one_by_one_as_in_a_memory():
    layer = MemoryLayer(LegT(5, 9.0), dtype=torch.float64)
    x = torch.randn(1, 15, 2, dtype=torch.float64)
    mask, steps = torch.rand(1, 15, 2) < 0.5, torch.rand(1, 15, dtype=torch.float64) + 0.5
    wanted = Memory(layer.system).scan(x[0].numpy(), dt=steps[0].numpy(), mask=mask[0].numpy())
    torch.testing.assert_close(layer(x, dt=steps, mask=mask)[0][0], torch.as_tensor(wanted))


def test_gaps_and_padding_are_two_things():
    model = SequenceModel(3, 2, [lambda width: LagLayer(LegT(4, 9.0), width)], width=4, pool="mean")
    x, mask = gappy(model)
    alone, _ = model(x[1:, :7], mask=mask[1:, :7])
    torch.testing.assert_close(model(x, mask=mask, lengths=[20, 7])[0][1:], alone)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda layer, x: layer(x, mask=x > 0, state=layer.initial_state(2, 3)), r"mask\[0, 0.*is False: with a state"),
        (lambda layer, x: layer(x, mask=x[:, :4, 0] > 0), r"mask has shape \(2, 4\), but x has \(2, 5, 3\)"),
    ],
)
def test_a_mask_that_does_not_fit_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call(MemoryLayer(LegT(4, 9.0)), -torch.ones(2, 5, 3))


def test_tokens_and_packed_sequences_take_no_mask():
    model = SequenceModel(tokens=5, layers=[lambda width: LagLayer(LegT(4, 9.0), width)], width=4)
    with pytest.raises(TypeError, match="a token that means missing"):
        model(torch.zeros(1, 3, dtype=torch.long), mask=torch.ones(1, 3, dtype=torch.bool))
    with pytest.raises(TypeError, match="mask was given with a PackedSequence"):
        MemoryLayer(LegT(4, 9.0))(pack_sequence([torch.ones(3, 1)]), mask=torch.ones(1, 3, dtype=torch.bool))
