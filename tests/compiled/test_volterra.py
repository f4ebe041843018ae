"""The Volterra layer leaves Python: exported, it computes the same."""

import pytest
import torch

from hippozoo.systems import LegT
from hippozoo.zoo.volterra import VolterraLayer


@pytest.mark.parametrize("rank", [None, 2])
def test_an_exported_layer_computes_the_same(rank):
    torch.manual_seed(0)
    layer = VolterraLayer(LegT(6, timescale=20.0), channels=2, outputs=3, degree=3, rank=rank)
    torch.nn.init.normal_(layer.readout.weight, std=0.1)
    x = torch.randn(2, 30, 2)
    exported = torch.export.export(layer, (x,)).module()
    for ours, theirs in zip(exported(x), layer(x), strict=True):
        torch.testing.assert_close(ours, theirs)
