"""The torch layer is the memory: every way through it gives the states that the slow definition gives."""

import copy
import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import gradcheck, gradgradcheck

from hippozoo.discretise import bilinear, longest_step, zero_order_hold
from hippozoo.layers import blocks, updates
from hippozoo.layers.updates import augmented_generator, exponential
from hippozoo.memory.layer import MemoryLayer
from hippozoo.systems import FouT, LagT, LegS, LegT
from oracles import roll, roll_held, roll_trapezoid

SYSTEMS = [LegT(6, 20.0), LegS(6, 20.0), LagT(6, 20.0), FouT(7, 20.0)]
TOLERANCE = {torch.float64: 1e-12, torch.float32: 2e-5}


@pytest.fixture(autouse=True)
def _same_weights_in_every_run():
    torch.manual_seed(0)


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(20240229)


def random(generator, *shape, dtype=torch.float64):
    return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)


def slow_states(system, x, state=None, dt=1.0, method="zoh"):
    """Item by item, channel by channel, step by step: (batch, time, channels, order), float64."""
    x = x.detach().double().numpy()
    batch, n_steps, channels = x.shape
    state = np.zeros((batch, channels, system.order)) if state is None else state.detach().double().numpy()
    steps = np.broadcast_to(np.asarray(dt, float), (batch, n_steps))
    walk = roll_held if method == "zoh" else roll_trapezoid
    states = np.empty((*x.shape, system.order))
    for i in range(batch):
        for c in range(channels):
            states[i, :, c] = walk(system, x[i, :, c], steps[i], state[i, c])
    return torch.from_numpy(states)


def assert_same(found, wanted, tolerance=1e-12):
    assert found.shape == wanted.shape
    assert (found.double() - wanted.double()).abs().max() <= tolerance * max(1.0, wanted.abs().max())


# -- a sequence --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("method", ["zoh", "bilinear"])
@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: type(system).__name__)
def test_the_layer_gives_the_states_of_the_slow_loop(system, method, dtype, generator):
    layer = MemoryLayer(system, dt=0.5, method=method, dtype=dtype)
    x, state = random(generator, 2, 75, 3, dtype=dtype), random(generator, 2, 3, system.order, dtype=dtype)
    states, last = layer(x, state)
    wanted = slow_states(system, x, state, 0.5, method)
    assert states.dtype == last.dtype == dtype
    assert_same(states, wanted, TOLERANCE[dtype])
    assert_same(last, wanted[:, -1], TOLERANCE[dtype])


# One sample, less than a block, whole blocks, one more; one to nine blocks walk every branch of the tree.
@pytest.mark.parametrize("n_steps", [1, 2, 31, 32, 33, 64, 65, 96, 129, 160, 200, 257])
@pytest.mark.parametrize("outputs", [None, 2])
@pytest.mark.parametrize("batch", [1, 40])  # few samples are read in shorter blocks
@pytest.mark.parametrize("carried", ["as a tree", "one by one"])
def test_any_length_gives_the_states_of_the_plain_loop(n_steps, outputs, batch, carried, generator, monkeypatch):
    monkeypatch.setattr(blocks, "MANY_NUMBERS", 1 if carried == "one by one" else 10**9)
    system = LegT(5, 30.0)
    layer = MemoryLayer(system, outputs=outputs, channels=2, dtype=torch.float64)
    x = random(generator, batch, n_steps, 2)
    y, last = layer(x)
    rolled = [[roll(*zero_order_hold(system, 1.0), x[i, :, c].numpy()) for c in range(2)] for i in range(batch)]
    wanted = torch.from_numpy(np.array(rolled)).transpose(1, 2)
    assert_same(last, wanted[:, -1])
    assert_same(y, layer.readout(wanted.flatten(2)) if outputs else wanted)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: type(system).__name__)
def test_a_readout_is_a_linear_map_of_all_coefficients(system, dtype, generator):
    layer = MemoryLayer(system, outputs=4, channels=3, dtype=dtype)
    x, state = random(generator, 2, 75, 3, dtype=dtype), random(generator, 2, 3, system.order, dtype=dtype)
    y, last = layer(x, state)
    wanted = slow_states(system, x, state)
    assert y.dtype == dtype
    assert_same(y, copy.deepcopy(layer.readout).double()(wanted.flatten(2)), TOLERANCE[dtype])
    assert_same(last, wanted[:, -1], TOLERANCE[dtype])


def test_a_readout_without_bias_of_no_signal_is_zero():
    layer = MemoryLayer(LegT(4, timescale=1.0), outputs=2, channels=1, bias=False)
    assert not layer(torch.zeros(1, 50, 1))[0].any()


def test_high_orders_agree_too(generator):
    system = LegT(150, 40.0)
    layer = MemoryLayer(system, outputs=1, channels=1, dtype=torch.float64)
    x = random(generator, 1, 70, 1)
    wanted = torch.from_numpy(roll(*zero_order_hold(system, 1.0), x[0, :, 0].numpy()))[None, :, None]
    assert_same(layer(x)[0], layer.readout(wanted.flatten(2)), 1e-11)
    assert_same(layer(x)[1], wanted[:, -1], 1e-11)


@pytest.mark.parametrize("timescale", [1e-3, 0.5, 1e7])
def test_a_memory_that_forgets_within_a_step_or_never_is_no_exception(timescale, generator):
    system = LegS(4, timescale)
    layer = MemoryLayer(system, dtype=torch.float64)
    x = random(generator, 1, 300, 1)
    wanted = torch.from_numpy(roll(*zero_order_hold(system, 1.0), x[0, :, 0].numpy()))[None, :, None]
    assert_same(layer(x)[0], wanted)


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_tables_hold_no_numbers_too_small_to_be_fast(dtype):
    # Products with subnormal numbers take many times as long.
    layer = MemoryLayer(LegT(64, 1.0), dtype=dtype)
    for table in layer.buffers():
        assert not ((table != 0) & (table.abs() < torch.finfo(dtype).tiny)).any()


# -- chunks, steps, promises ---------------------------------------------------------------------------------------


@given(cuts=st.lists(st.integers(1, 149), max_size=4), outputs=st.sampled_from([None, 3]))
def test_chunks_with_the_state_handed_on_are_one_long_call(cuts, outputs):
    layer = MemoryLayer(LegT(6, 25.0), outputs=outputs, channels=2, dtype=torch.float64)
    x = torch.randn(2, 150, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    state, pieces = None, []
    edges = sorted({0, 150, *cuts})
    for begin, end in pairwise(edges):
        y, state = layer(x[:, begin:end], state)
        pieces.append(y)
    whole, last = layer(x)
    assert_same(torch.cat(pieces, 1), whole)
    assert_same(state, last)


@pytest.mark.parametrize("trainable", [False, True])
@pytest.mark.parametrize("outputs", [None, 3])
def test_one_step_after_another_is_one_long_call(outputs, trainable, generator):
    layer = MemoryLayer(LegS(6, 25.0), outputs=outputs, channels=2, trainable_timescale=trainable, dtype=torch.float64)
    x = random(generator, 3, 40, 2)
    state, pieces = layer.initial_state(3), []
    for sample in x.unbind(1):
        y, state = layer.step(sample, state)
        pieces.append(y)
    whole, last = layer(x)
    assert_same(torch.stack(pieces, 1), whole)
    assert_same(state, last)


@pytest.mark.parametrize("outputs", [None, 3])
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_the_future_is_invisible(outputs, dtype, generator):
    layer = MemoryLayer(LegT(6, 25.0), outputs=outputs, channels=2, dtype=dtype)
    x = random(generator, 2, 100, 2, dtype=dtype)
    other = x.clone()
    other[:, 45:] = 1e6 * random(generator, 2, 55, 2, dtype=dtype)
    # Not nearly: exactly.
    assert torch.equal(layer(x)[0][:, :45], layer(other)[0][:, :45])


@pytest.mark.parametrize("outputs", [None, 3])
def test_items_do_not_mix(outputs, generator):
    layer = MemoryLayer(LegT(6, 25.0), outputs=outputs, channels=2, dtype=torch.float64)
    x, state = random(generator, 4, 70, 2), random(generator, 4, 2, 6)
    y, last = layer(x, state)
    for i in range(4):
        alone, end = layer(x[i : i + 1], state[i : i + 1])
        assert_same(alone[0], y[i])
        assert_same(end[0], last[i])


def test_neither_samples_nor_state_are_changed(generator):
    layer = MemoryLayer(LegT(6, 25.0), channels=2, dtype=torch.float64)
    x, state = random(generator, 2, 70, 2), random(generator, 2, 2, 6)
    before = x.clone(), state.clone()
    layer(x, state, lengths=torch.tensor([3, 70]))
    layer(x, state, dt=torch.linspace(0.1, 2, 70))
    layer.step(x[:, 0], state)
    assert torch.equal(x, before[0])
    assert torch.equal(state, before[1])


def test_the_last_state_does_not_keep_all_states_alive(generator):
    _, last = MemoryLayer(LegT(6, 25.0))(random(generator, 2, 500, 2, dtype=torch.float32))
    assert last.untyped_storage().nbytes() == last.numel() * 4


def test_a_detached_state_cuts_the_gradient(generator):
    layer = MemoryLayer(LegT(6, 25.0), dtype=torch.float64)
    x = random(generator, 1, 20, 1).requires_grad_()
    _, state = layer(x[:, :10])
    layer(x[:, 10:], state.detach())[0].sum().backward()
    assert not x.grad[:, :10].any()
    assert x.grad[:, 10:].all()


# -- lengths -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("outputs", [None, 3])
@pytest.mark.parametrize("steps", ["constant", "one per sample"])
@pytest.mark.parametrize("given_state", [False, True])
def test_no_time_passes_in_the_padding(outputs, steps, given_state, generator):
    layer = MemoryLayer(LegT(6, 25.0), outputs=outputs, channels=2, dtype=torch.float64)
    lengths = torch.tensor([70, 1, 0, 32, 33, 64, 45])
    x = random(generator, 7, 70, 2)
    dt = None if steps == "constant" else 0.1 + torch.rand(7, 70, generator=generator, dtype=torch.float64)
    state = random(generator, 7, 2, 6) if given_state else None
    for i, length in enumerate(lengths):
        x[i, length:] = torch.nan  # whatever stands there
        if dt is not None:
            dt[i, length:] = -1.0
    y, last = layer(x, state, dt, lengths)
    for i, length in enumerate(lengths):
        start = layer.initial_state(1) if state is None else state[i : i + 1]
        if length == 0:
            assert torch.equal(last[i], start[0])
        else:
            alone, end = layer(x[i : i + 1, :length], start, None if dt is None else dt[i : i + 1, :length])
            assert_same(y[i, :length], alone[0])
            assert_same(last[i], end[0])
        assert not y[i, length:].any()


def test_gradients_do_not_reach_the_padding(generator):
    layer = MemoryLayer(LegT(6, 25.0), outputs=3, channels=2, dtype=torch.float64)
    x = random(generator, 2, 50, 2).requires_grad_()
    y, last = layer(x, lengths=torch.tensor([50, 20]))
    (y.sum() + last.sum()).backward()
    assert not x.grad[1, 20:].any()
    assert x.grad[1, :20].all()


# -- steps of time ---------------------------------------------------------------------------------------------------


def irregular(generator, *shape):
    """Steps over three decades."""
    return 10 ** (3 * torch.rand(shape, generator=generator, dtype=torch.float64) - 2)


@pytest.mark.parametrize("method", ["zoh", "bilinear"])
@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: type(system).__name__)
@pytest.mark.parametrize("shape", ["number", "time", "batch and time"])
def test_every_step_is_taken_as_defined(system, shape, method, generator):
    layer = MemoryLayer(system, method=method, dtype=torch.float64)
    x, state = random(generator, 2, 45, 3), random(generator, 2, 3, system.order)
    dt = {"number": 0.3, "time": irregular(generator, 45), "batch and time": irregular(generator, 2, 45)}[shape]
    states, last = layer(x, state, dt)
    wanted = slow_states(system, x, state, dt, method)
    assert_same(states, wanted, 1e-11)
    assert_same(last, wanted[:, -1], 1e-11)


@pytest.mark.parametrize("shared", [True, False])
def test_irregular_steps_are_read_in_stretches_as_in_one_piece(shared, generator, monkeypatch):
    layer = MemoryLayer(LegT(6, 25.0), outputs=3, channels=2, dtype=torch.float64)
    x, dt = random(generator, 3, 50, 2).requires_grad_(), irregular(generator, *([50] if shared else [3, 50]))
    dt.requires_grad_()

    def everything():
        y, last = layer(x, dt=dt)
        loss = (y**2).sum() + last.sum()
        return y, last, *torch.autograd.grad(loss, [x, dt, layer.readout.weight])

    in_one_piece = everything()
    monkeypatch.setattr(updates, "MATRIX_BUDGET", 7 * 7 * 3 * 11)
    for whole, in_stretches in zip(in_one_piece, everything(), strict=True):
        assert_same(in_stretches, whole, 1e-11)


def test_equal_steps_are_one_step(generator):
    layer = MemoryLayer(LegT(6, 25.0), dtype=torch.float64)
    x = random(generator, 2, 50, 2)
    assert torch.equal(layer(x, dt=torch.full((2, 50), 0.7))[0], layer(x, dt=torch.tensor(0.7))[0])
    assert_same(layer(x, dt=torch.ones(50, dtype=torch.long))[0], layer(x)[0])


def test_two_half_steps_make_one(generator):
    layer = MemoryLayer(LegT(6, 25.0), dtype=torch.float64)
    x = random(generator, 2, 30, 2)
    halves, _ = layer(x.repeat_interleave(2, 1), dt=torch.tensor([0.2, 0.8]).repeat(30))
    assert_same(halves[:, 1::2], layer(x)[0], 1e-7)  # 0.2 + 0.8 in float32


@pytest.mark.parametrize("dt", [0.3, torch.tensor(0.3), torch.tensor([0.3, 2.0])])
def test_a_step_may_be_held_for_any_time(dt, generator):
    system = LegT(6, 25.0)
    layer = MemoryLayer(system, outputs=4, channels=3, dtype=torch.float64)
    x, state = random(generator, 2, 3), random(generator, 2, 3, 6)
    y, new = layer.step(x, state, dt)
    steps = np.broadcast_to(np.asarray(dt, float), 2)[:, None]
    wanted = slow_states(system, x[:, None], state, steps)[:, 0]
    assert_same(new, wanted)
    assert_same(y, layer.readout(wanted.flatten(1)))


@pytest.mark.parametrize("reach", [1e-4, 0.1, 30.0])
@pytest.mark.parametrize("system", [LegT(40, timescale=1.0), LegS(40, timescale=1.0)], ids=repr)
@pytest.mark.parametrize("repeated", [0, 7])
def test_many_exponentials_are_as_exact_as_one(system, reach, repeated, generator, monkeypatch):
    monkeypatch.setattr(updates, "CACHED", 30 * 41**2)  # a few at a time
    # Enough different ones to be put together from digits, and some of them twice.
    steps = reach * torch.rand(100, generator=generator, dtype=torch.float64)
    steps[100 - repeated :] = steps[:repeated]
    both = exponential(steps, augmented_generator(system))
    A_d, b_d = zero_order_hold(system, steps.numpy())
    assert_same(both[:, :-1, :-1], torch.from_numpy(A_d), 1e-12)
    assert_same(both[:, :-1, -1], torch.from_numpy(b_d), 1e-12)


@pytest.mark.parametrize("gap", [1e12, 1e13, 1e15, 1e19, 1e300])
@pytest.mark.parametrize("system", [LegT(64, timescale=1.0), LegS(64, timescale=1.0)], ids=repr)
def test_one_very_long_step_among_many_leaves_the_others_exact(system, gap, generator):
    steps = torch.rand(40, generator=generator, dtype=torch.float64)
    steps[[5, 17]] = torch.tensor([gap, 0.7 * gap], dtype=torch.float64)
    found = updates.updates(steps, augmented_generator(system), "zoh", longest=longest_step(system))
    for ours, expected in zip(found, zero_order_hold(system, steps.numpy()), strict=True):
        assert_same(ours, torch.from_numpy(expected), 2e-12)


@pytest.mark.parametrize("method", ["zoh", "bilinear"])
@pytest.mark.parametrize("samples", [5, 40])  # a few exponentials one by one; many, digit by digit
@pytest.mark.parametrize(("gap", "timescale"), [(1e13, 1.0), (1e300, 1.0), (1e300, 1e-20)])
def test_a_gap_of_any_length_leaves_states_exact_and_gradients_finite(method, samples, gap, timescale, generator):
    system = LegT(16, timescale)
    layer = MemoryLayer(system, trainable_timescale=True, method=method, dtype=torch.float64)
    x = random(generator, 1, samples, 1)
    dt = timescale * irregular(generator, samples)
    dt[2] = gap
    dt.requires_grad_()
    states, _ = layer(x, dt=dt)
    # What is more than 1e12 timescales ago is forgotten; slow_states would overflow.
    wanted = slow_states(system, x, dt=dt.detach().clamp(max=1e12 * timescale), method=method)
    assert_same(states, wanted, 1e-11)
    states.square().sum().backward()
    assert dt.grad is not None
    assert layer.log_timescale.grad is not None
    assert dt.grad.isfinite().all()
    assert dt.grad[2].abs() * gap < 1e-6
    nearby = MemoryLayer(system, trainable_timescale=True, method=method, dtype=torch.float64)
    nearby(x, dt=dt.detach().clamp(max=1e4 * timescale))[0].square().sum().backward()
    assert nearby.log_timescale.grad is not None
    assert_same(layer.log_timescale.grad, nearby.log_timescale.grad, 1e-2 if method == "bilinear" else 1e-9)


# -- gradients -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["zoh", "bilinear"])
@pytest.mark.parametrize("outputs", [None, 2])
@pytest.mark.parametrize("system", [LegT(3, 5.0), LegS(3, 5.0), LagT(3, 5.0), FouT(3, 5.0)], ids=repr)
def test_gradients_of_input_state_and_timescale_are_right(system, outputs, method, generator):
    layer = MemoryLayer(
        system, outputs=outputs, channels=2, trainable_timescale=True, method=method, dtype=torch.float64
    )
    x = random(generator, 2, 9, 2).requires_grad_()
    state = random(generator, 2, 2, 3).requires_grad_()
    parameters = tuple(layer.parameters())
    assert any(parameter is layer.log_timescale for parameter in parameters)

    def run(x, state, *_):
        return layer(x, state)

    assert gradcheck(run, (x, state, *parameters))


@pytest.mark.parametrize("carried", ["as a tree", "one by one"])
def test_gradients_are_right_across_blocks(carried, generator, monkeypatch):
    monkeypatch.setattr(blocks, "MANY_NUMBERS", 1 if carried == "one by one" else 10**9)
    layer = MemoryLayer(LegT(3, 9.0), outputs=2, channels=1, trainable_timescale=True, dtype=torch.float64)
    layer.block = 4
    x = random(generator, 1, 14, 1).requires_grad_()
    state = random(generator, 1, 1, 3).requires_grad_()
    assert gradcheck(lambda x, state, *_: layer(x, state), (x, state, *layer.parameters()))
    assert gradgradcheck(lambda x, state, *_: layer(x, state), (x, state, *layer.parameters()))


@pytest.mark.parametrize("shape", [(), (8,), (2, 8)])
@pytest.mark.parametrize("trainable", [False, True])
def test_gradients_of_steps_are_right(shape, trainable, generator):
    layer = MemoryLayer(LegT(3, 5.0), outputs=2, channels=2, trainable_timescale=trainable, dtype=torch.float64)
    x, state = random(generator, 2, 8, 2).requires_grad_(), random(generator, 2, 2, 3).requires_grad_()
    dt = irregular(generator, *shape).requires_grad_()
    assert gradcheck(lambda x, state, dt, *_: layer(x, state, dt), (x, state, dt, *layer.parameters()))


def test_gradients_of_steps_are_those_of_the_sum_where_steps_are_equal(generator):
    layer = MemoryLayer(LegT(3, 5.0), dtype=torch.float64)
    x = random(generator, 1, 8, 1)
    one = torch.tensor(0.4, dtype=torch.float64, requires_grad=True)
    each = torch.full((8,), 0.4, dtype=torch.float64, requires_grad=True)
    layer(x, dt=one)[0].sum().backward()
    layer(x, dt=each)[0].sum().backward()
    assert_same(each.grad.sum(), one.grad)
    assert each.grad.all()


def test_gradients_of_a_step_are_right(generator):
    layer = MemoryLayer(LegT(3, 5.0), outputs=2, channels=2, trainable_timescale=True, dtype=torch.float64)
    x, state = random(generator, 2, 2).requires_grad_(), random(generator, 2, 2, 3).requires_grad_()
    dt = irregular(generator, 2).requires_grad_()
    assert gradcheck(lambda x, state, dt, *_: layer.step(x, state, dt), (x, state, dt, *layer.parameters()))


def test_gradients_through_lengths_are_right(generator):
    layer = MemoryLayer(LegT(3, 5.0), outputs=2, channels=2, trainable_timescale=True, dtype=torch.float64)
    layer.block = 4
    x, state = random(generator, 3, 9, 2).requires_grad_(), random(generator, 3, 2, 3).requires_grad_()
    lengths = torch.tensor([9, 0, 5])
    assert gradcheck(lambda x, state, *_: layer(x, state, lengths=lengths), (x, state, *layer.parameters()))


def test_a_timescale_can_be_learnt(generator):
    teacher = MemoryLayer(LegT(4, 30.0), dtype=torch.float64)
    student = MemoryLayer(LegT(4, 10.0), trainable_timescale=True, dtype=torch.float64)
    x = random(generator, 4, 60, 1)
    target, _ = teacher(x)
    optimiser = torch.optim.Adam(student.parameters(), lr=0.1)
    for _ in range(120):
        optimiser.zero_grad()
        ((student(x)[0] - target) ** 2).mean().backward()
        optimiser.step()
    assert student.timescale == pytest.approx(30.0, rel=0.01)


# -- dtype, device, saving -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("convert", [lambda m: m.double(), lambda m: m.to(torch.float64)])
@pytest.mark.parametrize("nested", [False, True])
def test_a_layer_made_double_is_a_layer_born_double(convert, nested, generator):
    born = MemoryLayer(LegT(16, 20.0), dtype=torch.float64)
    made = MemoryLayer(LegT(16, 20.0))
    convert(torch.nn.Sequential(made) if nested else made)
    x = random(generator, 1, 100, 1)
    assert torch.equal(made.A_d, torch.from_numpy(zero_order_hold(made.system, 1.0)[0]))
    assert torch.equal(made(x)[0], born(x)[0])
    assert torch.equal(made.step(x[:, 0], made.initial_state(1, 1))[0], born.step(x[:, 0], born.initial_state(1, 1))[0])


def test_buffers_widened_behind_its_back_are_made_again(generator):
    born = MemoryLayer(LegT(16, 20.0), dtype=torch.float64)
    made = MemoryLayer(LegT(16, 20.0))
    for buffer in made.buffers():
        buffer.data = buffer.data.double()
    x = random(generator, 1, 100, 1)
    assert torch.equal(made.update_rule()[0], born.A_d)
    assert torch.equal(made(x)[0], born(x)[0])


def test_a_layer_leaves_the_meta_device_whole():
    meta = MemoryLayer(LegT(8, 20.0), outputs=2, channels=1, device="meta")
    assert meta(torch.empty(1, 40, 1, device="meta"))[0].shape == (1, 40, 2)
    here = meta.to_empty(device="cpu")
    assert torch.equal(here.A_d, MemoryLayer(LegT(8, 20.0)).A_d)


def test_autocast_does_not_spoil_the_memory(generator):
    layer = MemoryLayer(LegT(8, 20.0), outputs=2, channels=3)
    x = random(generator, 2, 50, 3, dtype=torch.float32).bfloat16()
    plain, _ = layer(x.float())
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y, state = layer(x)
        one, state = layer.step(x[:, 0], state)
    assert y.dtype == one.dtype == state.dtype == torch.float32
    assert torch.equal(y, plain)


def test_state_dict_holds_what_was_learnt_and_what_it_means():
    assert list(MemoryLayer(LegT(4, timescale=1.0)).state_dict()) == []
    read = MemoryLayer(LegT(4, timescale=1.0), outputs=2, channels=1)
    assert set(read.state_dict()) == {"_extra_state", "readout.weight", "readout.bias"}
    learnt = MemoryLayer(LegT(4, timescale=1.0), trainable_timescale=True)
    assert set(learnt.state_dict()) == {"_extra_state", "log_timescale"}


@pytest.mark.parametrize("trainable", [False, True])
def test_configuration_and_state_dict_make_the_layer_again(trainable, generator):
    layer = MemoryLayer(
        LegS(5, 7.0), dt=0.5, outputs=2, channels=3, trainable_timescale=trainable, method="bilinear", bias=False
    )
    if trainable:
        torch.nn.init.constant_(layer.log_timescale, 1.5)
    again = MemoryLayer(**layer.configuration())
    again.load_state_dict(layer.state_dict())
    x = random(generator, 2, 50, 3, dtype=torch.float32)
    assert torch.equal(again(x)[0], layer(x)[0])
    assert repr(again) == repr(layer)
    kept = {name: value for name, value in layer.configuration().items() if name != "readout"}
    assert all(getattr(layer, name) == value for name, value in kept.items())
    assert layer.read_by == "full"


def test_a_printed_layer_says_what_it_is():
    layer = MemoryLayer(LegT(4, 9.0), outputs=2, channels=3, trainable_timescale=True, method="bilinear")
    assert "system=LegT(order=4, timescale=9.0), channels=3, outputs=2, trainable_timescale=True" in repr(layer)
    assert "method='bilinear'" in repr(layer)


@pytest.mark.parametrize("trainable", [False, True])
def test_a_frozen_layer_is_the_layer_with_what_it_has_learnt(trainable, generator):
    layer = MemoryLayer(LegT(5, 7.0), outputs=2, channels=3, trainable_timescale=trainable, dtype=torch.float64).eval()
    if trainable:
        torch.nn.init.constant_(layer.log_timescale, math.log(12.0))
    frozen = layer.frozen()
    x = random(generator, 2, 50, 3)
    assert_same(frozen(x)[0], layer(x)[0])
    assert frozen.system.timescale == pytest.approx(12.0 if trainable else 7.0)
    assert not frozen.training
    assert not frozen.trainable_timescale
    assert frozen.readout.weight is not layer.readout.weight


def test_the_update_rule_can_be_read(generator):
    fixed = MemoryLayer(LegT(5, 7.0), dt=0.5, dtype=torch.float64)
    learning = MemoryLayer(LegT(5, 7.0), dt=0.5, method="bilinear", trainable_timescale=True, dtype=torch.float64)
    for layer, discretised in ((fixed, zero_order_hold), (learning, bilinear)):
        for found, wanted in zip(layer.update_rule(), discretised(layer.system, 0.5), strict=True):
            assert_same(found, torch.from_numpy(wanted))
        steps = irregular(generator, 40)
        for found, wanted in zip(layer.update_rule(steps), discretised(layer.system, steps.numpy()), strict=True):
            assert_same(found, torch.from_numpy(wanted))


def test_the_stepper_is_the_step(generator):
    layer = MemoryLayer(LegT(5, 7.0), outputs=2, channels=3)
    x, state = random(generator, 2, 3, dtype=torch.float32), random(generator, 2, 3, 5, dtype=torch.float32)
    for found, wanted in zip(layer.exportable("one")(x, state), layer.step(x, state), strict=True):
        assert torch.equal(found, wanted)


# -- inside other transformations ------------------------------------------------------------------------------------


def test_the_layer_may_be_mapped_over_a_batch_of_batches(generator):
    layer = MemoryLayer(LegT(5, 7.0), outputs=2, channels=3, dtype=torch.float64)
    x = random(generator, 4, 2, 40, 3)
    mapped, _ = torch.func.vmap(layer)(x)
    assert_same(mapped, torch.stack([layer(part)[0] for part in x]))


@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")  # torch's own, inside jacfwd
def test_the_jacobian_is_lower_triangular(generator):
    layer = MemoryLayer(LegT(5, 7.0), outputs=1, channels=1, dtype=torch.float64)
    x = random(generator, 1, 40, 1)
    jacobian = torch.func.jacrev(lambda x: layer(x)[0].flatten())(x).reshape(40, 40)
    assert not jacobian.triu(1).any()
    assert torch.allclose(jacobian, torch.func.jacfwd(lambda x: layer(x)[0].flatten())(x).reshape(40, 40))
