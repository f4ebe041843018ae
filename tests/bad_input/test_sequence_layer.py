"""What every layer refuses, in the words of the shared contract."""

import pytest
import torch
from torch.nn.utils.rnn import pack_sequence

from hippozoo.baselines import LSTM
from hippozoo.memory import MemoryLayer
from hippozoo.systems import LegT
from hippozoo.zoo.associative import AssociativeMemory
from hippozoo.zoo.salience import SalienceLayer, SalienceModel

SYSTEM = LegT(order=4, timescale=9.0)


@pytest.mark.parametrize(
    "make",
    [
        lambda: MemoryLayer(SYSTEM, channels=3),
        lambda: SalienceLayer(SYSTEM, channels=3),
        lambda: SalienceModel(3, 2, SYSTEM, width=4),
        lambda: AssociativeMemory(channels=3, hidden=5),
        lambda: LSTM(3, 2, width=4),
    ],
    ids=["memory", "salience", "salience-model", "associative", "lstm"],
)
def test_one_sequence_without_a_batch_is_told_how_to_be_one(make):
    with pytest.raises(ValueError, match=r"x\[None\] for one"):
        make()(torch.randn(6, 3))


def test_a_packed_sequence_is_refused_with_the_right_advice_where_it_cannot_be_taken():
    packed = pack_sequence([torch.ones(4, 3), torch.ones(2, 3)], enforce_sorted=False)
    layer = SalienceLayer(SYSTEM, channels=3)
    for call in (lambda: layer.salience(packed), lambda: layer.step(packed, layer.initial_state(2))):
        with pytest.raises(TypeError, match=r"x is a PackedSequence"):
            call()
