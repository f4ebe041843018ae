"""The contract that all layers share: packed sequences, lists of lengths, sizes by a budget, one step for export."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pack_sequence, pad_packed_sequence

from hippozoo._internal.nests import leaves
from hippozoo.baselines import LSTM
from hippozoo.layers import SequenceLayer, Timing, parameter_count
from hippozoo.memory import MemoryLayer
from hippozoo.systems import LegT
from hippozoo.zoo.associative import AssociativeMemory
from hippozoo.zoo.multiscale import MultiscaleLayer, MultiscaleMemory
from hippozoo.zoo.salience import SalienceLayer, SalienceModel
from hippozoo.zoo.volterra import VolterraLayer

SYSTEM = LegT(order=4, timescale=9.0)
LAYERS = {
    "memory": lambda: MemoryLayer(SYSTEM, channels=3, outputs=2),
    "states": lambda: MemoryLayer(SYSTEM, channels=3),
    "multiscale": lambda: MultiscaleLayer(MultiscaleMemory(SYSTEM, 90.0, scales=3), channels=3, horizons=(20.0,)),
    "salience": lambda: SalienceLayer(SYSTEM, channels=3),
    "salience-model": lambda: SalienceModel(3, 2, SYSTEM, width=4),
    "associative": lambda: AssociativeMemory(channels=3, width=4, hidden=5),
    "volterra": lambda: VolterraLayer(SYSTEM, channels=3, outputs=2),
    "lstm": lambda: LSTM(3, 2, width=5),
}


@pytest.fixture(params=LAYERS)
def layer(request):
    torch.manual_seed(0)
    return LAYERS[request.param]()


def ragged():
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(length, 3, generator=generator) for length in (4, 7, 2, 7)]


@pytest.mark.parametrize("sort", [False, True])
def test_a_packed_sequence_is_given_back_packed(layer, sort):
    pieces = sorted(ragged(), key=len, reverse=True) if sort else ragged()
    packed = pack_sequence(pieces, enforce_sorted=sort)
    y, state = layer(packed)
    assert isinstance(y, PackedSequence)
    assert torch.equal(y.batch_sizes, packed.batch_sizes)
    padded, lengths = pad_packed_sequence(y, batch_first=True)
    for item, piece in enumerate(pieces):
        alone, after = layer(piece[None])
        torch.testing.assert_close(padded[item, : lengths[item]], alone[0], rtol=1e-4, atol=1e-5)
        for (_, found), (_, wanted) in zip(leaves(state), leaves(after), strict=True):
            torch.testing.assert_close(found[item], wanted[0], rtol=1e-4, atol=1e-5)


def test_a_packed_sequence_goes_where_torchs_own_layers_go():
    packed = pack_sequence(ragged(), enforce_sorted=False)
    y, _ = MemoryLayer(SYSTEM, channels=3, outputs=5)(packed)
    behind, _ = nn.GRU(5, 2)(y)
    assert torch.equal(behind.unsorted_indices, packed.unsorted_indices)


def test_a_packed_sequence_has_lengths_of_its_own(layer):
    packed = pack_padded_sequence(torch.ones(2, 5, 3), torch.tensor([5, 3]), batch_first=True)
    with pytest.raises(ValueError, match="given with a PackedSequence"):
        layer(packed, lengths=[5, 3])


@pytest.mark.parametrize("kind", [list, tuple, np.array])
def test_lengths_may_be_a_list(layer, kind):
    x = torch.randn(3, 6, 3)
    found, wanted = layer(x, lengths=kind([6, 1, 4])), layer(x, lengths=torch.tensor([6, 1, 4]))
    assert torch.equal(found[0], wanted[0])


@pytest.mark.parametrize("lengths", [[6, 1], [6, 1, 4.0], [6, 1, 7], "614", [[6], [1], [4]]])
def test_other_lists_are_no_lengths(layer, lengths):
    with pytest.raises((ValueError, TypeError), match="lengths"):
        layer(torch.randn(3, 6, 3), lengths=lengths)


@torch.no_grad()
def test_a_step_is_exported(layer):
    x, state = torch.randn(2, 3), layer(torch.randn(2, 5, 3))[1]
    program = torch.export.export(layer.eval().exportable("one"), (x, state))
    torch.testing.assert_close(program.module()(x, state)[0], layer.step(x, state)[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("Layer", [AssociativeMemory, SalienceModel, SalienceLayer])
def test_a_layer_is_matched_to_a_budget(Layer):
    options = {"inputs": 3, "outputs": 2} if Layer is SalienceModel else {"channels": 3}
    options |= {"hidden": 5} if Layer is AssociativeMemory else {"system": SYSTEM}
    assert abs(parameter_count(Layer.match(params=5_000, **options)) - 5_000) < 300


def test_a_layer_without_a_size_to_vary_says_so():
    with pytest.raises(TypeError, match="MemoryLayer"):
        MemoryLayer.match(system=SYSTEM)


class Sum(SequenceLayer):
    """Neither parameters nor tables: nothing but the contract."""

    def _start(self, batch, channels):
        return torch.zeros(batch, channels, dtype=self.dtype, device=self.device)

    def _roll(self, x, state, timing):
        sums = x.cumsum(1) + self._begin(x, state)[:, None]
        return sums, sums[:, -1]


def test_a_layer_of_nothing_follows_its_dtype():
    layer = Sum(channels=2).double()
    y, _ = layer(torch.ones(1, 4, 2, dtype=torch.float64))
    assert y[0, :, 0].tolist() == [1.0, 2.0, 3.0, 4.0]
    assert layer.configuration() == {"channels": 2}
    with pytest.raises(TypeError, match=r"torch.float64"):
        layer(torch.ones(1, 4, 2))


def test_time_that_nobody_gave_is_the_layers_own():
    assert Timing().each(2, 3, default=0.5).tolist() == [[0.5, 0.5, 0.5]]
