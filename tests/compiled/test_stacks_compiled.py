"""Blocks of a stack, compiled one by one: each is a graph of its own, and the stack says what it said."""

import copy

import pytest
import torch
from torch._dynamo.testing import CompileCounterWithBackend

from hippozoo.layers import Block, SequenceModel
from hippozoo.memory import LagLayer, MemoryLayer
from hippozoo.systems import LegT
from hippozoo.zoo.associative import Recall

pytestmark = pytest.mark.filterwarnings("ignore:The .grad attribute:UserWarning")  # torch's own, while it compiles

X = torch.randn(2, 12, 3, generator=torch.Generator().manual_seed(1))


def build():
    torch.manual_seed(0)
    layers = [
        lambda width: MemoryLayer(LegT(4, 9.0), channels=width, outputs=width),
        lambda width: Block(width, LagLayer(LegT(3, 5.0), width, taps=2), beside=Recall(width)),
    ]
    return SequenceModel(3, 2, layers, width=4)


def answers(model):
    y, state = model(X[:, :-1])
    last, _ = model.step(X[:, -1], state)
    (y.sum() + last.sum()).backward()
    return [y, last, *(parameter.grad for parameter in model.parameters())]


def test_a_compiled_block_stands_in_a_stack():
    torch._dynamo.reset()
    model = build()
    wanted = answers(copy.deepcopy(model))
    counter = CompileCounterWithBackend("aot_eager")
    model.stack.blocks[0] = torch.compile(model.stack.blocks[0], backend=counter)
    torch.testing.assert_close(answers(model), wanted)
    assert counter.frame_count >= 1


def test_a_block_compiled_in_place_compiles_graphs():
    torch._dynamo.reset()
    model = build()
    wanted = answers(copy.deepcopy(model))
    counter = CompileCounterWithBackend("aot_eager")
    model.stack.blocks[0].compile(backend=counter)
    torch.testing.assert_close(answers(model), wanted)
    assert counter.frame_count >= 1
