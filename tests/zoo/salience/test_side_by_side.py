"""Salience known beforehand, chunks side by side: the loop in values and gradients, at a cost linear in the length."""

import pytest
import torch

from hippozoo.systems import FouT, LegS, LegT
from hippozoo.zoo.salience import SalienceLayer, layer


def outcome(form, x, state, options, **more):
    torch.manual_seed(0)
    made = SalienceLayer(hidden=8, summary=0, form=form, dtype=torch.float64, **options)
    x, state = x.clone().requires_grad_(), state.clone().requires_grad_()
    y, after = made(x, state, **more)
    (y.square().sum() + after.square().sum()).backward()
    return [y, after, x.grad, state.grad, *(one.grad for one in made.parameters())]


@pytest.mark.parametrize("lookups", [1 << 21, 1 << 10], ids=["all at once", "in pieces"])
@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize(
    "options",
    [
        {"system": LegT(6, 20.0)},
        {"system": LegS(5, 20.0), "readout": "states"},
        {"system": FouT(5, 20.0), "readout": "full", "outputs": 2},
    ],
    ids=["shared", "states", "full"],
)
def test_chunks_side_by_side_are_the_loop_in_values_and_gradients(options, per_channel, lookups, monkeypatch):
    monkeypatch.setattr(layer, "LOOKUPS", lookups)
    torch.manual_seed(1)
    options = {"channels": 3, "per_channel": per_channel, **options}
    x, state = torch.randn(2, 75, 3).double(), torch.randn(2, 3, options["system"].order).double() / 3
    for more in ({}, {"lengths": [75, 20]}, {"dt": torch.rand(2, 75) + 0.5}):
        found, wanted = (outcome(form, x, state, options, **more) for form in ("table", "recurrent"))
        for one, other in zip(found, wanted, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6 * other.abs().max().item())


def test_the_work_grows_with_the_length_and_not_with_its_square():
    made, sizes = SalienceLayer(LegT(8, 20.0), 3, summary=0, hidden=8, form="table"), []
    for n_steps in (200, 800):
        seen = []
        with torch.autograd.graph.saved_tensors_hooks(
            lambda one, seen=seen: seen.append(one.numel()) or one, lambda one: one
        ):
            made(torch.randn(1, n_steps, 3))
        sizes.append(sum(seen))
    assert sizes[1] < 5 * sizes[0]
