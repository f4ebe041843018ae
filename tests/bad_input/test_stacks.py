"""Layers that are stacked: what was given, what is allowed, what to do."""

import pytest
import torch

from hippozoo.layers import Block, SequenceModel, Stack
from hippozoo.memory import LagLayer, MemoryLayer
from hippozoo.systems import LegT


def recent(width):
    return LagLayer(LegT(4, 8.0), width, taps=2)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LagLayer((), 2), "nothing is remembered"),
        (lambda: LagLayer((3,), 2), "systems holds 3"),
        (lambda: LagLayer(LegT(4, 8.0), 2, taps=-1), "taps=-1"),
        (lambda: LagLayer(LegT(4, 8.0), 0), "channels=0"),
        (lambda: MemoryLayer(LegT(4, 8.0), readout="own"), "choose from 'states', 'full', 'shared', 'per_channel'"),
        (lambda: MemoryLayer(LegT(4, 8.0), readout="shared"), "readout='shared' without channels"),
        (lambda: MemoryLayer(LegT(4, 8.0), channels=2, readout="full"), "without outputs"),
        (lambda: MemoryLayer(LegT(4, 8.0), channels=2, outputs=1, readout="states"), "leave out outputs=1"),
        (lambda: MemoryLayer(LegT(4, 8.0), channels=2, readout="shared", reads=2), "readout='per_channel' for several"),
        (lambda: Block(4, 7), "7 gave 7, which is no layer; pass a function of the width"),
        (
            lambda: Block(4, lambda width: torch.nn.Linear(width, width)),
            "cannot stand in a stack: it lacks",
        ),
        (lambda: Block(4, recent(3)), "takes 3 channels, but the block has width=4"),
        (lambda: Block(4, recent, norm="batch"), "choose from 'rms', 'layer'"),
        (lambda: Block(4, recent, dropout=1.0), "0 <= dropout < 1"),
        (lambda: Stack(4, []), "at least one"),
        (lambda: SequenceModel(3, 2, []), "at least one"),
        (lambda: SequenceModel(outputs=2, layers=[recent]), "inputs=None and tokens=None"),
        (lambda: SequenceModel(3, layers=[recent]), "how many numbers an answer has"),
        (lambda: SequenceModel(tokens=9, outputs=3, tied=True, layers=[recent]), "answers with a token"),
        (lambda: SequenceModel(3, 2, [recent], pool="first"), "choose from None, 'last', 'mean'"),
    ],
)
def test_what_cannot_be_built(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make()


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (torch.zeros(2, 5), "dtype torch.float32; pass whole numbers"),
        (torch.tensor([[1, 9]]), r"x\[0, 1\] is 9: pass values from 0 to 8"),
        (torch.tensor([[-1, 2]]), r"is -1: pass values"),
        (torch.zeros(5, dtype=torch.long), r"expected tokens \(batch, time\)"),
        (torch.zeros(2, 5, 9, dtype=torch.long), "no one-hot vectors"),
        (torch.zeros(2, 0, dtype=torch.long), "holds nothing"),
        ([[1, 2]], "is a list; pass a tensor of tokens"),
    ],
)
def test_tokens_are_whole_numbers_of_the_alphabet(x, message):
    model = SequenceModel(tokens=9, layers=[recent], width=4)
    with pytest.raises((TypeError, ValueError), match=message):
        model(x)


def test_a_state_of_another_stack_is_refused():
    model = SequenceModel(3, 2, [recent] * 2, width=4)
    other = SequenceModel(3, 2, [recent] * 3, width=4)
    with pytest.raises(TypeError, match=r"layer returned"):
        model(torch.zeros(1, 5, 3), other.initial_state(1))
    with pytest.raises(TypeError, match="state=None"):
        model.step(torch.zeros(1, 3), None)


def test_one_answer_is_no_packed_sequence():
    model = SequenceModel(3, 2, [recent], width=4, pool="last")
    packed = torch.nn.utils.rnn.pack_sequence([torch.zeros(5, 3)])
    with pytest.raises(TypeError, match="answer per sequence"):
        model(packed)


def test_a_layer_for_any_number_of_channels_may_be_stacked():
    assert Block(4, MemoryLayer(LegT(3, 5.0)))(torch.zeros(1, 5, 4))[0].shape == (1, 5, 4)
