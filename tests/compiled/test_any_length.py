"""Every layer and a stack as a graph of any batch and any length, and one step of it, in torch and in ONNX."""

import numpy as np
import onnxruntime
import pytest
import torch
from torch.utils import _pytree as nests

from hippozoo.baselines import GRU, LSTM, S4D, DeltaNet, Mamba, Transformer
from hippozoo.layers import Block, SequenceModel
from hippozoo.memory import LagLayer, MemoryLayer
from hippozoo.systems import LegT
from hippozoo.zoo.associative import AssociativeMemory
from hippozoo.zoo.multiscale import MultiscaleLayer, MultiscaleMemory
from hippozoo.zoo.salience import SalienceLayer
from hippozoo.zoo.volterra import VolterraLayer

# torch's own, while it exports.
OWN_WARNINGS = [
    "`torch.jit:DeprecationWarning",
    ".*should not be instantiated:DeprecationWarning",
    ".*LeafSpec:FutureWarning",
    "The .grad attribute:UserWarning",
    "# The axis name:UserWarning",
]
pytestmark = [pytest.mark.filterwarnings(f"ignore:{warning}") for warning in OWN_WARNINGS]


def recent(width):
    return LagLayer((LegT(3, 5.0), LegT(3, 20.0)), width, taps=2, products=1)


def stack():
    layers = [recent, lambda width: Block(width, recent, beside=lambda width: GRU(width, width, width), hidden=5)]
    return SequenceModel(tokens=9, layers=layers, width=4, tied=True)


LAYERS = {
    "memory": lambda: MemoryLayer(LegT(6, 20.0), outputs=2, channels=3),
    "lags": lambda: recent(3),
    "gru": lambda: GRU(3, 2, 5, layers=2),
    "lstm": lambda: LSTM(3, 2, 5, layers=2),
    "s4d": lambda: S4D(3, 2, 5),
    "mamba": lambda: Mamba(3, 2, 5),
    "transformer": lambda: Transformer(3, 2, width=8, context=7),
    "deltanet": lambda: DeltaNet(3, 2, width=4),
    "associative": lambda: AssociativeMemory(3, width=4, hidden=5),
    "multiscale": lambda: MultiscaleLayer(MultiscaleMemory(LegT(3, 4.0), 20.0, 3), channels=3, readout="per_channel"),
    "volterra": lambda: VolterraLayer(LegT(3, 9.0), 3, outputs=2),
    "salience": lambda: SalienceLayer(LegT(6, 9.0), 3, summary=0),
    "salience that sees its memory": lambda: SalienceLayer(LegT(6, 9.0), 3, summary=4),
    "once per sequence": lambda: SequenceModel(3, 2, [recent], width=4, pool="mean"),
    "stack": stack,
}
# One of a kind: every further one takes half a minute. By hand all run there.
IN_ONNX = ("memory", "lstm", "stack", "salience that sees its memory")
# The others' steps are exported in the tests beside this one.
STEPS = ("lags", "gru", "lstm", "once per sequence", "stack")


def sequence(layer, batch, n_steps):
    generator = torch.Generator().manual_seed(3)
    if getattr(layer, "tokens", None):
        return torch.randint(9, (batch, n_steps), generator=generator)
    return torch.randn(batch, n_steps, 3, generator=generator)


def shapes_of(state):
    # Salience chooses a form by the number of items, and asks for a bound of it.
    batch, time = torch.export.Dim("batch", max=1024), torch.export.Dim("time")
    return {0: batch, 1: time}, nests.tree_map(lambda _: {0: batch}, state)


@torch.no_grad()
def later(layer):
    """Another batch and length, a state that has seen something, and what the layer makes of them."""
    x, state = sequence(layer, 3, 23), layer(sequence(layer, 3, 5))[1]
    return x, state, layer(x, state)


@pytest.fixture
def layer(request):
    torch.manual_seed(0)
    return LAYERS[request.param]()


@pytest.mark.parametrize("layer", LAYERS, indirect=True)
def test_an_exported_layer_takes_any_batch_and_any_length(layer):
    x, state = sequence(layer, 2, 6), layer.initial_state(2)
    program = torch.export.export(layer.exportable(), (x, state), dynamic_shapes=shapes_of(state))
    x, state, wanted = later(layer)
    found = program.module()(x, state)
    for one, other in zip(nests.tree_leaves(found), nests.tree_leaves(wanted), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("layer", ["memory", "lstm", "stack"], indirect=True)
def test_a_graph_of_the_fast_path_says_that_its_length_is_fixed(layer):
    x, time = sequence(layer, 2, 6), torch.export.Dim("time")
    with pytest.raises(ValueError, match=r"one fixed length; export layer\.exportable\(\)"):
        torch.export.export(layer, (x,), dynamic_shapes=({1: time},))


@pytest.mark.parametrize("layer", IN_ONNX, indirect=True)
def test_it_runs_in_onnx_at_other_lengths(layer, tmp_path):
    x, state = sequence(layer, 2, 6), layer.initial_state(2)
    path = tmp_path / "layer.onnx"
    torch.onnx.export(layer.exportable(), (x, state), path, dynamo=True, dynamic_shapes=shapes_of(state), verbose=False)
    session = onnxruntime.InferenceSession(path)
    x, state, wanted = later(layer)
    given = (x, *nests.tree_leaves(state))
    inputs = {place.name: value.numpy() for place, value in zip(session.get_inputs(), given, strict=True)}
    for one, other in zip(session.run(None, inputs), nests.tree_leaves(wanted), strict=True):
        np.testing.assert_allclose(one, other.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("layer", STEPS, indirect=True)
def test_an_exported_step_goes_on_and_on(layer):
    x, state = sequence(layer, 2, 4), layer.initial_state(2)
    step = torch.export.export(layer.exportable("one"), (x[:, 0], state)).module()
    found = state
    for sample in x.unbind(1):
        y, found = step(sample, found)
        wanted, state = layer.step(sample, state)
        torch.testing.assert_close(y, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("layer", IN_ONNX, indirect=True)
def test_a_step_runs_in_onnx(layer, tmp_path):
    x, state = sequence(layer, 1, 3), layer.initial_state(1)
    path = tmp_path / "step.onnx"
    torch.onnx.export(layer.exportable("one"), (x[:, 0], state), path, dynamo=True, verbose=False)
    session = onnxruntime.InferenceSession(path)
    given = (x[:, 0], *nests.tree_leaves(state))
    inputs = {place.name: value.numpy() for place, value in zip(session.get_inputs(), given, strict=True)}
    with torch.no_grad():
        wanted = nests.tree_leaves(layer.step(x[:, 0], state))
    for one, other in zip(session.run(None, inputs), wanted, strict=True):
        np.testing.assert_allclose(one, other.numpy(), rtol=1e-4, atol=1e-5)
