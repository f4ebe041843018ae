"""The right numbers reach the right artist."""

import numpy as np
from matplotlib.figure import Figure
from numpy.testing import assert_allclose

from hippozoo.zoo.volterra.plots import plot_kernel, plot_kernels, plot_learning, plot_nonlinearity


def axes(count=1):
    return Figure().subplots(1, count)


def test_a_quadratic_kernel_is_a_map_with_zero_in_the_middle(rng):
    kernel = rng.normal(size=(5, 5))
    ax = plot_kernel(kernel, dt=0.1, unit="s", ax=axes())
    image = ax.images[0]
    assert_allclose(image.get_array(), kernel)
    low, high = image.get_clim()
    assert low == -high == -np.abs(kernel).max()
    assert_allclose(image.get_extent(), [0, 0.5, 0, 0.5])
    assert ax.get_xlabel() == ax.get_ylabel() == "lag (s)"


def test_a_linear_kernel_fills_the_cells_of_its_samples():
    ax = plot_kernel(np.array([1.0, 2.0]), dt=0.5, label="first", ax=axes())
    values, edges, _ = ax.patches[0].get_data()
    assert_allclose(values, [1, 2])
    assert_allclose(edges, [0, 0.5, 1])


def test_kernels_to_compare_share_the_scale_of_the_first(rng):
    pair = axes(2)
    plot_kernels({"true": np.eye(3), "inferred": 5 * np.eye(3)}, axes=pair)
    assert pair[0].images[0].get_clim() == pair[1].images[0].get_clim() == (-1, 1)


def test_learning_is_drawn_as_mean_and_standard_error_on_logarithmic_axes():
    ax = plot_learning({"one": (np.array([1.0, 10.0]), np.array([[1.0, 2.0], [3.0, 6.0]]))}, ax=axes())
    assert ax.get_xscale() == ax.get_yscale() == "log"
    assert_allclose(ax.lines[0].get_ydata(), [2, 4])
    corners = ax.collections[0].get_paths()[0].vertices
    assert {1.0, 3.0} <= set(corners[corners[:, 0] == 1.0, 1])


def test_a_nonlinearity_is_drawn_with_its_tangent_at_zero():
    places = np.linspace(-1, 1, 201)
    ax = plot_nonlinearity(places, np.sin(places), seen=np.array([0.1, 0.2]), ax=axes())
    assert_allclose(ax.lines[0].get_ydata(), np.sin(places))
    assert_allclose(ax.lines[1].get_ydata(), places, atol=1e-3)
