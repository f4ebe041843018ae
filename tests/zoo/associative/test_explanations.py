"""What one can look at: traces, interference, capacity; and that the numbers reach the pictures."""

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure
from numpy.testing import assert_allclose

from hippozoo.polynomials import Chebyshev, Legendre, Tabulated
from hippozoo.zoo.associative import (
    AssociativeMemory,
    PolynomialBank,
    bank_functions,
    capacity,
    expected_error,
    interference_matrix,
    layout_addresses,
    mean_fourth_overlap,
    plots,
    recall_error,
    recall_matrix,
    trace,
)


def a_layer():
    generator = torch.Generator().manual_seed(0)
    return AssociativeMemory(channels=3, width=4, hidden=5, dtype=torch.float64, generator=generator)


def test_a_trace_is_what_the_layer_did(rng):
    layer, x = a_layer(), torch.from_numpy(rng.normal(size=(2, 30, 3)))
    _, state = layer(x[:1])
    found = trace(layer, x[1], state)
    y, after = layer(x[1:], state)
    assert_allclose(found.outputs, y[0].detach(), atol=1e-12)
    assert_allclose(found.banks[0], state.bank[0].detach(), atol=0)
    assert_allclose(found.banks[-1], after.bank[0].detach(), atol=1e-12)
    signals = layer.signals(x[1:], state)
    assert_allclose(found.write_gate, signals.write_gate[0].detach(), atol=1e-12)
    assert_allclose(found.values, signals.value[0].detach(), atol=1e-12)


def test_the_banks_functions_speak_the_language_of_the_outputs(rng):
    layer, x = a_layer(), torch.from_numpy(rng.normal(size=(12, 3)))
    found = trace(layer, x)
    address, said = bank_functions(layer, found.banks[12], points=2001)
    at_query = [np.interp(found.read_address[11], address, one) for one in said.T]
    # Linear interpolation on a grid of 2000.
    assert_allclose(found.output_gate[11] * np.array(at_query), found.outputs[11], atol=1e-3)


@pytest.mark.parametrize("family", [Legendre(9), Chebyshev(8)], ids=repr)
def test_interference_is_what_a_write_does_to_other_reads(rng, family):
    bank = PolynomialBank(1, family, epsilon=0.0, dtype=torch.float64)
    addresses = rng.uniform(size=5)
    matrix = interference_matrix(family, addresses)
    for j, where in enumerate(addresses):
        one = torch.ones(1, 1, dtype=torch.float64)
        state = bank.write(bank.initial_state(1), torch.tensor([where]), one)
        assert_allclose(bank.read(state, torch.from_numpy(addresses)[None])[0, :, 0], matrix[:, j], atol=1e-11)


def test_the_recall_matrix_is_what_the_bank_reads_after_all_writes(rng):
    family, count = Legendre(10), 14
    bank = PolynomialBank(count, family, epsilon=0.0, dtype=torch.float64)
    written, gates, read = rng.uniform(size=count), rng.uniform(size=count), rng.uniform(size=6)
    state = bank.initial_state(1)
    for j in range(count):  # channel j carries a one in pair j: the channels spell out the matrix
        value = torch.eye(count, dtype=torch.float64)[j : j + 1]
        state = bank.write(state, torch.tensor([written[j]]), value, torch.tensor([gates[j]]))
    found = bank.read(state, torch.from_numpy(read)[None])[0]
    assert_allclose(found, recall_matrix(family, written, gates, read), atol=1e-10)


def test_the_last_pair_is_always_recalled_and_recall_error_is_that_of_random_values(rng):
    matrix = recall_matrix(Legendre(8), rng.uniform(size=12))
    error = recall_error(matrix)
    assert error[-1] < 1e-20
    values = rng.normal(size=(12, 200_000))
    measured = np.mean((matrix @ values - values) ** 2, axis=1)
    assert_allclose(measured, error, rtol=0.02, atol=1e-12)  # a mean of 2e5 squares


@pytest.mark.parametrize("order", [4, 16, 64])
def test_as_many_pairs_as_coefficients_are_held_exactly_at_gauss_nodes_and_no_more(rng, order):
    curve = capacity(Legendre(order), [1, order // 2, order, order + 1, 2 * order], "gauss", trials=2, rng=rng)
    assert curve.error[:3].max() < 1e-18
    # Half of twice as many have been replaced, and each is wrong by two variances.
    assert_allclose(curve.error[-1], 1.0, atol=0.5)
    assert curve.error[3] > 0.5 / order


@pytest.mark.parametrize("family", [Legendre(6), Legendre(6, positive_at="left"), Chebyshev(6)], ids=repr)
def test_keys_drawn_at_random_have_no_preferred_direction(rng, family):
    keys = family.values(layout_addresses(family, 200_000, "random", rng))
    keys /= np.linalg.norm(keys, axis=1, keepdims=True)
    assert_allclose(keys.T @ keys / len(keys), np.eye(6) / 6, atol=3e-3)  # the mean of 2e5


def test_theory_is_exact_for_keys_on_the_sphere(rng):
    order, pairs, trials = 8, 12, 4000
    errors = np.empty(trials)
    for trial in range(trials):
        keys = rng.normal(size=(pairs, order))
        keys /= np.linalg.norm(keys, axis=1, keepdims=True)
        bank = np.zeros((pairs, order))
        for j, key in enumerate(keys):
            bank += np.outer(np.eye(pairs)[j] - bank @ key, key)
        errors[trial] = recall_error(keys @ bank.T).mean()
    assert abs(errors.mean() - expected_error(order, pairs)) < 4 * errors.std() / np.sqrt(trials)


@pytest.mark.parametrize("family", [Legendre(32), Chebyshev(32)], ids=repr)
def test_theory_meets_the_measured_error_of_random_addresses(rng, family):
    curve = capacity(family, [8, 16, 32, 64], "random", trials=60, rng=rng)
    assert_allclose(curve.unit_error, curve.theory, atol=0.05)
    sphere = [expected_error(32, pairs) for pairs in curve.pairs.tolist()]
    assert np.abs(curve.theory - curve.unit_error).sum() < np.abs(sphere - curve.unit_error).sum()


@pytest.mark.parametrize("family", [Legendre(8), Chebyshev(8)], ids=repr)
def test_the_mean_fourth_overlap_is_the_mean_over_draws(rng, family):
    one, other = (family.values(layout_addresses(family, 100_000, "random", rng)) for _ in range(2))
    products = np.sum(one * other, axis=1) / np.linalg.norm(one, axis=1) / np.linalg.norm(other, axis=1)
    assert_allclose(np.mean(products**4), mean_fourth_overlap(family), rtol=0.03)


def test_of_a_weight_that_only_its_moments_tell_capacity_is_measured_without_theory(rng):
    known = Legendre(8)
    curve = capacity(Tabulated(*known.recurrence, known.interval), [4, 8, 9], "gauss", trials=2, rng=rng)
    assert curve.error[:2].max() < 1e-18 < curve.error[2]
    assert np.isnan(curve.theory).all()


def test_plots_show_the_numbers_they_are_given():
    axes = Figure().subplots(3, 2).ravel()
    plots.plot_gates(np.array([0.1, 0.9]), np.array([0.0, 0.5]), ["a1", "b1"], ax=axes[0])
    assert [bar.get_height() for bar in axes[0].patches] == [0.1, 0.9, 0.0, 0.5]
    plots.plot_addresses({"a1": np.array([0.2, 0.3])}, {"a1": np.array([0.25])}, ax=axes[1])
    assert axes[1].lines[0].get_ydata().tolist() == [0.2, 0.3]
    grid = np.linspace(0, 1, 11)
    plots.plot_write(grid, np.sin(grid), np.cos(grid), where=0.4, others=np.array([0.2]), ax=axes[2])
    assert_allclose(axes[2].lines[1].get_ydata(), np.cos(grid))
    plots.plot_kernel(Legendre(6), np.array([0.2]), points=21, ax=axes[3])
    assert_allclose(np.diag(axes[3].images[0].get_array()), 1)
    plots.plot_kernel(Legendre(6), normalised=False, points=21, ax=axes[3])
    assert_allclose(axes[3].images[1].get_array()[0, 0], 36)
    plots.plot_recall_matrix(np.eye(2), ["a1", "a2"], ax=axes[4])
    assert_allclose(axes[4].images[0].get_array(), np.eye(2))
    plots.plot_episode(["a1", "b1", "a1", "WRITE"], ["", "", "", "b1"], ax=axes[5])
    assert [text.get_text() for text in axes[5].texts] == ["a1", "b1", "a1", "WRITE", "b1"]


def test_the_capacity_plot_shows_the_error_of_the_values_with_theory_beside_the_random_layout(rng):
    curve = capacity(Legendre(8), [2, 8], "random", trials=2, rng=rng)
    ax = plots.plot_capacity({"gauss": {8: curve}, "random": {8: curve}}, ax=Figure().subplots())
    assert_allclose(ax.lines[0].get_ydata(), np.maximum(curve.error, 1e-4))
    assert_allclose(ax.lines[2].get_ydata(), np.maximum(curve.theory, 1e-4))
    assert_allclose(ax.lines[0].get_xdata(), curve.pairs / 8)
