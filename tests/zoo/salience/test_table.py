"""The warped-lag table: what a step leaves, and how any state is a staircase."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from hippozoo.systems import FouT, LagT, LegS, LegT
from hippozoo.zoo.salience import lag_table
from hippozoo.zoo.salience._lookup import cubics, read, states_at
from oracles import roll_held

SYSTEMS = [
    LegT(12, timescale=1.0),
    LegS(12, timescale=1.0),
    LagT(6, timescale=1.0),
    FouT(9, timescale=1.0),
    LegT(40, timescale=1.0),
]


def torch_table(table):
    rule = np.hstack([table.system.A, table.system.b[:, None]])
    return tuple(map(torch.from_numpy, (table.values, table.slopes))), torch.from_numpy(rule)


@pytest.mark.parametrize("system", SYSTEMS, ids=repr)
def test_the_table_holds_what_a_step_leaves(system, rng):
    table = lag_table(system, 1e-9)
    assert table.error <= 1e-9
    lags = np.append(rng.uniform(0, 2.0, 30), [0.0, 1e-9, 1e-4, 3.0])
    (values, slopes), rule = torch_table(table)
    found = states_at(torch.from_numpy(lags), values, slopes, table.root_step, rule).numpy()
    for lag, G in zip(lags, found, strict=True):
        expected = roll_held(system, [1.0], [lag], np.zeros(system.order))[0]
        assert_allclose(G, expected, atol=2e-9)


@pytest.mark.parametrize("system", SYSTEMS, ids=repr)
def test_what_has_not_happened_yet_leaves_nothing(system):
    table = lag_table(system, 1e-9)
    (values, slopes), rule = torch_table(table)
    lags = torch.tensor([-1.0, -1e-9, 0.0], dtype=torch.float64, requires_grad=True)
    assert (states_at(lags, values, slopes, table.root_step, rule) == 0).all()
    functional = cubics(values, slopes, torch.ones(system.order, dtype=torch.float64))
    y = read(functional, lags, table.root_step)
    assert (y == 0).all()
    y.sum().backward()
    assert (lags.grad[:2] == 0).all()


@pytest.mark.parametrize("system", SYSTEMS, ids=repr)
def test_far_back_a_step_is_a_constant_past(system):
    table = lag_table(system, 1e-9)
    (values, slopes), rule = torch_table(table)
    far = torch.tensor([table.longest, 1e6], dtype=torch.float64)
    settled = np.linalg.solve(system.A, -system.b)
    assert_allclose(states_at(far, values, slopes, table.root_step, rule).numpy(), [settled, settled], atol=1e-7)


@pytest.mark.parametrize("system", SYSTEMS, ids=repr)
def test_any_state_is_the_memory_of_its_staircase(system, rng):
    table = lag_table(system, 1e-9)
    stairs = table.staircase
    state = rng.normal(size=system.order)
    jumps = stairs.jumps_of @ state
    (values, slopes), rule = torch_table(table)
    left = states_at(torch.from_numpy(stairs.lags), values, slopes, table.root_step, rule).numpy()
    assert_allclose(jumps @ left, state, atol=1e-6)
    # and goes on as the state itself does
    later = states_at(torch.from_numpy(stairs.lags + 0.3), values, slopes, table.root_step, rule).numpy()
    silence = roll_held(system, [0.0], [0.3], state)[0]
    level = jumps.sum()  # the staircase ends at zero: its last jump is back to it
    assert abs(level) < 1e-6 * np.abs(jumps).max() * len(jumps)
    assert_allclose(jumps @ later, silence, atol=1e-6)


def test_ill_conditioned_cells_are_refused():
    assert lag_table(LagT(20, timescale=1.0), 1e-6).staircase is None


def test_slopes_are_exact_enough_for_gradients():
    system = LegT(40, timescale=1.0)
    table = lag_table(system, 1e-9)
    (values, slopes), _ = torch_table(table)
    weight = torch.from_numpy(np.random.default_rng(0).normal(size=40))
    cubic = cubics(values, slopes, weight)
    lags = torch.tensor([1e-6, 1e-3, 0.2, 0.7, 0.99, 1.2], dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(read(cubic, lags, table.root_step).sum(), lags)
    for lag, found in zip(lags.tolist(), slope.tolist(), strict=True):
        G = roll_held(system, [1.0], [lag], np.zeros(40))[0]
        assert found == pytest.approx(float(weight.numpy() @ (system.A @ G + system.b)), rel=1e-4, abs=1e-3)


def test_what_is_read_has_second_derivatives(rng):
    table = lag_table(LegT(12, timescale=1.0), 1e-9)
    (values, slopes), rule = torch_table(table)
    # Within a cell: from cell to cell the second derivative of a cubic jumps.
    lags = (table.root_step * (rng.choice(200, 6) + rng.uniform(0.2, 0.8, 6))) ** 2
    lags, weight = (torch.from_numpy(part).requires_grad_() for part in (lags, rng.normal(size=(12, 2))))

    def functionals(weight, lags):
        return read(cubics(values, slopes, weight), lags, table.root_step)

    assert torch.autograd.gradgradcheck(functionals, (weight, lags), eps=1e-8, atol=1e-3, rtol=1e-4)
    states = lambda lags: states_at(lags, values, slopes, table.root_step, rule)  # noqa: E731
    twice = torch.func.jacrev(torch.func.jacrev(states))(lags)
    each = torch.arange(6)
    wanted = (states(lags) @ rule[:, :-1].mT + rule[:, -1]) @ rule[:, :-1].mT
    assert_allclose(twice[each, :, each, each].detach(), wanted.detach(), rtol=1e-9)


def test_where_time_stands_still_second_derivatives_are_numbers():
    table = lag_table(LegT(6, timescale=1.0), 1e-6)
    (values, slopes), _ = torch_table(table)
    cubic = cubics(values, slopes, torch.ones(6, dtype=torch.float64))
    lags = torch.tensor([-1.0, 0.0, 1e9], dtype=torch.float64, requires_grad=True)
    (once,) = torch.autograd.grad(read(cubic, lags, table.root_step).square().sum(), lags, create_graph=True)
    (twice,) = torch.autograd.grad(once.sum(), lags)
    assert (twice == 0).all()
