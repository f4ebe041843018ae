"""What a plot cannot show is refused before anything is drawn."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from hippozoo.memory import GrowingMemory
from hippozoo.memory.plots import plot_basis, plot_memory
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
        plot_memory(LegT(order=3), *arguments, **options, ax=ax)
    assert not ax.lines
    assert not ax.patches


def test_no_basis_functions_are_refused():
    with pytest.raises(ValueError, match="functions=0; pass functions >= 1"):
        plot_basis(LegT(order=3), 0, ax=Figure().subplots())


def test_a_growing_memory_wants_a_state_with_an_age():
    with pytest.raises(TypeError, match="no GrowingState"):
        plot_memory(GrowingMemory(order=3), np.zeros(3), ax=Figure().subplots())


def test_several_channels_of_a_growing_memory_are_refused():
    memory = GrowingMemory(order=3)
    with pytest.raises(ValueError, match=r"state has shape \(2, 3\).*one channel"):
        plot_memory(memory, memory.final(np.ones((5, 2))), ax=Figure().subplots())
