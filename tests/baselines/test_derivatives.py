"""What has a backward pass of its own is differentiated twice, and under torch.func, like anything else."""

import pytest
import torch
from torch.func import functional_call, grad, jacfwd, jacrev, vmap

from hippozoo.baselines import DeltaNet, Mamba
from hippozoo.baselines._selective_scan import selective_scan
from hippozoo.baselines._short_convolution import ShortConvolution

# torch's own, in forward mode.
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")


@pytest.fixture(autouse=True)
def same_weights():
    torch.manual_seed(0)


def normal(*shape):
    return torch.randn(shape, dtype=torch.float64, requires_grad=True)


@pytest.fixture(params=[Mamba, DeltaNet])
def model(request):
    made = request.param(3, 2, width=4, dtype=torch.float64)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
    return made


def test_the_scan_has_a_second_derivative():
    n_steps = 4
    x, B, C = normal(1, n_steps, 2), normal(1, n_steps, 2), normal(1, n_steps, 2)
    steps, A = normal(1, n_steps, 2).exp().detach().requires_grad_(), -normal(2, 2).exp().detach()
    arguments = x, steps, A.requires_grad_(), B, C, normal(1, 2, 2)
    assert torch.autograd.gradgradcheck(selective_scan, arguments)


def test_the_short_convolution_has_a_second_derivative():
    layer = ShortConvolution(2, taps=3, device=torch.device("cpu"), dtype=torch.float64)

    def convolve(x, before, weight, bias):
        return functional_call(layer, {"weight": weight, "bias": bias}, (x, before, None))

    assert torch.autograd.gradgradcheck(convolve, (normal(2, 5, 2), normal(2, 2, 2), normal(3, 2), normal(2)))


def test_the_second_derivative_of_a_model_is_that_of_its_gradient(model):
    x, direction = torch.randn(2, 19, 3, dtype=torch.float64), torch.randn(2, 19, 3).double()

    def gradient(x, **options):
        x = x.clone().requires_grad_()
        return x, *torch.autograd.grad(model(x)[0].square().sum(), x, **options)

    at, once = gradient(x, create_graph=True)
    (twice,) = torch.autograd.grad((once * direction).sum(), at)
    h = 1e-5
    wanted = (gradient(x + h * direction)[1] - gradient(x - h * direction)[1]) / (2 * h)
    torch.testing.assert_close(twice, wanted, rtol=1e-6, atol=1e-6 * float(wanted.abs().max()))


def test_gradients_of_each_item_come_from_vmap(model):
    x = torch.randn(3, 6, 3, dtype=torch.float64)
    weights = dict(model.named_parameters())

    def loss(weights, item):
        return functional_call(model, weights, (item[None],))[0].square().sum()

    of_each = vmap(grad(loss), in_dims=(None, 0))(weights, x)
    together = torch.autograd.grad(model(x)[0].square().sum(), list(weights.values()))
    for name, wanted in zip(weights, together, strict=True):
        torch.testing.assert_close(of_each[name].sum(0), wanted)


def test_jacobians_are_the_same_backwards_and_forwards(model):
    x = torch.randn(5, 3, dtype=torch.float64)
    outputs = lambda x: model(x[None])[0][0]  # noqa: E731
    wanted = torch.autograd.functional.jacobian(outputs, x)
    torch.testing.assert_close(jacrev(outputs)(x), wanted)
    torch.testing.assert_close(jacfwd(outputs)(x), wanted)


def test_a_batch_of_gradients_goes_back_at_once(model):
    x = torch.randn(2, 5, 3, dtype=torch.float64, requires_grad=True)
    y, _ = model(x)
    seeds = torch.randn(3, *y.shape, dtype=torch.float64)
    sources = [x, *model.parameters()]

    def back(seed):
        return torch.autograd.grad(y, sources, seed, retain_graph=True)

    for index, found in enumerate(vmap(back)(seeds)):
        torch.testing.assert_close(found, torch.stack([back(seed)[index] for seed in seeds]))
