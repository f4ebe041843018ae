"""The right numbers reach the right artist."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose

from hippozoo.systems import LegT
from hippozoo.zoo.forecasting import Forecaster, explain, plots


@pytest.fixture
def learnt(rng):
    forecaster = Forecaster(LegT(16, 30.0), horizon=6.0, rank=3, ridge=1e-3)
    signal = np.sin(np.arange(800) / 4) + 0.1 * rng.normal(size=800)
    return forecaster, forecaster.learn(forecaster.initial_state(), signal), signal


@pytest.fixture
def ax():
    return Figure().subplots()


def test_the_forecast_is_drawn_after_the_present_and_the_past_before_it(learnt, ax):
    forecaster, state, signal = learnt
    forecast = forecaster.forecast(state)
    assert plots.plot_forecast(forecast, signal[-20:], ax=ax) is ax
    leads, mean = ax.lines[0].get_data()
    assert (leads[0], leads[-1]) == (0.0, 6.0)
    assert_allclose(mean, forecast.mean(np.asarray(leads)))
    values, edges, _ = ax.patches[0].get_data()
    assert_allclose(values, signal[-20:])
    assert_allclose(edges, np.arange(-20.0, 1.0))
    assert len(ax.collections) == 2  # two bands


def test_memories_patterns_and_eigenfunctions_are_those_of_the_explanation(learnt, ax):
    forecaster, state, _ = learnt
    seen, lags = explain(forecaster, state), np.linspace(0.0, 30.0, 50)
    plots.plot_predictive_memory(seen, lags, whole=True, ax=ax)
    assert_allclose(ax.lines[0].get_ydata(), seen.memory(lags))
    assert_allclose(ax.lines[1].get_ydata(), seen.predictive_memory(lags))
    assert_allclose(ax.lines[1].get_xdata(), -lags)
    ax = plots.plot_patterns(seen, lags, count=2, ax=Figure().subplots())
    assert_allclose([line.get_ydata() for line in ax.lines], seen.patterns(lags)[:2])
    ax = plots.plot_eigenfunctions(seen, lags, count=2, ax=Figure().subplots())
    assert_allclose([line.get_ydata() for line in ax.lines], seen.eigenfunctions(lags, 2)[1])
    values = seen.eigenfunctions(lags, 2)[0]
    labels = [f"eigenfunction {number}, eigenvalue {value:.2g}" for number, value in enumerate(values, start=1)]
    assert [line.get_label() for line in ax.lines] == labels
    assert "0.001" in ax.get_title(loc="left") + ax.get_title()


@pytest.mark.parametrize("horizon", [4.0, 32.0])
def test_the_schematic_shows_which_time_each_system_holds(ax, horizon):
    plots.plot_schematic(horizon, 32.0, ax=ax)
    spans = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in ax.patches]
    assert spans[:4] == [(-horizon - 32.0, -horizon), (-horizon, 0.0), (-32.0, 0.0), (0.0, horizon)]
