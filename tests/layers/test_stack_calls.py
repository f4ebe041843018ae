"""A stack is made of module calls: whatever acts on calls of modules acts on stacks, blocks and layers inside."""

import contextlib
import copy

import pytest
import torch
from torch import nn
from torch.distributed import HashStore, destroy_process_group, init_process_group
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import (
    apply_activation_checkpointing,
    checkpoint_wrapper,
)

from hippozoo.baselines import GRU, LSTM, Mamba
from hippozoo.checkpoint import load, save
from hippozoo.layers import Block, SequenceLayer, SequenceModel, Stack, TorchCells, sequence_layer
from hippozoo.memory import LagLayer, MemoryLayer
from hippozoo.systems import LegT
from hippozoo.zoo.associative import AssociativeMemory, Recall
from hippozoo.zoo.multiscale import MultiscaleLayer, MultiscaleMemory
from hippozoo.zoo.salience import SalienceLayer, SalienceModel
from hippozoo.zoo.volterra import VolterraLayer


def memory(width):
    return MemoryLayer(LegT(4, 9.0), channels=width, outputs=width)


def lags(width):
    return LagLayer(LegT(3, 5.0), width, taps=2)


def build(**options):
    torch.manual_seed(0)
    return SequenceModel(3, 2, [memory, lambda width: Block(width, lags, beside=Recall(width))], width=4, **options)


def answers(model, x):
    """Outputs of a sequence and of the step behind it, and the gradients of their sum, by name."""
    model.zero_grad()
    y, state = model(x[:, :-1])
    last, _ = model.step(x[:, -1], state)
    (y.sum() + last.sum()).backward()
    gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
    return [y, last, *(one.full_tensor() if hasattr(one, "full_tensor") else one for one in gradients)]


def assert_same(found, wanted, **tolerances):
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other, **tolerances)


X = torch.randn(2, 12, 3, generator=torch.Generator().manual_seed(1))


# -- hooks -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("single", [False, True], ids=["forward", "step"])
@pytest.mark.parametrize("place", ["", "stack", "stack.blocks.0", "stack.blocks.1.layers.0", "stack.blocks.1.layers.1"])
def test_forward_hooks_fire_wherever_they_stand(place, single):
    model, calls = build(), []
    inner = model.get_submodule(place)
    inner.register_forward_pre_hook(lambda module, given: calls.append("before"))
    inner.register_forward_hook(lambda module, given, found: calls.append(found[0].shape[0]))
    if single:
        model.step(X[:, 0], model.initial_state(2))
    else:
        model(X)
    assert calls == ["before", 2]


def test_what_a_hook_returns_takes_the_place_of_the_output():
    model = build()
    model.stack.blocks[1].layer.register_forward_hook(lambda module, given, found: (found[0] * 0, found[1]))
    silent = build()
    with torch.no_grad():
        silent.stack.blocks[1].layer.weight.zero_()
    assert_same([model(X)[0]], [silent(X)[0]])


def test_layers_inside_members_are_called_too():
    for layer, inner in [
        (SalienceModel(3, 2, LegT(4, 9.0), width=5), "layer"),
        (VolterraLayer(LegT(3, 9.0), channels=3), "memory"),
    ]:
        calls = []
        layer.get_submodule(inner).register_forward_hook(lambda *call, calls=calls: calls.append(1))
        layer(X)
        layer.step(X[:, 0], layer.initial_state(2))
        assert len(calls) == 2


def test_arguments_are_checked_once(monkeypatch):
    seen = []
    finite = sequence_layer.finite_values
    monkeypatch.setattr(
        sequence_layer, "finite_values", lambda name, value, **rest: (seen.append(name), finite(name, value, **rest))
    )
    for layer in (build(), SalienceModel(3, 2, LegT(4, 9.0), width=5), VolterraLayer(LegT(3, 9.0), channels=3)):
        seen.clear()
        layer(X)
        assert seen == ["x"]


# -- sharding --------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def one_process():
    init_process_group("gloo", store=HashStore(), rank=0, world_size=1)
    try:
        yield
    finally:
        destroy_process_group()


@pytest.mark.filterwarnings("ignore")  # torch's own, on machines without an accelerator
@pytest.mark.parametrize("parts", ["root", "blocks and root"])
def test_a_sharded_stack_says_what_the_whole_one_says(parts):
    from torch.distributed import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    model = build()
    wanted = answers(copy.deepcopy(model), X)
    with one_process():
        mesh = init_device_mesh("cpu", (1,))
        if parts != "root":
            for block in model.stack.blocks:
                fully_shard(block, mesh=mesh)
        fully_shard(model, mesh=mesh)
        model.step(X[:, 0], model.initial_state(2))  # before any call has put the weights together
        assert_same(answers(model, X), wanted)


# -- checkpointing -----------------------------------------------------------------------------------------


def test_a_block_behind_checkpoint_wrapper_gives_the_same_values_and_gradients():
    model = build()
    wanted = answers(copy.deepcopy(model), X)
    model.stack.blocks[0] = checkpoint_wrapper(model.stack.blocks[0])
    assert_same(answers(model, X), wanted)


@pytest.mark.parametrize("kind", [Block, MemoryLayer, Recall])
def test_activation_checkpointing_of_all_modules_of_a_kind(kind):
    model = build()
    wanted = answers(copy.deepcopy(model), X)
    apply_activation_checkpointing(model, check_fn=lambda module: isinstance(module, kind))
    assert_same(answers(model, X), wanted)
    lengths, steps = [12, 5], torch.rand(2, 12) + 0.5
    known = build() if kind is Recall else SequenceModel(3, 2, [memory], width=4)
    options = {"lengths": lengths} | ({"dt": steps} if known.knows_time else {})
    expected = copy.deepcopy(known)(X, **options)[0]
    apply_activation_checkpointing(known, check_fn=lambda module: isinstance(module, kind))
    assert_same([known(X, **options)[0]], [expected])


# -- adapters --------------------------------------------------------------------------------------------------


class Beside(nn.Module):
    """A small map beside any layer; it hands its arguments on and says nothing else about itself."""

    def __init__(self, inner, width):
        super().__init__()
        self.inner = inner
        self.map = nn.Linear(width, width)

    def forward(self, x, state=None, dt=None, lengths=None):
        y, state = self.inner(x, state, dt, lengths)
        return y + self.map(x), state


@pytest.mark.parametrize("place", ["stack.blocks", "stack.blocks.0.layers"])
def test_an_adapter_around_a_layer_is_heard_in_sequences_and_in_steps(place):
    model = build()
    plain = model(X)[0]
    home = model.get_submodule(place)
    home[0] = Beside(home[0], 4)
    y, _ = model(X)
    assert not torch.allclose(y, plain)
    _, state = model(X[:, :7])
    rest = []
    for x in X[:, 7:].unbind(1):
        one, state = model.step(x, state)
        rest.append(one)
    torch.testing.assert_close(torch.stack(rest, 1), y[:, 7:])
    with torch.no_grad():
        home[0].map.weight.zero_()
        home[0].map.bias.zero_()
    torch.testing.assert_close(model(X)[0], plain)
    assert model.knows_time is False  # because of the bank; the adapter is asked for what is inside
    assert SequenceModel(3, 2, [Beside(memory(4), 4)], width=4).knows_time


class LowRank(nn.Module):
    """A linear map with a low-rank correction: no weight of its own, as an adapter may have none."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner
        self.down = nn.Linear(inner.in_features, 2, bias=False, dtype=inner.weight.dtype)
        self.up = nn.Linear(2, inner.out_features, bias=False, dtype=inner.weight.dtype)

    def forward(self, x):
        return self.inner(x) + self.up(self.down(x))

    def merged(self):
        found = copy.deepcopy(self.inner)
        with torch.no_grad():
            found.weight += self.up.weight @ self.down.weight
        return found


def replaced(module, make, kind):
    """The module with every part of a kind replaced."""
    module = copy.deepcopy(module)
    for name, part in list(module.named_modules()):
        if type(part) is kind:
            parent, _, own = name.rpartition(".")
            setattr(module.get_submodule(parent), own, make(part))
    return module


ADAPTED = {
    "memory": lambda: MemoryLayer(LegT(4, 9.0), channels=3, outputs=2),
    "memory, learnt timescale": lambda: MemoryLayer(LegT(4, 9.0), channels=3, outputs=2, trainable_timescale=True),
    "memory, per channel": lambda: MemoryLayer(LegT(4, 9.0), channels=3, outputs=2, readout="per_channel"),
    "multiscale": lambda: MultiscaleLayer(MultiscaleMemory(LegT(3, 5.0), 100.0, 5), channels=3, outputs=2),
    "volterra": lambda: VolterraLayer(LegT(3, 9.0), channels=3, outputs=2),
    "salience": lambda: SalienceModel(3, 2, LegT(6, 9.0), width=4, hidden=8, summary=5),
    "salience, full": lambda: SalienceLayer(LegT(4, 9.0), 3, readout="full", outputs=2, hidden=8),
    "salience, input only": lambda: SalienceLayer(LegT(4, 9.0), 3, outputs=2, hidden=8, summary=0),
    "salience, recurrent": lambda: SalienceLayer(LegT(4, 9.0), 3, outputs=2, hidden=8, form="recurrent"),
    "associative": lambda: AssociativeMemory(3, 2, width=4, hidden=8),
    "recall": lambda: Recall(3, factors=1),
    "mamba": lambda: Mamba(3, 2, width=4),
    "lstm": lambda: LSTM(3, 2, width=4),
    "model": build,
}


@pytest.mark.parametrize("name", ADAPTED)
def test_low_rank_adapters_of_every_linear_map_are_heard(name):
    torch.manual_seed(0)
    layer = ADAPTED[name]().double()
    x, steps = X.double(), torch.rand(2, 12, dtype=torch.float64) + 0.5
    adapted = replaced(layer, LowRank, nn.Linear)
    merged = replaced(adapted, LowRank.merged, LowRank)
    options = [{}, {"lengths": [12, 4]}] + ([{"dt": steps}] if layer.knows_time else [])
    for more in options:
        y, state = adapted(x, **more)
        torch.testing.assert_close(y, merged(x, **more)[0])
    torch.testing.assert_close(adapted.step(x[:, 0], state)[0], merged.step(x[:, 0], state)[0])
    y.sum().backward()
    used = [part for part in adapted.modules() if isinstance(part, LowRank)]
    assert all(part.up.weight.grad is not None for part in used)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")  # torch renames its quantisation
@pytest.mark.parametrize("name", ["memory", "multiscale", "model"])
def test_a_quantised_readout_is_used(name):
    torch.manual_seed(0)
    layer = ADAPTED[name]().eval()
    quantised = torch.ao.quantization.quantize_dynamic(copy.deepcopy(layer), {nn.Linear}, dtype=torch.qint8)
    y, state = quantised(X)
    assert y.dtype == torch.float32
    torch.testing.assert_close(y, layer(X)[0], atol=0.1, rtol=0.1)
    quantised.step(X[:, 0], state)


def test_a_missing_attribute_inside_a_property_is_named():
    layer = MemoryLayer(LegT(4, 9.0), channels=3, outputs=2)
    layer.readout = nn.Identity()
    assert layer.dtype == torch.float32


# -- modules of other makers -----------------------------------------------------------------------------------


class Smooth(nn.Module):
    """An exponentially weighted mean that keeps the contract, without a class of ours."""

    knows_time = True

    def __init__(self, width):
        super().__init__()
        self.rate = nn.Parameter(torch.full((width,), 0.3))
        self.given = []

    def initial_state(self, batch):
        return torch.zeros(batch, len(self.rate))

    def step(self, x, state, dt=None):
        share = 1 - torch.exp(-self.rate * (1.0 if dt is None else dt[:, None] if dt.ndim else dt))
        state = state + share * (x - state)
        return state, state

    def forward(self, x, state=None, dt=None, lengths=None):
        self.given.append((dt, lengths))
        state = self.initial_state(len(x)) if state is None else state
        found = []
        for t, sample in enumerate(x.unbind(1)):
            now = None if dt is None else dt if dt.ndim == 0 else dt[..., t].expand(len(x))
            y, after = self.step(sample, state, now)
            state = after if lengths is None else torch.where((t < lengths)[:, None], after, state)
            found.append(y)
        return torch.stack(found, 1), state


def test_any_module_that_keeps_the_contract_stands_in_a_stack():
    torch.manual_seed(0)
    model = SequenceModel(3, 2, [Smooth, memory], width=4)
    foreign = model.stack.blocks[0].layer
    steps, lengths = torch.rand(2, 12) + 0.5, torch.tensor([12, 5])
    y, end = model(X, dt=steps, lengths=lengths)
    dt, own_lengths = foreign.given[-1]
    torch.testing.assert_close(dt, steps)
    assert torch.equal(own_lengths, lengths)
    assert not y[1, 5:].any()
    _, state = model(X[:, :11], dt=steps[:, :11])
    found, after = model.step(X[:, 11], state, steps[:, 11])
    torch.testing.assert_close(found[0], y[0, -1])
    torch.testing.assert_close(after[0][0][0], end[0][0][0])


@pytest.mark.parametrize(
    "cells", [nn.LSTM(4, 6, 2), nn.GRU(4, 4, batch_first=True), nn.RNN(4, 4)], ids=lambda c: type(c).__name__
)
def test_a_stack_wraps_the_networks_of_torch(cells, tmp_path):
    torch.manual_seed(0)
    stack = Stack(4, [cells, memory])
    assert isinstance(stack.layers[0].layer, TorchCells)
    assert stack.layers[0].layer.module is cells
    x = torch.randn(2, 12, 4)
    y, _ = stack(x)
    first, state = stack(x[:, :7])
    second, state = stack(x[:, 7:11], state)
    third, _ = stack.step(x[:, 11], state)
    torch.testing.assert_close(torch.cat([first, second, third[:, None]], 1), y)
    short, _ = stack(x, lengths=[12, 5])
    torch.testing.assert_close(short[1, :5], y[1, :5])
    assert not short[1, 5:].any()
    save(tmp_path / "stack.safetensors", stack)
    torch.testing.assert_close(load(tmp_path / "stack.safetensors")(x)[0], y)


@pytest.mark.filterwarnings("ignore:LSTM with projections")  # oneDNN has none
def test_torchs_cells_say_what_they_say_alone():
    cells = nn.LSTM(3, 5, num_layers=2, proj_size=4)
    y, (hidden, cell) = TorchCells(cells)(X)
    wanted, (h, c) = cells(X.transpose(0, 1))
    assert_same([y, hidden, cell], [wanted.transpose(0, 1), h.transpose(0, 1), c.transpose(0, 1)])
    with pytest.raises(ValueError, match="reads backwards too"):
        TorchCells(nn.GRU(3, 5, bidirectional=True))


class NoStep(Smooth):
    step = None

    def __getattribute__(self, name):
        if name == "step":
            raise AttributeError(name)
        return super().__getattribute__(name)


class OneArgument(nn.Module):
    knows_time = False

    def initial_state(self, batch):
        return torch.zeros(batch, 1)

    def step(self, x, state, dt=None):
        return x, state

    def forward(self, x):
        return x


class NoPair(OneArgument):
    def step(self, x, state, dt=None):
        return x

    def forward(self, x, state=None, dt=None, lengths=None):
        return x


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        (nn.Linear(4, 4), r"lacks initial_state\(batch\), step\(x, state, dt\), knows_time .*, forward\(x, state"),
        (NoStep(4), r"lacks step\(x, state, dt\)\."),
        (OneArgument(), r"lacks forward\(x, state, dt, lengths\)"),
        (NoPair(), "gives a pair: outputs, and the state"),
        (nn.LSTM(3, 3), "takes 3 channels, but the block has width=4"),
        (nn.Sequential(memory(4)), r"lacks forward"),
    ],
    ids=lambda one: type(one).__name__ if isinstance(one, nn.Module) else "",
)
def test_a_module_that_does_not_keep_the_contract_is_refused_with_what_is_missing(layer, message):
    with pytest.raises((TypeError, ValueError), match=message):
        Stack(4, [layer])


def test_ours_are_sequence_layers_and_gru_is_the_baseline():
    assert issubclass(GRU, SequenceLayer)
