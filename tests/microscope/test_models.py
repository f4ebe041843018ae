"""Every kind of model can be looked at, and comes back as it was."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from mambapy.mamba import Mamba as PyMamba
from mambapy.mamba import MambaConfig
from numpy.testing import assert_allclose
from torch import nn

from hippozoo import baselines
from hippozoo.layers import SequenceModel, Stack
from hippozoo.memory import LagLayer, Memory, MemoryLayer
from hippozoo.microscope import compare, look
from hippozoo.microscope.recording import subject_for
from hippozoo.models import build_model
from hippozoo.systems import LegT
from hippozoo.zoo.associative import AssociativeMemory
from hippozoo.zoo.salience import SalienceLayer
from hippozoo.zoo.volterra import VolterraLayer

SMALL = {"sequences": 12, "length": 80}


def recurrent():
    torch.manual_seed(0)
    return {
        "nn.LSTM": nn.LSTM(2, 6, num_layers=2, batch_first=True, dropout=0.5),
        "nn.LSTM, time first": nn.LSTM(2, 6),
        "nn.GRU": nn.GRU(2, 6, batch_first=True),
        "nn.RNN": nn.RNN(2, 6),
        "mambapy": PyMamba(MambaConfig(d_model=2, n_layers=2, d_state=4)),
        "LSTM": baselines.LSTM(2, 3, width=5, layers=2),
        "GRU": baselines.GRU(2, 3, width=5),
        "Mamba": baselines.Mamba(2, 3, width=4, layers=2, order=4),
        "S4D": baselines.S4D(2, 3, width=4),
        "DeltaNet": baselines.DeltaNet(2, 3, width=4, heads=1),
        "VanillaHippo": baselines.VanillaHippo(2, 3, LegT(4, 8.0), width=3),
        "MemoryLayer": MemoryLayer(LegT(4, 8.0), channels=2),
        "MemoryLayer, any channels": MemoryLayer(LegT(4, 8.0)),
        "LagLayer": LagLayer(LegT(4, 8.0), 2, taps=2),
        "SalienceLayer": SalienceLayer(LegT(4, 8.0), 2),
        "AssociativeMemory": AssociativeMemory(2, width=4, hidden=4),
        "VolterraLayer": VolterraLayer(LegT(3, 8.0), 2, outputs=2),
        "Stack": Stack(2, [lambda width: LagLayer(LegT(3, 8.0), width, taps=2)] * 2),
        "SequenceModel": build_model(["memory", "gru"], history=16, inputs=2, outputs=3, width=4, pool="last"),
    }


@pytest.mark.parametrize("name", recurrent())
def test_models_are_looked_at_and_left_as_they_were(name):
    model = recurrent()[name]
    model.train()
    before = {key: value.clone() for key, value in model.state_dict().items()}
    channels = None if name != "MemoryLayer, any channels" else 2
    view = look(model, "noise", 8, channels=channels, components=40, **SMALL)
    assert len(view.profile) == 8
    assert np.isfinite(view.profile.value).all()
    assert np.isfinite(view.sensitivity.value).all()
    assert 0 < view.rank <= view.size
    assert all(module.training for module in model.modules())
    assert all((before[key] == value).all() for key, value in model.state_dict().items())
    assert all(parameter.grad is None for parameter in model.parameters())


@pytest.mark.parametrize("name", ["nn.LSTM", "nn.GRU", "LSTM", "Mamba", "SequenceModel", "mambapy"])
def test_recorded_states_are_those_of_the_model(name):
    """The state after the last sample, as one call gives it."""
    model = recurrent()[name].eval()
    x = np.random.default_rng(0).normal(size=(9, 20, 2)).astype(np.float32)
    subject = subject_for(model)
    last = subject.record(x, np.array([5, 19])).states[:, 1]
    with torch.no_grad():
        whole = torch.cat([part for _, part in subject.numbers(subject.whole(torch.from_numpy(x)))], 1)
    assert_allclose(last, whole.numpy(), rtol=1e-4, atol=1e-5)


def test_layers_have_views_of_their_own():
    torch.manual_seed(0)
    view = look(nn.LSTM(1, 6, num_layers=2), "noise", 8, **SMALL)
    assert list(view.by_layer) == ["layer 1", "layer 2"]
    assert [part.size for part in view.by_layer.values()] == [12, 12]
    assert view.by_layer["layer 1"].profile.value[0] > 0.9
    assert np.isfinite(view.by_layer["layer 2"].sensitivity.value).all()
    blocks = look(build_model("lags", history=16, inputs=1, outputs=1, width=3), "noise", 8, **SMALL).by_layer
    assert list(blocks) == ["block 1", "block 2"]
    mixed = build_model(["salience", "gru"], history=16, inputs=1, outputs=1, width=3)
    names = list(look(mixed, "noise", 8, **SMALL).by_layer)
    assert len(names) == 3
    assert names[0].startswith("block 1")
    assert names[-1].startswith("block 2")


def test_the_same_memory_looks_the_same_however_it_is_given():
    x = np.random.default_rng(0).normal(size=(16, 200, 1))
    memory = Memory(LegT(4, 10.0))
    states = np.moveaxis(memory.scan(x[..., 0].T), 1, 0)
    A_d, b_d = memory._constant.A_d, memory._constant.b_d
    layer = MemoryLayer(LegT(4, 10.0), channels=1, dtype=torch.float64)
    given = {
        "system": LegT(4, 10.0),
        "memory": memory,
        "layer": layer,
        "recorded": states,
        "recorded tensor": torch.from_numpy(states),
        "function": lambda x: np.moveaxis(memory.scan(x[..., 0].T), 1, 0),
        "torch function": lambda x: layer(torch.from_numpy(x))[0],
        "batched step": (lambda s, x: s @ A_d.T + x * b_d, lambda batch: np.zeros((batch, 4))),
        "single step": (lambda s, x: memory.step(s, x[0]), np.zeros(4)),
    }
    views = {name: look(model, x, 12) for name, model in given.items()}
    for name, view in views.items():
        assert_allclose(view.profile.value, views["memory"].profile.value, atol=1e-6, err_msg=name)
    for name in ("batched step", "single step", "function", "torch function", "memory"):
        assert_allclose(
            views[name].sensitivity.value, views["memory"].sensitivity.value, rtol=1e-4, atol=1e-8, err_msg=name
        )


def test_tokens_are_read_in_bits():
    model = build_model("gru", history=16, tokens=5, width=16, layers=1)
    view = look(model, "noise", 4, sequences=24, length=120)
    profile = view.profile
    assert profile.value[0] > 1.5
    assert profile.accuracy[0] > 0.9
    assert profile.chance_bits[0] == pytest.approx(np.log2(5), abs=0.02)
    assert profile.chance_accuracy[0] == pytest.approx(0.2, abs=0.05)
    assert view.capacity.most == pytest.approx(4 * np.log2(5), abs=0.1)
    text = np.random.default_rng(1).integers(5, size=(24, 60))
    assert look(model, text, 3).profile.value[0] > 1.5


def test_recorded_states_of_tokens():
    tokens = np.random.default_rng(1).integers(4, size=(24, 60))
    one_hot = np.eye(4)[tokens]
    held = np.concatenate([one_hot[:, :1] * 0, one_hot[:, :-1]], 1)
    profile = look(held, tokens, 3).profile
    assert profile.accuracy[1] == 1
    assert abs(profile.value[0]) < 0.1


def test_a_model_of_double_precision_stays_one():
    model = nn.GRU(1, 4, batch_first=True).double()
    look(model, "noise", 4, **SMALL)
    assert model.weight_ih_l0.dtype == torch.float64


def test_moments_can_be_chosen():
    x = np.random.default_rng(0).normal(size=(40, 30, 1))
    view = look(LegT(3, 5.0), x, 8, at=[-1, 20])
    assert view.asked.moments.tolist() == [20, 29]
    assert view.states.features.shape == (40, 2, 3)


def test_reports_and_tables_say_the_numbers():
    both = compare({"window": LegT(4, 8.0), "lstm": nn.LSTM(1, 4)}, "noise", 12, **SMALL)
    assert list(both) == ["window", "lstm"]
    assert both["window"].report().startswith("window: 4 numbers, seen at")
    assert "as LegT(order=4" in str(both["window"])
    assert repr(both["window"]).startswith("<View of window: 4 numbers")
    rows = both.table().splitlines()
    assert rows[1].split()[:2] == ["window", "4"]
    numbers = both.numbers()
    assert numbers["window"]["exact"] is not None
    assert numbers["lstm"]["exact"] is None
    assert len(numbers["lstm"]["sensitivity"]["value"]) == 12


def test_the_microscope_does_not_load_torch():
    code = "import sys; from hippozoo.microscope import look; from hippozoo.systems import LegT; "
    code += "look(LegT(3, 5.0), 'noise', 6).report(); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_sequence_models_of_any_module_are_containers():
    model = SequenceModel(1, 1, [lambda width: MemoryLayer(LegT(3, 6.0), channels=width)], width=2)
    assert look(model, "noise", 6, **SMALL).size == 6


class Wrapped(nn.Module):
    """A model of the reader's own: something before, two recurrent layers, something behind."""

    def __init__(self, first=None):
        super().__init__()
        self.first = nn.Identity() if first is None else first
        self.lstm = nn.LSTM(2, 5, batch_first=True)
        self.gru = nn.GRU(5, 3)
        self.dropout, self.head = nn.Dropout(0.5), nn.Linear(3, 2)

    def forward(self, x):
        y = self.dropout(self.lstm(self.first(x))[0])
        return self.head(self.gru(y.transpose(0, 1))[0])


def test_recurrent_layers_inside_another_module_are_looked_at():
    torch.manual_seed(0)
    model, x = Wrapped(), np.random.default_rng(0).normal(size=(12, 60, 2))
    view = look(model, x, 6)
    assert list(view.by_layer) == ["lstm", "gru"]
    assert [part.size for part in view.by_layer.values()] == [10, 3]
    assert model.training
    alone = look(model.lstm, x, 6)
    assert_allclose(view.by_layer["lstm"].profile.value, alone.profile.value, atol=1e-6)
    # Both are random projections, with the same draws of the same numbers.
    assert_allclose(view.by_layer["lstm"].sensitivity.value, alone.sensitivity.value, rtol=1e-3)
    assert len(look(Wrapped(nn.Linear(4, 2)), "noise", 6, **SMALL).profile) == 6
    tokens = np.random.default_rng(0).integers(7, size=(12, 40))
    assert look(Wrapped(nn.Embedding(7, 2)), tokens, 2).profile.accuracy[0] > 0.5
    assert look(Wrapped(nn.Embedding(7, 2)), "noise", 2, **SMALL).asked.x.max() == 6


def test_a_compiled_model_is_looked_at_as_it_was():
    torch.manual_seed(0)
    model, x = nn.GRU(1, 4, batch_first=True), np.random.default_rng(0).normal(size=(12, 60, 1))
    compiled = nn.Module()  # torch.compile itself takes seconds
    compiled._orig_mod = model
    assert_allclose(look(compiled, x, 4).profile.value, look(model, x, 4).profile.value)


def test_a_cell_is_the_layer_that_it_is_a_cell_of():
    torch.manual_seed(0)
    layer, cell = nn.LSTM(2, 4, batch_first=True), nn.LSTMCell(2, 4)
    cell.load_state_dict({name.removesuffix("_l0"): value for name, value in layer.state_dict().items()})
    x = np.random.default_rng(0).normal(size=(12, 40, 2))
    one, other = look(layer, x, 4), look(cell, x, 4)
    assert_allclose(one.profile.value, other.profile.value, atol=1e-5)
    assert_allclose(one.sensitivity.value, other.sensitivity.value, rtol=1e-3)


@pytest.mark.parametrize("name", recurrent())
def test_everything_carried_is_looked_at(name):
    """Parts of layers together are the tensors of the state."""
    from hippozoo._internal.nests import leaves

    subject = subject_for(recurrent()[name])
    state = subject.whole(torch.randn(3, 5, 2))
    tensors = [leaf for _, leaf in leaves(state) if isinstance(leaf, torch.Tensor) and leaf.is_floating_point()]
    assert subject.flat(state).shape == (3, sum(tensor.numel() for tensor in tensors) // 3)


def test_complex_numbers_are_two_numbers_each():
    decay, x = 0.9 * np.exp(0.5j), np.random.default_rng(0).normal(size=(20, 100, 1))
    view = look((lambda state, sample: decay * state + sample, lambda batch: np.zeros((batch, 1), complex)), x, 8)
    assert view.size == 2
    state = np.zeros((20, 100, 1), complex)
    for t in range(100):
        state[:, t] = decay * state[:, t - 1] * (t > 0) + x[:, t]
    assert_allclose(look(state, x, 8).profile.value, view.profile.value)
    real = look(np.concatenate([state.real, state.imag], -1), x, 8)
    assert_allclose(real.profile.value, view.profile.value)


def test_a_step_that_writes_into_its_state_changes_nothing():
    def step(state, sample):
        state *= 0.5
        state += sample
        return state

    start, x = np.zeros(2), np.random.default_rng(0).normal(size=(12, 40, 2))
    view = look([step, start], x, 4)
    assert (start == 0).all()
    assert_allclose(view.profile.value, look((lambda s, u: 0.5 * s + u, np.zeros(2)), x, 4).profile.value)


def test_lags_fit_short_sequences():
    x = np.random.default_rng(0).normal(size=(12, 40, 1))
    assert look(LegT(3, 5.0), x).asked.lags == 20
    assert look(LegT(3, 5.0), "noise", **SMALL | {"length": 300}).asked.lags == 64
