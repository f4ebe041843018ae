"""What a plot cannot show is refused before anything is drawn."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from hippozoo.memory import GrowingMemory, GrowingState, MemoryLayer
from hippozoo.memory.plots import plot_basis, plot_memory, plot_weight
from hippozoo.systems import LegT


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((np.zeros((2, 3)),), {}, r"state has shape \(2, 3\).*one channel at one time; pass one of them"),
        ((np.zeros(4),), {}, r"state has shape \(4,\), but .* keeps 3 coefficients"),
        ((np.zeros(3), np.zeros((5, 2))), {}, r"signal has shape \(5, 2\); a plot shows one channel"),
        ((np.zeros(3), np.zeros(5)), {"dt": np.ones(4)}, r"dt has shape \(4,\), but the signal \(5,\)"),
        ((np.zeros(3), np.zeros(5)), {"dt": -1.0}, "dt=-1.0: time only runs forwards"),
        ((np.zeros(3), np.array([1.0, np.nan])), {}, r"signal\[1\] is nan"),
        ((np.zeros(3),), {"lags": np.array([-1.0])}, "lag=-1.0 is in the future"),
    ],
)
def test_a_memory_that_cannot_be_drawn_is_refused(arguments, options, message):
    ax = Figure().subplots()
    with pytest.raises(ValueError, match=message):
        plot_memory(LegT(order=3, timescale=1.0), *arguments, **options, ax=ax)
    assert not ax.lines
    assert not ax.patches


def test_no_basis_functions_are_refused():
    with pytest.raises(ValueError, match="functions=0; pass functions >= 1"):
        plot_basis(LegT(order=3, timescale=1.0), 0, ax=Figure().subplots())


PLOTS = {
    "memory": lambda system, **options: plot_memory(system, np.zeros(3), **options),
    "weight": plot_weight,
    "basis": plot_basis,
}


@pytest.mark.parametrize("plot", PLOTS.values(), ids=PLOTS.keys())
@pytest.mark.parametrize(
    ("lags", "message"),
    [
        ([], r"lags has shape \(0,\); pass at least one lag"),
        (2.0, r"lags has shape \(\); pass at least one lag, as \(lags,\)"),
        (np.zeros((2, 2)), r"lags has shape \(2, 2\)"),
        ([0.0, np.nan], r"lags\[1\] is nan"),
    ],
)
def test_lags_that_cannot_be_drawn_are_refused(plot, lags, message):
    ax = Figure().subplots()
    with pytest.raises(ValueError, match=message):
        plot(LegT(order=3, timescale=1.0), lags=lags, ax=ax)
    assert not ax.lines


@pytest.mark.parametrize("plot", PLOTS.values(), ids=PLOTS.keys())
@pytest.mark.parametrize(
    "memory", [LegT, "LegT", None, MemoryLayer(LegT(3, timescale=1.0))], ids=["class", "text", "none", "layer"]
)
def test_what_is_no_memory_is_refused(plot, memory):
    with pytest.raises(TypeError, match="system nor a Memory"):
        plot(memory, ax=Figure().subplots())


def test_a_weight_of_a_growing_memory_is_refused():
    with pytest.raises(TypeError, match=r"GrowingMemory\(order=3\)"):
        plot_weight(GrowingMemory(order=3), ax=Figure().subplots())


def test_a_growing_memory_wants_a_state_with_an_age():
    with pytest.raises(TypeError, match="no GrowingState"):
        plot_memory(GrowingMemory(order=3), np.zeros(3), ax=Figure().subplots())


def test_several_channels_of_a_growing_memory_are_refused():
    memory = GrowingMemory(order=3)
    state = memory.final(np.ones((5, 2)))
    with pytest.raises(ValueError, match=r"state has shape"):
        plot_memory(memory, state, ax=Figure().subplots())
    plot_memory(memory, GrowingState(state.coefficients[0], state.elapsed), ax=Figure().subplots())
