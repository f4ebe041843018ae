"""The right numbers reach the right artist."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose

from hippozoo.memory import GrowingMemory, Memory
from hippozoo.memory.plots import plot_basis, plot_memory, plot_weight
from hippozoo.systems import LegS, LegT


@pytest.fixture
def ax():
    return Figure().subplots()


@pytest.fixture
def state():
    return np.array([0.5, -1.0, 0.25])


def stairs_of(ax):
    (steps,) = ax.patches
    return steps.get_data()


def test_the_remembered_curve_is_the_reconstruction(ax, state):
    system = LegT(order=3, timescale=8.0)
    lags = np.linspace(0, 6, 7)
    plot_memory(system, state, lags=lags, ax=ax)
    assert_allclose(ax.lines[0].get_xdata(), lags)
    assert_allclose(ax.lines[0].get_ydata(), system.reconstruct(state, lags))


def test_a_memory_brings_its_own_step(ax, state):
    plot_memory(Memory(LegT(order=3, timescale=8.0), dt=0.25), state, np.array([3.0, 2.0, 1.0]), ax=ax)
    assert_allclose(stairs_of(ax).edges, [0.0, 0.25, 0.5, 0.75])


def test_what_is_drawn_of_a_settled_memory_is_the_truth(ax):
    memory = Memory(LegT(order=8, timescale=20.0), dt=0.5)
    signal = np.linspace(3, 5, 200)
    plot_memory(memory, memory.final(signal), signal, ax=ax)
    cell_centres = stairs_of(ax).edges[:-1] + 0.25
    drawn = np.interp(cell_centres, *ax.lines[0].get_data())
    assert_allclose(drawn, stairs_of(ax).values, atol=0.01)


def test_sample_t_minus_j_fills_the_cell_from_lag_j_to_j_plus_1(ax, state):
    plot_memory(LegT(order=3, timescale=8.0), state, np.array([3.0, 2.0, 1.0]), dt=0.5, ax=ax)
    assert_allclose(stairs_of(ax).values, [1.0, 2.0, 3.0])
    assert_allclose(stairs_of(ax).edges, [0.0, 0.5, 1.0, 1.5])


def test_a_sample_held_longer_fills_a_longer_cell(ax, state):
    dt = np.array([4.0, 0.5, 0.25])
    plot_memory(LegT(order=3, timescale=8.0), state, np.array([3.0, 2.0, 1.0]), dt=dt, ax=ax)
    assert_allclose(stairs_of(ax).edges, [0.0, 0.25, 0.75, 4.75])


def test_the_true_past_ends_where_the_window_ends(ax, state):
    plot_memory(LegT(order=3, timescale=2.5), state, np.arange(10.0), ax=ax)
    assert_allclose(stairs_of(ax).values, [9.0, 8.0, 7.0])
    assert_allclose(stairs_of(ax).edges, [0.0, 1.0, 2.0, 2.5])


def test_beyond_the_window_only_the_true_past_is_drawn(ax, state):
    plot_memory(LegT(order=3, timescale=4.0), state, np.arange(10.0), lags=np.arange(8.0), ax=ax)
    assert_allclose(ax.lines[0].get_xdata(), [0, 1, 2, 3, 4])
    assert_allclose(stairs_of(ax).edges, np.arange(8))


def test_a_growing_memory_is_drawn_back_to_its_beginning(ax):
    memory, signal = GrowingMemory(order=3), np.arange(5.0)
    state = memory.final(signal, dt=2.0)
    plot_memory(memory, state, signal, dt=2.0, ax=ax)
    lags, remembered = ax.lines[0].get_data()
    assert ax.get_xlim() == (10.0, 0.0)
    assert_allclose(remembered, memory.reconstruct(state, lags))
    assert_allclose(stairs_of(ax).edges, [0, 2, 4, 6, 8, 10])


def test_the_present_is_on_the_right(ax, state):
    plot_memory(LegT(order=3, timescale=8.0), state, ax=ax)
    assert ax.get_xlim() == (8.0, 0.0)


def test_two_memories_share_the_axes_given(ax, state):
    plot_memory(LegT(order=3, timescale=1.0), state, label="first", ax=ax)
    assert plot_memory(LegT(order=3, timescale=1.0), 2 * state, label="second", ax=ax) is ax
    assert [line.get_label() for line in ax.lines] == ["first", "second"]


def test_a_fading_memory_is_drawn_for_five_timescales(ax):
    plot_weight(LegS(order=3, timescale=2.0), ax=ax)
    assert ax.get_xlim() == (10.0, 0.0)


@pytest.mark.parametrize("System", [LegS, LegT])
def test_the_weight_drawn_is_the_system_s_and_has_area_one(ax, System):
    system = System(order=3, timescale=3.0)
    plot_weight(system, unit="s", ax=ax)
    lag, weight = ax.lines[0].get_data()
    assert_allclose(weight, system.weight(lag))
    assert_allclose(np.trapezoid(weight, lag), 1, atol=0.01)
    assert ax.get_ylabel() == "weight (1/s)"


def test_a_window_ends_abruptly(ax):
    plot_weight(LegT(order=3, timescale=4.0), ax=ax)
    lag, weight = ax.lines[0].get_data()
    assert set(weight[lag <= 4.0]) == {0.25}
    assert set(weight[lag > 4.0]) == {0.0}


def test_basis_functions_are_drawn_in_order(ax):
    system, lags = LegS(order=4, timescale=3.0), np.linspace(0, 5, 11)
    plot_basis(system, 3, lags=lags, ax=ax)
    assert_allclose([line.get_ydata() for line in ax.lines], system.basis(lags).T[:3])


def test_a_memory_is_drawn_like_its_system(ax):
    system = LegT(order=3, timescale=4.0)
    for plot in (plot_weight, plot_basis):
        plot(system, ax=(own := Figure().subplots()))
        plot(Memory(system, dt=0.5), ax=(its := Figure().subplots()))
        assert its.lines
        for line, same in zip(its.lines, own.lines, strict=True):
            assert_allclose(line.get_data(), same.get_data())


def test_lags_may_be_a_list(ax, state):
    system, lags = LegT(order=3, timescale=8.0), [0.0, 2.0, 5.0]
    plot_memory(system, state, lags=lags, ax=ax)
    plot_weight(system, lags=lags, ax=ax)
    plot_basis(system, 1, lags=lags, ax=ax)
    wanted = system.reconstruct(state, np.array(lags)), system.weight(np.array(lags)), np.ones(3)
    for line, values in zip(ax.lines, wanted, strict=True):
        assert_allclose(line.get_data(), [lags, values])


def test_there_are_no_more_basis_functions_than_coefficients(ax):
    plot_basis(LegT(order=2, timescale=1.0), 5, ax=ax)
    assert len(ax.lines) == 2


def test_without_axes_a_plot_makes_its_own(state):
    import matplotlib.pyplot as plt

    plt.switch_backend("agg")
    ax = plot_memory(LegT(order=3, timescale=1.0), state)
    assert ax.lines
    plt.close(ax.figure)
