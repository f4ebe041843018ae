"""A layer leaves the meta device whole, whichever way it goes; without values it says so."""

import functools

import numpy as np
import pytest
import torch
from torch import nn

from hippozoo.zoo.associative import PolynomialBank
from hippozoo.zoo.volterra import VolterraReadout
from test_promises import MEMBERS

LAYERS = {name: make for name, (make, _) in MEMBERS.items() if isinstance(make(), nn.Module)}


@functools.cache
def trained(name):
    """A layer whose weights are not those it was made with, samples, and what it says of them."""
    torch.manual_seed(0)
    layer = LAYERS[name]()
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    inputs = MEMBERS[name][1].get("inputs")  # of those that take tokens
    x = inputs(np.random.default_rng(0), 2, 9) if inputs else torch.randn(2, 9, layer.channels or 3, dtype=layer.dtype)
    return layer, x, layer(x)[0].detach()


def on_meta(name):
    with torch.device("meta"):
        return LAYERS[name]()


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_made_on_meta_and_given_weights_is_the_layer_they_come_from(name):
    layer, x, wanted = trained(name)
    assigned = on_meta(name)
    assigned.load_state_dict(layer.state_dict(), assign=True)
    assert torch.equal(assigned(x)[0], wanted)
    stepped = on_meta(name)
    stepped.load_state_dict(layer.state_dict(), assign=True)
    if any(True for _ in stepped.parameters()):  # else nothing says where the layer is
        sizes = (2,) if layer.channels else (2, 3)
        y, _ = stepped.step(x[:, 0], stepped.initial_state(*sizes))
        assert torch.equal(y, layer.step(x[:, 0], layer.initial_state(*sizes))[0])


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("make", [on_meta, lambda name: LAYERS[name]()], ids=["from-meta", "in-place"])
def test_an_emptied_layer_given_weights_is_the_layer_they_come_from(name, make):
    layer, x, wanted = trained(name)
    emptied = make(name).to_empty(device="cpu")
    emptied.load_state_dict(layer.state_dict())
    assert torch.equal(emptied(x)[0], wanted)


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_without_values_gives_none(name):
    _, x, wanted = trained(name)
    layer = on_meta(name)
    if any(True for _ in layer.parameters()):
        with pytest.raises(ValueError, match=r"where numbers"):
            layer(x)
    else:  # its configuration is all there is to it
        assert torch.equal(layer(x)[0], wanted)


@pytest.mark.parametrize("name", LAYERS)
def test_samples_without_values_are_refused(name):
    layer, x, _ = trained(name)
    with pytest.raises(ValueError, match="make it there"):
        layer(x.to("meta"))


def test_a_bank_made_on_meta_is_filled_where_it_is_used():
    with torch.device("meta"):
        bank = PolynomialBank(channels=2)
    plain, address, value = PolynomialBank(channels=2), torch.rand(3), torch.randn(3, 2)
    state = plain.write(plain.initial_state(3), address, value)
    assert torch.equal(bank.read(state, address), plain.read(state, address))
    with pytest.raises(ValueError, match="value is on meta"):
        bank.write(state, address, value.to("meta"))
    emptied = PolynomialBank(channels=2).to_empty(device="cpu")
    assert torch.equal(emptied.features(address), plain.features(address))


def test_a_polynomial_made_on_meta_is_filled_where_its_weights_are():
    with torch.device("meta"):
        readout = VolterraReadout(3, outputs=2, degree=3)
    plain, x = VolterraReadout(3, outputs=2, degree=3), torch.randn(5, 3)
    with pytest.raises(ValueError, match="states is on cpu"):
        readout(x)
    readout.load_state_dict(plain.state_dict(), assign=True)
    assert (readout.parameters_of(1) == plain.parameters_of(1)).all()
    assert torch.equal(readout(x), plain(x))
