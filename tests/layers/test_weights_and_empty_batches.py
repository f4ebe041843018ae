"""Weights of another memory are refused in words; an empty batch gives an empty answer."""

import io

import pytest
import torch
from torch import nn

from hippozoo._internal.nests import leaves
from hippozoo.layers import SequenceModel
from hippozoo.memory import MemoryLayer
from hippozoo.systems import LegS, LegT
from test_promises import MEMBERS

LAYERS = {name: make for name, (make, _) in MEMBERS.items() if isinstance(make(), nn.Module)}


def model(system, dt=1.0):
    return SequenceModel(3, 2, [lambda width: MemoryLayer(system, channels=width, outputs=width, dt=dt)], width=4)


@pytest.mark.parametrize(
    ("other", "named"),
    [
        (lambda: model(LegT(4, 30.0)), r"blocks.0.layers.0.system=LegT\(order=4, timescale=20.0\), but this layer has"),
        (lambda: model(LegS(4, 20.0)), r"has system=LegS\(order=4"),
        (lambda: model(LegT(4, 20.0), dt=0.5), r"dt=1.0, but this layer has dt=0.5"),
    ],
)
def test_weights_of_another_memory_are_refused(other, named):
    saved = io.BytesIO()
    torch.save(model(LegT(4, 20.0)).state_dict(), saved)
    saved.seek(0)
    weights = torch.load(saved, weights_only=True)
    with pytest.raises(RuntimeError, match=named):
        other().load_state_dict(weights)
    model(LegT(4, 20.0)).load_state_dict(weights)
    other().load_state_dict(dict(weights))  # on purpose: a plain dict says nothing of where they come from


def test_a_learnt_timescale_is_among_the_weights():
    made = [MemoryLayer(LegT(4, scale), trainable_timescale=True) for scale in (20.0, 30.0)]
    made[1].load_state_dict(made[0].state_dict())
    assert made[1].timescale == pytest.approx(20.0, rel=1e-6)


@pytest.mark.parametrize("name", LAYERS)
def test_an_empty_batch_gives_an_empty_answer(name):
    layer = LAYERS[name]()
    channels = layer.channels or 3
    tokens = "inputs" in MEMBERS[name][1]
    x = torch.zeros(0, 5, dtype=torch.long) if tokens else torch.zeros(0, 5, channels, dtype=layer.dtype)
    one = torch.zeros(1, 5, dtype=torch.long) if tokens else torch.zeros(1, 5, channels, dtype=layer.dtype)
    y, state = layer(x)
    wanted, full = layer(one)
    assert y.shape == (0, *wanted.shape[1:])
    assert [leaf.shape for _, leaf in leaves(state)] == [(0, *leaf.shape[1:]) for _, leaf in leaves(full)]
    stepped, after = layer.step(x[:, 0], state)
    assert stepped.shape[0] == 0
    assert [leaf.shape for _, leaf in leaves(after)] == [leaf.shape for _, leaf in leaves(state)]
