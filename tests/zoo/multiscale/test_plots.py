"""The right numbers reach the right artists."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose

from hippozoo.systems import LegT
from hippozoo.zoo.multiscale import MultiscaleMemory
from hippozoo.zoo.multiscale.plots import plot_coverage, plot_past, plot_windows

MEMORY = MultiscaleMemory(LegT(4, timescale=10.0), longest=200.0, scales=5, construction="bank")


@pytest.fixture
def ax():
    return Figure().subplots()


def test_the_past_is_drawn_at_the_horizon_beside_the_truth(ax, rng):
    signal = rng.normal(size=300)
    state = MEMORY.final(signal)
    plot_past(MEMORY, state, 50.0, signal, unit="s", label="remembered", ax=ax)
    (line,) = ax.lines
    assert line.get_label() == "remembered"
    assert_allclose(line.get_ydata(), MEMORY.reconstruct(state, line.get_xdata(), horizon=50.0))
    assert_allclose(ax.get_xlim(), (50.0, 0.0))
    (truth,) = ax.patches
    assert_allclose(truth.get_data().values, signal[::-1][:50])


def test_windows_stand_at_their_timescales(ax):
    plot_windows(MEMORY, ax=ax)
    (line,) = ax.lines
    assert_allclose(line.get_xdata(), MEMORY.windows)
    assert_allclose(line.get_ydata(), [0.1, 0.3, 0.5, 0.7, 0.9])
    assert ax.get_xscale() == "log"


def test_coverage_is_drawn_in_per_cent_beside_zero(ax):
    coverage = MEMORY.coverage(np.array([10.0, 40.0, 200.0]))
    plot_coverage(coverage, label="bank", ax=ax)
    plot_coverage(coverage, label="again", ax=ax)
    zero, line, _ = ax.lines  # one line at zero, however many curves
    assert_allclose(zero.get_ydata(), 0)
    assert_allclose(line.get_xdata(), [10, 40, 200])
    assert_allclose(line.get_ydata(), 100 * (coverage.error / coverage.plain_error - 1))


def test_coverage_is_drawn_from_short_to_long_in_whatever_order_it_was_asked_for(ax):
    plot_coverage(MEMORY.coverage(np.array([40.0, 200.0, 10.0])), ax=ax)
    assert_allclose(ax.lines[-1].get_xdata(), [10, 40, 200])
    assert_allclose(ax.lines[-1].get_ydata(), 100 * MEMORY.coverage(np.array([10.0, 40.0, 200.0])).excess)
