"""Every layer, baseline, stack and training loop on a pretend accelerator: nothing mixes, and nothing waits.

There is no accelerator here; what these tests show is that no call needs the host. None of this has run on a GPU.
"""

import numpy as np
import pytest
import torch
from torch import nn

from hippozoo.layers import ForecastLayer, SequenceModel, TorchCells, check_values
from hippozoo.memory import LagLayer, MemoryLayer
from hippozoo.models import RECIPES, build_model
from hippozoo.systems import LegT
from hippozoo.training import Plan, detached, train, train_online
from hippozoo.zoo.associative import PolynomialBank
from hippozoo.zoo.volterra import VolterraReadout
from pretend_device import PretendDevice
from test_promises import MEMBERS

LAYERS = {name: make for name, (make, _) in MEMBERS.items() if isinstance(make(), nn.Module)}
LAYERS |= {
    f"recipe {name}": lambda name=name: build_model(name, history=40, inputs=3, outputs=2, width=4) for name in RECIPES
}
LAYERS |= {
    "torch's LSTM": lambda: TorchCells(nn.LSTM(3, 4, num_layers=2)),
    "pooled by mean": lambda: SequenceModel(3, 2, [memory], width=4, pool="mean"),
    "pooled, last": lambda: SequenceModel(3, 2, [memory, lambda width: nn.GRU(width, width)], width=4, pool="last"),
}
pytestmark = pytest.mark.filterwarnings("ignore:PyTorch was compiled without cuDNN")  # nobody claims that it was
DEVICES = {"cuda": {"name": "cuda:0"}, "mps": {"name": "mps", "float64": False}}


def memory(width):
    return MemoryLayer(LegT(4, 9.0), channels=width, outputs=width)


def samples(name, layer, batch=2, n_steps=40):
    inputs = MEMBERS.get(name, (None, {}))[1].get("inputs")
    if inputs:
        return inputs(np.random.default_rng(0), batch, n_steps)
    torch.manual_seed(1)
    return torch.randn(batch, n_steps, layer.channels or 3, dtype=layer.dtype)


def made(name, device):
    torch.manual_seed(0)
    layer = LAYERS[name]()
    return layer.float() if device == "mps" else layer


def calls(layer, x, lengths):
    """Everything a layer can be asked for: sequence, padding, chunks, steps, uneven time."""
    y, state = layer(x)
    yield y
    yield layer(x, state, lengths=lengths)[0]
    yield layer.step(x[:, 0], state)[0]
    sizes = (len(x),) if layer.channels else (len(x), x.shape[-1])
    yield layer.step(x[:, 0], layer.initial_state(*sizes))[0]
    if layer.knows_time:
        yield layer(x, dt=0.5)[0]
        steps = torch.linspace(0.5, 1.5, x.shape[1], device=x.device)
        yield layer(x, dt=steps)[0]
        yield layer(x, dt=steps.expand(len(x), -1) * 1.0, lengths=lengths)[0]
        yield layer.step(x[:, 0], state, steps[: len(x)])[0]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_works_on_an_accelerator_and_never_waits_for_it(name, device):
    layer = made(name, device)
    x, lengths = samples(name, layer), [40, 17]
    wanted = list(calls(layer, x, lengths))
    with PretendDevice(**DEVICES[device]) as pretend:
        layer = layer.to(pretend.device)
        there = x.to(pretend.device)
        pretend.waits.clear()
        found = list(calls(layer, there, lengths))
        assert not pretend.waits
        assert all(one.device == pretend.device for one in found)
        if any(True for _ in layer.parameters()):
            loss = sum(one.square().mean() for one in found)
            with pretend.backward():
                loss.backward()
            assert not pretend.waits
        found = [one.cpu().detach() for one in found]
    for one, other in zip(found, wanted, strict=True):
        scale = other.detach().abs().max().item()
        close = 2e-4 if other.dtype == torch.float32 else 1e-6
        assert (one - other.detach()).abs().max().item() <= close * max(scale, 1.0)


@pytest.mark.parametrize("name", ["layer-readout", "model-tokens", "salience", "mamba-float32"])
def test_values_are_looked_at_where_asked_for(name):
    layer = made(name, "cuda")
    x = samples(name, layer)
    with PretendDevice() as pretend:
        layer = layer.to(pretend.device)
        there = x.to(pretend.device)
        with check_values(True):
            layer(there)
            assert pretend.waits
            pretend.waits.clear()
            spoilt = there.clone()
            spoilt[1, 3] = 99 if there.dtype == torch.long else torch.nan
            with pytest.raises(ValueError, match=r"x\[1, 3"):
                layer(spoilt)
        pretend.waits.clear()
        layer(there)
        assert not pretend.waits


def test_values_are_not_looked_at_where_nobody_wants_it():
    layer = made("layer-readout", "cpu")
    x = torch.full((1, 5, 3), torch.nan)
    with pytest.raises(ValueError, match="is nan"):
        layer(x)
    with check_values(False):
        assert layer(x)[0].isnan().all()
    with pytest.raises(ValueError, match="is nan"):
        layer(x)


@pytest.mark.parametrize("device", DEVICES)
def test_a_model_that_reads_backwards_too_never_waits(device):
    torch.manual_seed(0)
    model = SequenceModel(3, 2, [memory] * 2, width=4, bidirectional=True)
    x, lengths, steps = torch.randn(2, 40, 3), [40, 17], torch.rand(2, 40) + 0.5
    wanted = model(x, dt=steps, lengths=lengths)[0].detach()
    with PretendDevice(**DEVICES[device]) as pretend:
        model = model.to(pretend.device)
        there, steps = x.to(pretend.device), steps.to(pretend.device)
        pretend.waits.clear()
        found = model(there, dt=steps, lengths=lengths)[0]
        with pretend.backward():
            found.sum().backward()
        assert not pretend.waits
        found = found.cpu().detach()
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("device", DEVICES)
def test_streams_masks_kernels_and_reconstructions_stay_on_the_device(device):
    torch.manual_seed(0)
    layer, lags, x = memory(3), LagLayer(LegT(4, 9.0), 3, taps=2), torch.randn(2, 20, 3)
    mask = torch.rand(2, 20) < 0.7

    def everything(layer, lags, x, mask):
        stream = layer.stream(2)
        pushed = [stream.push(one) for one in x.unbind(1)][-1]
        read = layer.reconstruct(stream.state, [0.0, 3.5])
        return pushed, read, layer(x, mask=mask)[0], layer.kernels(9), lags.kernels(9)

    wanted = [one.detach() for one in everything(layer, lags, x, mask)]
    with PretendDevice(**DEVICES[device]) as pretend:
        given = [one.to(pretend.device) for one in (layer, lags, x, mask)]
        pretend.waits.clear()
        found = everything(*given)
        assert not pretend.waits
        assert all(one.device == pretend.device for one in found)
        found = [one.cpu().detach() for one in found]
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("rank", [None, 2])
def test_a_forecast_head_works_on_an_accelerator(device, rank):
    torch.manual_seed(0)
    states, futures = torch.randn(60, 4), torch.randn(60, 3)
    head = ForecastLayer(rank, ridge=0.1, future_metric=np.diag([1.0, 2.0, 3.0]))
    wanted = head(states, futures)
    with PretendDevice(**DEVICES[device]) as pretend:
        there = states.to(pretend.device).requires_grad_()
        pretend.waits.clear()
        found = head(there, futures.to(pretend.device))
        with pretend.backward():
            found.square().sum().backward()
        assert not pretend.waits
        found = found.cpu().detach()
    torch.testing.assert_close(found, wanted, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("device", DEVICES)
def test_readouts_and_banks_work_on_an_accelerator(device):
    torch.manual_seed(0)
    readout, bank = VolterraReadout(3, outputs=2, degree=3), PolynomialBank(channels=2)
    states, address, value = torch.randn(5, 3), torch.rand(5), torch.randn(5, 2)
    wanted = readout(states).detach(), bank.read(bank.write(bank.initial_state(5), address, value), address)
    with PretendDevice(**DEVICES[device]) as pretend:
        readout, bank = readout.to(pretend.device), bank.to(pretend.device)
        states, address, value = (one.to(pretend.device) for one in (states, address, value))
        pretend.waits.clear()
        found = readout(states), bank.read(bank.write(bank.initial_state(5), address, value), address)
        assert not pretend.waits
        found = tuple(one.cpu().detach() for one in found)
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("device", DEVICES)
def test_training_along_a_stream_waits_once_a_step(device):
    torch.manual_seed(0)
    model = made("model", device)
    with PretendDevice(**DEVICES[device]) as pretend:
        model = model.to(pretend.device)
        x = torch.randn(2, 20, 3).to(pretend.device, model.dtype)

        def loss(model, chunk, state):
            y, state = model(chunk, state)
            return y.square().mean(), detached(state)

        pretend.waits.clear()
        with pretend.backward():
            trained = train_online(model, lambda step, rng: x, loss, Plan(steps=5, rate=1e-3, validate_every=5))
        assert trained.steps == 5
        del pretend.waits["copy to the host"]  # as below
        assert sum(pretend.waits.values()) == 5


@pytest.mark.parametrize("device", DEVICES)
def test_training_waits_once_a_step(device):
    torch.manual_seed(0)
    model = made("model", device)
    with PretendDevice(**DEVICES[device]) as pretend:
        model = model.to(pretend.device)
        x = torch.randn(4, 20, 3).to(pretend.device, model.dtype)

        def loss(model, batch):
            return model(batch)[0].square().mean()

        def draw(step, rng):
            return x

        pretend.waits.clear()
        with pretend.backward():
            trained = train(model, draw, loss, Plan(steps=6, rate=1e-3, validate_every=6))
        assert trained.steps == 6
        # torch groups gradients by the device that they are truly on, and so copies a norm that it would leave alone.
        del pretend.waits["copy to the host"]
        assert sum(pretend.waits.values()) == 6
