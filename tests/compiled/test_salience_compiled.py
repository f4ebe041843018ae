"""Salience under torch.compile, torch.export and ONNX: the same numbers, the same gradients."""

import onnxruntime
import pytest
import torch

from hippozoo.systems import LegT
from hippozoo.zoo.salience import SalienceLayer

# torch's own, while it compiles.
OWN_WARNINGS = ["`torch.jit:DeprecationWarning", "The .grad attribute:UserWarning"]
pytestmark = [pytest.mark.filterwarnings(f"ignore:{warning}") for warning in OWN_WARNINGS]


@pytest.mark.parametrize("summary", [0, 4])
def test_an_exported_step_streams_like_the_layer(summary):
    torch.manual_seed(0)
    layer = SalienceLayer(LegT(16, timescale=20.0), channels=3, outputs=2, summary=summary)
    x = torch.randn(2, 6, 3)
    state = other = layer.initial_state(2)
    program = torch.export.export(layer.exportable("one"), (x[:, 0], state)).module()
    for t in range(6):
        y, state = layer.step(x[:, t], state)
        exported, other = program(x[:, t], other)
        assert torch.allclose(exported, y, atol=1e-6)
    assert torch.allclose(other, state, atol=1e-6)


@pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")  # torch's own
def test_a_step_in_onnx_goes_on_and_on(tmp_path):
    torch.manual_seed(0)
    layer = SalienceLayer(LegT(16, timescale=20.0), channels=3, outputs=2, summary=4).eval()
    x, state = torch.randn(2, 6, 3), layer.initial_state(2)
    path = tmp_path / "step.onnx"
    torch.onnx.export(layer.exportable("one"), (x[:, 0], state), path, dynamo=True, verbose=False)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [entry.name for entry in session.get_inputs()]
    other = state.numpy()
    for t in range(6):
        y, state = layer.step(x[:, t], state)
        exported, other = session.run(None, dict(zip(names, (x[:, t].numpy(), other), strict=True)))
        assert torch.allclose(torch.as_tensor(exported), y, atol=1e-6)
    assert torch.allclose(torch.as_tensor(other), state, atol=1e-6)


# torch's own compiler instantiates autograd functions, and warns about it.
@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")
@pytest.mark.parametrize("summary", [0, 4])
@pytest.mark.parametrize("scalars", [False, True])  # without, a compiled model leaves its graph for a summary
def test_a_compiled_layer_gives_the_same_values_and_gradients(summary, scalars):
    torch.compiler.reset()
    torch.manual_seed(0)
    layer = SalienceLayer(LegT(16, timescale=20.0), channels=3, outputs=2, summary=summary)
    x = torch.randn(2, 8, 3)
    results = []
    for call in (layer, torch.compile(layer, backend="aot_eager", fullgraph=scalars)):
        layer.zero_grad()
        with torch._dynamo.config.patch(capture_scalar_outputs=scalars):
            y, state = call(x)
        (y.square().sum() + state.square().sum()).backward()
        gradients = [p.grad.clone() for p in layer.parameters() if p.grad is not None]
        results.append([y.detach(), state.detach(), *gradients])
    for one, other in zip(*results, strict=True):
        assert torch.allclose(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("per_channel", [False, True])
def test_a_graph_of_salience_that_sees_its_memory_does_not_grow_with_the_length(per_channel):
    layer = SalienceLayer(LegT(6, timescale=20.0), channels=3, summary=4, per_channel=per_channel).eval()
    sizes = []

    def count(graph, inputs):
        sizes.append(len(graph.graph.nodes))
        return graph

    for n_steps in (5, 50):
        torch.compiler.reset()
        x, lengths = torch.randn(2, n_steps, 3), torch.tensor([n_steps, 2])
        with torch.no_grad(), torch._dynamo.config.patch(capture_scalar_outputs=True):
            y, state = torch.compile(layer, backend=count, fullgraph=True, dynamic=False)(x, None, None, lengths)
            wanted, last = layer(x, None, None, lengths)
        assert torch.allclose(y, wanted, atol=1e-5)
        assert torch.allclose(state, last, atol=1e-5)
    assert sizes[0] == sizes[1]


@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")  # torch's own, as above
def test_a_graph_of_salience_known_beforehand_grows_by_one_product_a_chunk():
    layer, sizes = SalienceLayer(LegT(8, timescale=20.0), channels=3, summary=0).eval(), []

    def count(graph, inputs):
        sizes.append(len(graph.graph.nodes))
        return graph

    for n_steps in (180, 720):
        torch.compiler.reset()
        x = torch.randn(2, n_steps, 3)
        with torch.no_grad():
            y, _ = torch.compile(layer, backend=count, fullgraph=True, dynamic=False)(x)
        assert torch.allclose(y, layer(x)[0], atol=1e-4)
    assert sizes[1] - sizes[0] <= 5 * (720 - 180) / 18
