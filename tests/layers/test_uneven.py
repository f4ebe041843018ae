"""Samples at uneven times: the fast ways give the states of the slow definition, and their gradients."""

import numpy as np
import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

from hippozoo.layers.uneven import chunks, rolling
from hippozoo.layers.uneven.tables import lag_cells, step_series
from hippozoo.memory import LagLayer, MemoryLayer
from hippozoo.systems import FouT, LagT, LegS, LegT
from oracles import roll_held

SYSTEMS = [LegT(16, 40.0), LegT(40, 100.0), LegS(16, 20.0), LagT(8, 20.0), FouT(9, 40.0)]
READOUTS = {
    "states": {},
    "few outputs": {"outputs": 3},
    "many outputs": {"outputs": 50},
    "shared": {"readout": "shared"},
    "per channel": {"readout": "per_channel", "reads": 2},
}
# What the issue asks for: float32 to 1e-6 of what exponentials give, twice its rounding; float64 to 1e-9.
TOLERANCE = {torch.float32: 3e-6, torch.float64: 1e-9}


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(28)


def make(generator, system, readout, dtype=torch.float64):
    torch.manual_seed(0)
    layer = MemoryLayer(system, channels=3, dtype=dtype, **READOUTS[readout])
    x = torch.randn(2, 45, 3, generator=generator, dtype=torch.float64).to(dtype)
    state = torch.randn(2, 3, system.order, generator=generator, dtype=torch.float64).to(dtype)
    return layer, x, state, 0.1 + 2 * torch.rand(2, 45, generator=generator, dtype=torch.float64)


def everything(layer, x, state, dt, lengths=None):
    """Outputs, last state and all gradients but that of the steps."""
    x, state = (one.detach().clone().requires_grad_() for one in (x, state))
    y, last = layer(x, state, dt, lengths)
    loss = (y * torch.linspace(-1, 1, y.numel(), dtype=y.dtype).view_as(y)).sum() + last.square().sum()
    return [y, last, *torch.autograd.grad(loss, [x, state, *layer.parameters()])]


def by_exponentials(layer, *arguments):
    """The same with an exact matrix exponential per sample, in float64."""
    exact = MemoryLayer(**layer.configuration(), dtype=torch.float64)
    exact.load_state_dict(layer.state_dict())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rolling, "goes_fast", lambda x: False)
        return everything(
            exact, *(one.double() if torch.is_tensor(one) and one.is_floating_point() else one for one in arguments)
        )


def assert_close(found, wanted, tolerance):
    for one, other in zip(found, wanted, strict=True):
        assert (one.double() - other).abs().max() <= tolerance * max(1.0, other.abs().max())


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("readout", READOUTS)
@pytest.mark.parametrize("system", SYSTEMS, ids=repr)
def test_uneven_steps_give_what_exponentials_give(system, readout, dtype, generator):
    arguments = make(generator, system, readout, dtype)
    assert_close(everything(*arguments), by_exponentials(*arguments), TOLERANCE[dtype])


@pytest.mark.parametrize("readout", READOUTS)
def test_uneven_steps_give_the_states_of_the_slow_loop(readout, generator):
    layer, x, state, dt = make(generator, LegT(6, 25.0), readout)
    states = np.empty((*x.shape, 6))
    for i in range(2):
        for c in range(3):
            states[i, :, c] = roll_held(layer.system, x[i, :, c].numpy(), dt[i].numpy(), state[i, c].numpy())
    states = torch.from_numpy(states)
    y, last = layer(x, state, dt)
    assert_close([y, last], [layer._mapped(layer._read(states)), states[:, -1]], 1e-9)


@pytest.mark.parametrize("readout", READOUTS)
@pytest.mark.parametrize("gap", [30.0, 1e3, 1e12])
def test_a_long_gap_among_short_steps_is_taken_exactly(gap, readout, generator):
    layer, x, state, dt = make(generator, LegT(12, 40.0), readout)
    dt[0, 17] = gap
    assert_close(everything(layer, x, state, dt), by_exponentials(layer, x, state, dt), 1e-9)


@pytest.mark.parametrize("readout", READOUTS)
def test_steps_that_the_batch_shares_are_those_of_each_item(readout, generator):
    layer, x, state, dt = make(generator, LegT(12, 40.0), readout)
    shared = everything(layer, x, state, dt[0])
    assert_close(shared, everything(layer, x, state, dt[0].expand(2, -1).clone()), 1e-12)


@pytest.mark.parametrize("readout", READOUTS)
def test_padding_of_uneven_steps_leaves_the_state_alone(readout, generator):
    layer, x, state, dt = make(generator, LegT(12, 40.0), readout)
    y, last = layer(x, state, dt, [45, 10])
    alone, end = layer(x[1:, :10], state[1:], dt[1:, :10])
    assert_close([y[1:, :10], last[1:]], [alone, end], 1e-12)
    assert not y[1:, 10:].any()


@pytest.mark.parametrize("readout", ["states", "few outputs", "shared", "per channel"])
def test_derivatives_of_uneven_steps_are_right_at_two_orders(readout, generator):
    layer, x, state, dt = make(generator, LegT(4, 10.0), readout)
    x, state, dt = (one[:1, :11] if one is not state else one[:1] for one in (x, state, dt))
    learnt = list(layer.parameters())

    def run(x, state, *weights):
        return layer(x, state, dt)

    inputs = [one.clone().requires_grad_() for one in (x, state)] + learnt
    # Cells of lags are interpolated to 1e-10, as a difference would see.
    assert gradcheck(run, inputs, atol=1e-6, fast_mode=True)
    assert gradgradcheck(run, inputs, atol=1e-6, fast_mode=True)


def test_derivatives_by_the_steps_are_right_at_two_orders(generator):
    layer, x, state, dt = make(generator, LegT(4, 10.0), "per channel")
    inputs = [one.clone().requires_grad_() for one in (x[:1, :6], state[:1], dt[:1, :6])]
    assert gradcheck(layer, inputs)
    assert gradgradcheck(layer, inputs, fast_mode=True)


def test_a_timescale_is_learnt_from_uneven_steps(generator):
    torch.manual_seed(0)
    layer = MemoryLayer(LegT(6, 20.0), channels=3, outputs=2, trainable_timescale=True, dtype=torch.float64)
    x = torch.randn(2, 30, 3, generator=generator, dtype=torch.float64)
    dt = 0.1 + torch.rand(2, 30, generator=generator, dtype=torch.float64)
    (found,) = torch.autograd.grad(layer(x, dt=dt)[0].square().sum(), layer.log_timescale)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rolling, "goes_fast", lambda x: False)
        (wanted,) = torch.autograd.grad(layer(x, dt=dt)[0].square().sum(), layer.log_timescale)
    assert abs(found / wanted - 1) < 1e-9


@pytest.mark.parametrize("taps", [0, 4])
@pytest.mark.parametrize("lengths", [None, [45, 2]])
def test_lags_of_several_windows_take_uneven_steps(taps, lengths, generator):
    torch.manual_seed(0)
    layer = LagLayer((LegT(4, 8.0), LegT(6, 32.0)), 3, taps=taps, reads=2, products=1, dtype=torch.float64)
    x, state = (
        torch.randn(2, *shape, generator=generator, dtype=torch.float64) for shape in ((45, 3), (3, layer.order))
    )
    dt = 0.1 + torch.rand(2, 45, generator=generator, dtype=torch.float64)
    found = everything(layer, x, state, dt, lengths)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hippozoo.memory.lags.goes_fast", lambda x: False)
        wanted = everything(layer, x, state, dt, lengths)
    assert_close(found, wanted, 1e-9)


def test_compiled_reads_of_channels_are_the_plain_ones(generator):
    system = LegT(6, 10.0)
    series, cells = step_series(system, 1.0, torch.float64), lag_cells(system, 1.0, torch.float64)
    assert series is not None
    assert cells is not None
    ends = torch.rand(4, 5, generator=generator, dtype=torch.float64).cumsum(1) / 6
    some = chunks.Chunks(series, cells, ends, batch=2, n_steps=10)
    jumps, starts, weight = (
        torch.randn(*s, generator=generator, dtype=torch.float64) for s in ((4, 5, 3), (4, 3, 6), (2, 3, 6))
    )
    found = chunks.read_channels(some, jumps, starts, weight).transpose(1, 2)
    assert_close([found], [chunks.read_channels_plainly(some, jumps, starts, weight)], 1e-9)


def test_no_series_is_longer_than_it_is_worth():
    assert step_series(LegT(64, 1.0), 64.0, torch.float64) is None
    assert lag_cells(LegT(64, 1.0), 64.0, torch.float64) is None
