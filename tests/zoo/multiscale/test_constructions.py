"""The bank is the paper's coupled system, and reading is what it says."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import expm

from hippozoo.memory import Memory
from hippozoo.systems import FouT, LagT, LegS, LegT
from hippozoo.zoo.multiscale import MultiscaleMemory
from hippozoo.zoo.multiscale.constructions import CONSTRUCTIONS, BasicRate, GeometricBank, JeffreysRate, LogTimescale
from oracles import coupled_multiscale, project, roll

RATE_MATRICES = {"log": lambda jacobi: expm(jacobi), "basic": lambda jacobi: jacobi, "jeffreys": lambda jacobi: jacobi}


@pytest.mark.parametrize("System", [LegT, LegS])
@pytest.mark.parametrize("construction", RATE_MATRICES)
def test_the_coupled_system_of_the_paper_is_this_bank_in_other_coordinates(construction, System, rng):
    memory = MultiscaleMemory(System(4, timescale=3.0), longest=60.0, scales=10, construction=construction)
    signal = rng.normal(size=200)
    G = RATE_MATRICES[construction](memory.layout.family.jacobi_matrix())
    A_d, b_d = coupled_multiscale(memory.system.A, memory.system.b, G, timescale=3.0, dt=1.0)
    coupled = roll(A_d, b_d, signal)[-1].reshape(4, 10)
    state = memory.final(signal)
    assert_allclose(memory.scale_coefficients(state), coupled, atol=1e-12)
    psi = memory.layout.family.values(memory.layout.coordinate(3.0 / 17.0))
    assert_allclose(memory.coefficients(state, 17.0), coupled @ psi, atol=1e-11)


@pytest.mark.parametrize("construction", RATE_MATRICES)
def test_the_rate_matrix_multiplies_by_the_rate(construction):
    layout = MultiscaleMemory(LegT(4, timescale=3.0), longest=60.0, scales=12, construction=construction).layout
    assert_allclose(layout.rate_matrix, RATE_MATRICES[construction](layout.family.jacobi_matrix()), atol=1e-13)


@pytest.mark.parametrize("construction", CONSTRUCTIONS)
@pytest.mark.parametrize(
    "system", [LegT(5, timescale=4.0), LegS(5, timescale=4.0), LagT(4, timescale=4.0), FouT(5, 4.0)]
)
def test_read_at_its_own_horizon_each_window_is_a_plain_memory(construction, system, rng):
    memory = MultiscaleMemory(system, longest=100.0, scales=8, construction=construction)
    signal = rng.normal(size=300)
    state = memory.final(signal)
    for m, window in enumerate(memory.windows):
        if window > memory.longest:  # the basic construction keeps windows beyond the range
            continue
        plain = Memory(replace(system, timescale=float(window))).final(signal)
        assert_allclose(state[:, m], plain, atol=1e-12)
        if construction != "bank":
            assert_allclose(memory.coefficients(state, float(window)), plain, atol=1e-9)


def test_enough_scales_make_every_horizon_the_plain_memory_of_it(rng):
    memory = MultiscaleMemory(LegT(4, timescale=10.0), longest=1000.0, scales=60)
    signal = np.cumsum(rng.normal(size=3000))
    state = memory.final(signal)
    for horizon in np.geomspace(10, 1000, 13):
        plain = memory.plain(horizon).final(signal)
        assert_allclose(memory.coefficients(state, horizon), plain, atol=1e-6 * np.abs(plain).max())


@pytest.mark.parametrize("System", [LegT, LegS])
def test_the_bank_reads_the_projection_of_what_its_windows_remember_lag_by_lag(System, rng):
    bank = GeometricBank(System(4, timescale=2.0), longest=50.0, scales=4)
    state = rng.normal(size=(4, 4))
    horizon = 11.0
    used = int(np.searchsorted(bank.windows, horizon)) + 1

    def piecewise(lag):
        values = np.zeros_like(lag)
        starts = np.concatenate([[0.0], bank.windows[: used - 1]])
        for m in range(used):
            mine = (lag > starts[m]) & ((lag <= bank.windows[m]) | (m == used - 1))
            source = System(4, timescale=float(bank.windows[m]))
            values[mine] = source.reconstruct(state[:, m], np.minimum(lag[mine], source.window))
        return values

    # Panels end where the pieces do.
    edges = np.unique(np.concatenate([np.linspace(0, 500, 2001), bank.windows, [horizon]]))
    expected = project(System(4, timescale=horizon), piecewise, edges)
    assert_allclose(bank.read(state, horizon), expected, atol=1e-9)


def test_a_polynomial_past_is_read_exactly_from_a_bank():
    system = LegT(5, timescale=10.0)
    memory = MultiscaleMemory(system, longest=1000.0, scales=5, construction="bank")
    past = np.polynomial.Polynomial([1.0, -2.0, 0.5, 3.0])

    def remembered(window):
        edges = np.linspace(0, window, 9)
        return project(LegT(5, timescale=window), lambda lag: past(lag / 1000), edges)

    state = np.stack([remembered(float(window)) for window in memory.windows], axis=-1)
    for horizon in (10.0, 37.0, 444.0, 1000.0):
        assert_allclose(memory.coefficients(state, horizon), remembered(horizon), atol=1e-11)


def test_timescales_of_the_log_construction_follow_the_arcsine_law_and_are_not_log_uniform():
    windows = LogTimescale(LegT(16, timescale=10.0), longest=1e4, scales=400).windows
    place = np.log(windows / 10) / np.log(1000)
    arcsine = np.arcsin(2 * place - 1) / np.pi + 0.5
    rank = (np.arange(400) + 0.5) / 400
    assert np.abs(arcsine - rank).max() < 2e-3
    assert np.abs(place - rank).max() > 0.1


@pytest.mark.parametrize(("Construction", "lower"), [(BasicRate, 0.0), (JeffreysRate, 1e-2)])
def test_rates_of_the_other_constructions_follow_the_arcsine_law_in_the_rate(Construction, lower):
    layout = Construction(LegT(4, timescale=10.0), longest=1e3, scales=300)
    place = (10 / layout.windows[::-1] - lower) / (1 - lower)
    rank = (np.arange(300) + 0.5) / 300
    assert np.abs(np.arcsin(2 * place - 1) / np.pi + 0.5 - rank).max() < 1e-2


def test_the_measures_of_the_constructions_are_those_of_the_paper():
    """Means of the rate (or its logarithm) under the uniform weight, Jeffreys' weight, and the log-uniform one."""
    system, epsilon = LegT(4, timescale=10.0), 1e-2
    for construction, mean in (
        (BasicRate, 0.5),
        (JeffreysRate, (1 - epsilon) / np.log(1 / epsilon)),
        (LogTimescale, np.log(epsilon) / 2),
    ):
        nodes, weights = construction(system, 1e3, 12).family.gauss_rule()
        assert_allclose(weights @ nodes, mean, rtol=1e-12)


def test_windows_rise_and_readings_do_not_depend_on_what_was_asked_before(rng):
    for construction in CONSTRUCTIONS:
        memory = MultiscaleMemory(LegT(4, timescale=10.0), longest=1e3, scales=9, construction=construction)
        assert (np.diff(memory.windows) > 0).all()
        state = rng.normal(size=(4, 9))
        first = memory.coefficients(state, 77.0)
        memory.coefficients(state, np.geomspace(10, 1000, 300))
        assert_allclose(memory.coefficients(state, 77.0), first, rtol=0, atol=0)
