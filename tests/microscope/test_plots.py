"""The right numbers reach the right artists."""

import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose

from hippozoo.microscope import compare, look
from hippozoo.microscope.plots import plot_capacity, plot_coefficients, plot_profile
from hippozoo.systems import LegS, LegT


@pytest.fixture(scope="module")
def both():
    return compare({"window": LegT(4, 8.0), "fading": LegS(4, 8.0)}, "noise", 12, sequences=12, length=120)


@pytest.fixture
def ax():
    return Figure().subplots()


def test_profiles_are_drawn_with_their_exact_curves(both, ax):
    plot_profile(both, ax=ax)
    first, exact = ax.lines[:2]
    assert_allclose(first.get_ydata(), both["window"].profile.value)
    assert_allclose(exact.get_ydata(), both["window"].exact)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "window",
        "window, exact",
        "fading",
        "fading, exact",
    ]
    assert len(plot_profile(both, "nonlinear", ax=Figure().subplots()).lines) == 2


def test_degrees_are_stacked(both, ax):
    plot_capacity(both, ax=ax)
    heights = [bar.get_height() for bar in ax.patches]
    assert_allclose(heights[0], both["window"].degrees[1].value)
    assert ax.get_xticklabels()[1].get_text() == "fading"


def test_sensitivities_are_drawn_with_their_exact_curves(both, ax):
    plot_profile(both, "sensitivity", ax=ax)
    assert_allclose(ax.lines[0].get_ydata(), both["window"].sensitivity.value)
    assert_allclose(ax.lines[1].get_ydata(), both["window"].exact)
    assert ax.get_ylabel() == "sensitivity"


def test_coefficients_are_drawn(both, ax):
    plot_coefficients(both["window"], LegT(3, 6.0), ax=ax)
    assert_allclose(ax.lines[0].get_ydata(), both["window"].coefficients(LegT(3, 6.0)).value)


def test_tokens_are_drawn_in_bits(ax):
    import numpy as np

    tokens = np.random.default_rng(0).integers(3, size=(16, 40))
    plot_profile(look(np.eye(3)[tokens], tokens, 3), ax=ax)
    assert ax.get_ylabel() == "readable (bits)"
