"""The layer as a graph: compiled, exported and in ONNX it gives what it gives in eager mode."""

import shutil

import numpy as np
import onnxruntime
import pytest
import torch

from hippozoo.memory.layer import MemoryLayer
from hippozoo.systems import LegS, LegT

# torch's own, while it compiles and exports.
OWN_WARNINGS = [
    "`torch.jit:DeprecationWarning",
    ".*should not be instantiated:DeprecationWarning",
    ".*LeafSpec:FutureWarning",
    "The .grad attribute:UserWarning",
]
pytestmark = [pytest.mark.filterwarnings(f"ignore:{warning}") for warning in OWN_WARNINGS]
needs_a_compiler = pytest.mark.skipif(
    not any(map(shutil.which, ("c++", "g++", "clang++"))), reason="torch.compile needs a C++ compiler"
)
# The same graphs, forward and backward, run by torch instead of by C++ that takes a minute to compile.
captured = {"fullgraph": True, "backend": "aot_eager"}

# Three blocks and a bit, so that every part of the fast path is in the graph.
N_STEPS = 100


def layers():
    torch.manual_seed(0)
    return {
        "states": MemoryLayer(LegT(8, 20.0)),
        "readout": MemoryLayer(LegS(8, 20.0), outputs=4, channels=3),
        "readout in float64": MemoryLayer(LegT(8, 20.0), outputs=4, channels=3, method="bilinear", dtype=torch.float64),
    }


@pytest.fixture(params=list(layers()))
def layer(request):
    torch.compiler.reset()
    return layers()[request.param]


@pytest.fixture
def inputs(layer):
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(2, N_STEPS, 3, generator=generator, dtype=torch.float64).to(layer.dtype)
    state = torch.randn(2, 3, 8, generator=generator, dtype=torch.float64).to(layer.dtype)
    return x, state


def assert_same(found, wanted):
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        one, other = torch.as_tensor(one), other.detach()
        assert one.dtype == other.dtype
        torch.testing.assert_close(one.detach(), other, rtol=1e-5, atol=1e-5)


def values_and_gradients(run, x, state, parameters):
    y, last = run(x, state)
    loss = (y**2).sum() + last.sum()
    return y, last, *torch.autograd.grad(loss, [x, state, *parameters])


@needs_a_compiler
def test_a_layer_compiled_to_machine_code_has_the_same_values_and_gradients():
    torch.compiler.reset()
    torch.manual_seed(0)
    layer = MemoryLayer(LegT(8, 20.0), outputs=4, channels=3)
    x, state = torch.randn(2, 40, 3, requires_grad=True), torch.randn(2, 3, 8, requires_grad=True)
    compiled = values_and_gradients(torch.compile(layer, fullgraph=True), x, state, layer.parameters())
    assert_same(compiled, values_and_gradients(layer, x, state, layer.parameters()))


@needs_a_compiler
def test_a_step_compiled_to_machine_code_goes_on_and_on(layer, inputs):
    x, state = inputs
    step = torch.compile(layer.step, fullgraph=True)
    whole, last = layer(x[:, :5], state)
    outputs = []
    for sample in x[:, :5].unbind(1):
        y, state = step(sample, state)
        outputs.append(y)
    assert_same((torch.stack(outputs, 1), state), (whole, last))


def test_a_layer_is_one_graph_with_the_same_values_and_gradients(layer, inputs):
    x, state = (tensor.requires_grad_() for tensor in inputs)
    compiled = values_and_gradients(torch.compile(layer, **captured), x, state, layer.parameters())
    assert_same(compiled, values_and_gradients(layer, x, state, layer.parameters()))


def test_a_graph_takes_no_state_and_lengths_and_another_step(layer, inputs):
    x, state = inputs
    compiled = torch.compile(layer, **captured)
    lengths = torch.tensor([N_STEPS, 37])
    assert_same(compiled(x), layer(x))
    assert_same(compiled(x, lengths=lengths), layer(x, lengths=lengths))
    assert_same(compiled(x, state, 0.5), layer(x, state, 0.5))
    assert_same(torch.compile(layer.step, **captured)(x[:, 0], state, 0.5), layer.step(x[:, 0], state, 0.5))


def test_irregular_steps_leave_the_graph_and_come_back(layer, inputs):
    x, state = inputs
    dt = torch.linspace(0.1, 2.0, N_STEPS, dtype=torch.float64)
    compiled = torch.compile(layer, backend="aot_eager")
    assert_same(compiled(x, state, dt), layer(x, state, dt))


def test_a_graph_learns_the_timescale(inputs, layer):
    x, state = (tensor.requires_grad_() for tensor in inputs)
    learning = MemoryLayer(LegT(8, 9.0), trainable_timescale=True, dtype=x.dtype)
    compiled = values_and_gradients(torch.compile(learning, **captured), x, state, learning.parameters())
    assert_same(compiled, values_and_gradients(learning, x, state, learning.parameters()))


def test_an_exported_layer_takes_any_batch(layer, inputs):
    x, state = inputs
    batch = torch.export.Dim("batch")
    program = torch.export.export(layer, (x, state), dynamic_shapes=({0: batch}, {0: batch}))
    assert_same(program.module()(x, state), layer(x, state))
    assert_same(
        program.module()(x.repeat(3, 1, 1), state.repeat(3, 1, 1)), layer(x.repeat(3, 1, 1), state.repeat(3, 1, 1))
    )


def test_an_exported_step_goes_on_and_on(layer, inputs):
    x, state = inputs
    step = torch.export.export(layer.exportable("one"), (x[:, 0], state)).module()
    whole, last = layer(x, state)
    outputs = []
    for sample in x.unbind(1):
        y, state = step(sample, state)
        outputs.append(y)
    assert_same((torch.stack(outputs, 1), state), (whole, last))


def test_a_sequence_in_onnx_agrees(layer, inputs, tmp_path):
    run = in_onnxruntime(layer, inputs, tmp_path)
    assert_same(run(*inputs), layer(*inputs))


def test_a_sequence_in_onnx_begins_from_nothing(layer, inputs, tmp_path):
    run = in_onnxruntime(layer, inputs[:1], tmp_path)
    assert_same(run(inputs[0]), layer(inputs[0]))


def test_a_step_in_onnx_goes_on_and_on(layer, inputs, tmp_path):
    x, state = inputs
    run = in_onnxruntime(layer.exportable("one"), (x[:, 0], state), tmp_path)
    whole, last = layer(x, state)
    outputs = []
    for sample in x.unbind(1):
        y, state = (torch.as_tensor(array) for array in run(sample, state))
        outputs.append(y)
    assert_same((torch.stack(outputs, 1), state), (whole, last))


def test_what_was_learnt_is_exported_frozen(tmp_path):
    learnt = MemoryLayer(LegT(8, 20.0), outputs=2, channels=3, trainable_timescale=True)
    torch.nn.init.constant_(learnt.log_timescale, 2.0)
    x = torch.randn(2, N_STEPS, 3, generator=torch.Generator().manual_seed(1))
    run = in_onnxruntime(learnt.frozen(), (x,), tmp_path)
    assert_same(run(x), learnt(x))


def in_onnxruntime(module, arguments, folder):
    path = folder / "model.onnx"
    torch.onnx.export(module.eval(), arguments, dynamo=True, verbose=False).save(path)
    session = onnxruntime.InferenceSession(path)
    names = [entry.name for entry in session.get_inputs()]

    def run(*given):
        arrays = [np.asarray(tensor.detach()) for tensor in given]
        return session.run(None, dict(zip(names, arrays, strict=True)))

    return run
