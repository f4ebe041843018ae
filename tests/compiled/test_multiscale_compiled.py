"""The multiscale layer leaves Python: exported and compiled it gives the same numbers."""

import pytest
import torch

from hippozoo.systems import LegT
from hippozoo.zoo.multiscale import MultiscaleLayer, MultiscaleMemory

MEMORY = MultiscaleMemory(LegT(4, timescale=5.0), longest=200.0, construction="bank")


@pytest.mark.parametrize("options", [{}, {"horizons": (7.0, 90.0)}, {"outputs": 3, "channels": 2}])
def test_an_exported_layer_gives_the_same(options):
    torch.manual_seed(0)
    layer = MultiscaleLayer(MEMORY, **options)
    x, state = torch.randn(3, 70, 2), torch.randn(3, 2, *MEMORY.initial_state().shape)
    program = torch.export.export(layer, (x, state))
    for found, expected in zip(program.module()(x, state), layer(x, state), strict=True):
        torch.testing.assert_close(found, expected)
