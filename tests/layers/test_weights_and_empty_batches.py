"""Weights of another memory are refused in words; an empty batch gives an empty answer."""

import io

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn
from torch.distributed.checkpoint.state_dict import get_model_state_dict

from hippozoo._internal.nests import leaves
from hippozoo.baselines import LSTM
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
    plain = {name: value for name, value in weights.items() if not name.endswith("_extra_state")}
    other().load_state_dict(plain)  # on purpose, or of another maker: nothing says where they come from


@pytest.mark.parametrize("way", ["safetensors", "plain dict", "average", "distributed"])
def test_the_meaning_of_weights_goes_where_weights_go(way, tmp_path):
    weights = model(LegT(4, 20.0)).state_dict()
    if way == "safetensors":
        save_file(weights, tmp_path / "weights.safetensors")
        weights = load_file(tmp_path / "weights.safetensors")
    elif way == "average":
        weights = {name: 0.9 * value + 0.1 * value for name, value in weights.items()}
    elif way == "distributed":
        weights = get_model_state_dict(model(LegT(4, 20.0)))
    else:
        weights = dict(weights)
    model(LegT(4, 20.0)).load_state_dict(weights)
    with pytest.raises(RuntimeError, match=r"timescale=20.0\), but this layer has"):
        model(LegT(4, 30.0)).load_state_dict(weights)


def test_layers_whose_weights_say_everything_add_nothing_to_them():
    assert set(LSTM(3, 2, 4).state_dict()) == {name for name, _ in LSTM(3, 2, 4).named_parameters()}


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
