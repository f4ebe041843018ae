"""The associative memory as a graph: compiled, exported and in ONNX it gives what it gives in eager mode."""

import onnxruntime
import pytest
import torch
from torch import nn

from hippozoo.polynomials import Legendre
from hippozoo.zoo.associative import AssociativeMemory, AssociativeState

# torch's own, while it compiles and exports.
OWN_WARNINGS = [
    "`torch.jit:DeprecationWarning",
    ".*should not be instantiated:DeprecationWarning",
    ".*LeafSpec:FutureWarning",
    "The .grad attribute:UserWarning",
]
pytestmark = [pytest.mark.filterwarnings(f"ignore:{warning}") for warning in OWN_WARNINGS]


class OneStep(nn.Module):
    """A step whose state goes in and out as two tensors, as ONNX wants it."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x, memory, bank):
        y, state = self.layer.step(x, AssociativeState(memory, bank))
        return y, state.memory, state.bank


@pytest.fixture
def layer():
    torch.compiler.reset()
    generator = torch.Generator().manual_seed(0)
    return AssociativeMemory(channels=3, width=4, hidden=5, family=Legendre(8), generator=generator)


@pytest.fixture
def x():
    return torch.randn(2, 100, 3, generator=torch.Generator().manual_seed(1))


def assert_same(found, wanted):
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(torch.as_tensor(one).detach(), other.detach(), rtol=1e-4, atol=1e-5)


def test_a_compiled_layer_gives_the_same_outputs_and_gradients(layer, x):
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    gradients = []
    for form in (compiled, layer):
        y, state = form(x)
        gradients.append(torch.autograd.grad(y.square().sum() + state.bank.sum(), list(layer.parameters())))
    assert_same(compiled(x)[0], layer(x)[0])
    assert_same(*gradients)


def test_an_exported_layer_gives_the_same_outputs(layer, x):
    program = torch.export.export(layer, (x,))
    y, state = layer(x)
    found, found_state = program.module()(x)
    assert_same([found, *found_state], [y, *state])


def test_a_step_in_onnx_gives_the_same_outputs(layer, x, tmp_path):
    _, state = layer(x)
    arguments = (x[:, 0], *(part.detach() for part in state))
    path = tmp_path / "step.onnx"
    torch.onnx.export(OneStep(layer).eval(), arguments, path, dynamo=True, verbose=False)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [one.name for one in session.get_inputs()]
    found = session.run(None, dict(zip(names, (part.numpy() for part in arguments), strict=True)))
    y, after = layer.step(x[:, 0], state)
    assert_same(found, [y, *after])
