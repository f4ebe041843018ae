"""Stacks that read backwards too: whole sequences, no state, no steps."""

import pytest
import torch
from torch import nn

from hippozoo.checkpoint import load, save
from hippozoo.layers import Block, SequenceModel, Stack
from hippozoo.memory import LagLayer, MemoryLayer
from hippozoo.models import RECIPES, build_model
from hippozoo.systems import LegT
from hippozoo.zoo.associative import Recall

X = torch.randn(3, 12, 4, generator=torch.Generator().manual_seed(0))
STEPS = torch.rand(3, 12, generator=torch.Generator().manual_seed(1)) + 0.5


def memory(width):
    return MemoryLayer(LegT(4, 9.0), channels=width, outputs=width)


def model(**options):
    torch.manual_seed(0)
    return SequenceModel(4, 2, [memory] * 2, width=5, bidirectional=True, **options)


def test_a_block_puts_both_directions_side_by_side():
    torch.manual_seed(0)
    block = Block(4, memory, gate=False, bidirectional=True)
    y, state = block(X, dt=STEPS)
    value = block.enter(block.before(X))
    there = block.layers[0](value, dt=STEPS)[0]
    back = block.backwards[0](value.flip(1), dt=STEPS.flip(1))[0].flip(1)
    torch.testing.assert_close(y, X + block.leave(torch.cat([there, back], -1)))
    assert state is None
    assert not torch.equal(block.layers[0].readout.weight, block.backwards[0].readout.weight)


def test_every_output_sees_the_whole_sequence():
    x = X.clone().requires_grad_()
    model()(x)[0][0, 5].sum().backward()
    assert (x.grad[0].abs().amax(-1) > 0).all()
    assert not x.grad[1:].any()


@pytest.mark.parametrize("pool", [None, "last", "mean"])
@pytest.mark.parametrize("uneven", [False, True])
def test_padding_is_never_read(pool, uneven):
    both = model(pool=pool)
    lengths, spoilt = [12, 7, 1], X.clone()
    spoilt[1, 7:] = torch.nan
    y, _ = both(spoilt, lengths=lengths, **({"dt": STEPS} if uneven else {}))
    for item, n in enumerate(lengths):
        alone, _ = both(X[item : item + 1, :n], **({"dt": STEPS[item : item + 1, :n]} if uneven else {}))
        torch.testing.assert_close(y[item] if pool else y[item, :n], alone[0])
    assert pool or not y[1, 7:].any()


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_reads_both_ways(name):
    torch.manual_seed(0)
    both = build_model(name, history=12, inputs=4, outputs=2, width=4, bidirectional=True)
    assert all(block.bidirectional for block in both.layers)
    x = X.clone().requires_grad_()
    both(x)[0][:, 0].square().sum().backward()
    assert x.grad[:, -1].any()


def test_torchs_cells_and_layers_that_want_what_entered_read_both_ways():
    torch.manual_seed(0)
    stack = Stack(4, [nn.GRU(4, 4), lambda width: Block(width, memory, beside=Recall(width))], bidirectional=True)
    y, _ = stack(X, lengths=[12, 7, 3])
    alone, _ = stack(X[1:2, :7])
    torch.testing.assert_close(y[1, :7], alone[0])


def test_it_saves_and_loads_and_takes_an_empty_batch(tmp_path):
    both = model()
    save(tmp_path / "both.safetensors", both)
    torch.testing.assert_close(load(tmp_path / "both.safetensors")(X)[0], both(X)[0])
    assert both(X[:0])[0].shape == (0, 12, 2)


def test_it_compiles_and_exports_at_one_length():
    both = model()
    program = torch.export.export(both, (X,))
    torch.testing.assert_close(program.module()(X)[0], both(X)[0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.step(X[:, 0], None), "has no step"),
        (lambda m: m.initial_state(3), "has no state"),
        (lambda m: m.stream(3), "has no state"),
        (lambda m: m(X, ((torch.zeros(3, 5, 4),),) * 2), "goes on from no state"),
        (lambda m: m.exportable(), "export the module itself"),
        (lambda m: m.stack.layers[0].step(torch.zeros(3, 5), None), "Block reads backwards too"),
    ],
)
def test_what_needs_a_state_is_refused(call, message):
    with pytest.raises(TypeError, match=message):
        call(model())


def test_a_ready_made_block_is_not_changed_behind_its_maker():
    with pytest.raises(ValueError, match="build it with bidirectional=True"):
        Stack(4, [Block(4, lambda width: LagLayer(LegT(3, 5.0), width))], bidirectional=True)
    with pytest.raises(ValueError, match="bidirectional=True to the block"):
        Stack(4, [nn.GRU(4, 4, bidirectional=True)])
