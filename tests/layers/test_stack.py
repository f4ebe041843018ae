"""Blocks, stacks and models: any layers, one contract, one state."""

import pytest
import torch
from safetensors.numpy import load_file
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from hippozoo._internal.nests import leaves
from hippozoo.baselines import LSTM
from hippozoo.checkpoint import load, save
from hippozoo.layers import Block, SequenceModel, Stack, parameter_count
from hippozoo.memory import LagLayer, MemoryLayer
from hippozoo.systems import LegT


def recent(width):
    return LagLayer((LegT(3, 5.0), LegT(3, 20.0)), width, taps=2, products=1)


def states(width):
    return MemoryLayer(LegT(4, 9.0), channels=width)


def recurrent(width):
    return LSTM(width, width, width)


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


def test_a_block_is_norm_layer_gate_and_way_around():
    block = Block(4, recent, dtype=torch.float64)
    x = torch.randn(2, 30, 4, dtype=torch.float64)
    normed = x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt()
    value, gate = torch.nn.functional.linear(normed, block.enter.weight, block.enter.bias).split(4, -1)
    found, _ = block.layer(value)
    wanted = x + (found * gate * torch.sigmoid(gate)) @ block.leave.weight.T + block.leave.bias
    torch.testing.assert_close(block(x)[0], wanted)


def test_layers_beside_each_other_see_the_same_and_keep_their_own_states():
    block = Block(4, recent, beside=[states, recurrent], gate=False, around=False)
    x = torch.randn(2, 30, 4)
    value = block.enter(block.before(x))
    found = [layer(value)[0].flatten(2) for layer in (block.layer, *block.beside)]
    y, state = block(x)
    torch.testing.assert_close(y, block.leave(torch.cat(found, -1)))
    assert len(state) == 3


def test_a_stack_is_one_block_after_the_other():
    stack = Stack(4, [recent, recurrent, lambda width: Block(width, states, hidden=6)], gate=False)
    x = torch.randn(2, 30, 4)
    y = x
    for block in stack.layers:
        y, _ = block(y)
    torch.testing.assert_close(stack(x)[0], y)
    assert [block.gate for block in stack.layers] == [False, False, True]


def test_a_tied_readout_is_the_embedding():
    model = SequenceModel(tokens=7, layers=[recent], width=4, tied=True)
    untied = SequenceModel(tokens=7, layers=[recent], width=4)
    assert parameter_count(untied) - parameter_count(model) == 7 * 4
    x = torch.randint(7, (2, 10))
    seen, _ = model.stack(model.embedding(x))
    torch.testing.assert_close(model(x)[0], model.norm(seen) @ model.embedding.weight.T + model.bias)


@pytest.mark.parametrize("pool", ["last", "mean"])
def test_one_answer_per_sequence_comes_from_its_real_samples(pool):
    model = SequenceModel(3, 2, [recent], width=4, pool=pool, dtype=torch.float64)
    x, lengths = torch.randn(3, 40, 3, dtype=torch.float64), [40, 17, 1]
    y, _ = model(x, lengths=lengths)
    for item, length in enumerate(lengths):
        seen = model.norm(model.stack(model.encoder(x[item : item + 1, :length]))[0])
        seen = seen[:, -1] if pool == "last" else seen.mean(1)
        torch.testing.assert_close(y[item], model.readout(seen)[0])


@pytest.mark.parametrize("pool", ["last", "mean"])
def test_an_answer_per_sequence_goes_on_with_the_state(pool):
    model = SequenceModel(3, 2, [recent], width=4, pool=pool, dtype=torch.float64)
    x = torch.randn(2, 40, 3, dtype=torch.float64)
    wanted, end = model(x)
    _, state = model(x[:, :25])
    unchanged, same = model(x[:, 25:], state, lengths=[0, 0])
    torch.testing.assert_close(unchanged, model(x[:, :25])[0])
    y, state = model(x[:, 25:39], same)
    y, state = model.step(x[:, 39], state)
    torch.testing.assert_close(y, wanted)
    for (_, found), (_, other) in zip(leaves(state), leaves(end), strict=True):
        torch.testing.assert_close(found, other)


def test_a_packed_sequence_of_tokens_is_taken_and_returned():
    model = SequenceModel(tokens=7, layers=[recent], width=4)
    x, lengths = torch.randint(7, (3, 12)), torch.tensor([5, 12, 9])
    packed, _ = model(pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False))
    y, found = pad_packed_sequence(packed, batch_first=True)
    assert torch.equal(found, lengths)
    torch.testing.assert_close(y, model(x, lengths=lengths)[0])


def test_a_stack_knows_time_if_all_its_layers_do():
    assert SequenceModel(3, 2, [recent, states], width=4).knows_time
    unaware = SequenceModel(3, 2, [recent, recurrent], width=4)
    with pytest.raises(TypeError, match="knows no time"):
        unaware(torch.randn(1, 5, 3), dt=0.5)


def test_a_checkpoint_holds_each_tensor_once(tmp_path):
    model = SequenceModel(tokens=9, layers=[recent, lambda width: Block(width, states, beside=recurrent)], width=5)
    save(tmp_path / "model.safetensors", model)
    found = load(tmp_path / "model.safetensors")
    x = torch.randint(9, (2, 20))
    assert torch.equal(found(x)[0], model(x)[0])
    numbers = sum(tensor.numel() for tensor in model.state_dict().values())
    assert sum(array.size for array in load_file(tmp_path / "model.safetensors").values()) == numbers


def test_match_varies_the_width_of_any_mixture():
    model = SequenceModel.match(params=5_000, inputs=3, outputs=2, layers=[recent, recurrent], hidden=8)
    assert abs(parameter_count(model) - 5_000) < 400


def test_dropout_is_for_training():
    model = SequenceModel(3, 2, [recent] * 2, width=8, dropout=0.5)
    x = torch.randn(1, 20, 3)
    assert not torch.equal(model(x)[0], model(x)[0])
    model.eval()
    assert torch.equal(model(x)[0], model(x)[0])


def test_a_mean_weighs_samples_by_the_time_they_are_held():
    model = SequenceModel(3, 2, [recent], width=4, pool="mean", dtype=torch.float64)
    x, steps = torch.randn(2, 20, 3, dtype=torch.float64), torch.rand(2, 20, dtype=torch.float64) + 0.2
    y, _ = model(x, dt=steps, lengths=[20, 9])
    seen = model.norm(model.stack(model.encoder(x), dt=steps)[0])
    weights = steps * (torch.arange(20) < torch.tensor([[20], [9]]))
    mean = (weights[..., None] * seen).sum(1) / weights.sum(1, keepdim=True)
    torch.testing.assert_close(y, model.readout(mean))
    _, state = model(x[:, :19], dt=steps[:, :19])
    found, _ = model.step(x[:, 19], state, steps[:, 19])
    torch.testing.assert_close(found[0], y[0])
    torch.testing.assert_close(model(x, dt=0.3)[0], model(x, dt=torch.full((20,), 0.3))[0])
