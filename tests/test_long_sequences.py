"""A gradient costs as much per sample in a long sequence as in a short one."""

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from hippozoo.baselines import DeltaNet, Transformer
from hippozoo.systems import LegT
from hippozoo.zoo.associative import AssociativeMemory
from hippozoo.zoo.salience import SalienceLayer

SYSTEM = LegT(4, timescale=9.0)


class Written(TorchDispatchMode):
    """Counts the numbers that operations write."""

    def __init__(self):
        super().__init__()
        self.numbers = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **kwargs or {})
        for one in out if isinstance(out, (tuple, list)) else [out]:
            if isinstance(one, Tensor) and not func.is_view:
                self.numbers += one.numel()
        return out


@pytest.mark.parametrize(
    ("make", "short"),
    [
        (lambda: DeltaNet(3, 2, width=4), 512),
        (lambda: Transformer(3, 2, width=4, heads=2, context=8), 128),
        (lambda: AssociativeMemory(3, width=4, hidden=4, system=SYSTEM), 2048),
        (lambda: SalienceLayer(SYSTEM, 3, summary=2, hidden=4, form="recurrent"), 128),
        (lambda: SalienceLayer(SYSTEM, 3, summary=0, hidden=4, form="table"), 512),
        (lambda: SalienceLayer(SYSTEM, 3, readout="full", outputs=1, summary=0, hidden=4, form="table"), 192),
        (lambda: SalienceLayer(SYSTEM, 3, summary=2, hidden=4, form="stepwise"), 128),
        (lambda: SalienceLayer(SYSTEM, 3, summary=0, hidden=4, form="chunkwise"), 512),
    ],
    ids=["DeltaNet", "Transformer", "AssociativeMemory", "recurrent", "table", "states", "stepwise", "chunkwise"],
)
def test_twice_as_many_samples_cost_a_gradient_twice_as_much(make, short, monkeypatch):
    monkeypatch.setattr("hippozoo.zoo.salience.layer.LOOKUPS", 16 * 21)
    monkeypatch.setattr("hippozoo.zoo.salience._table_form.NUMBERS_OF_STATES", 21 * 4)
    torch.manual_seed(0)
    layer, costs = make(), []
    for n_steps in (short, 2 * short):
        y, _ = layer(torch.randn(1, n_steps, 3, requires_grad=True))
        with Written() as written:
            y.sum().backward()
        costs.append(written.numbers)
    assert costs[1] < 2.05 * costs[0]
