"""Expected errors are what a simulation finds on average, and the smallest memory keeps its word."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hippozoo.memory import Memory
from hippozoo.systems import LegS, LegT
from hippozoo.tasks.ou_mixture import ou_mixture
from hippozoo.zoo.multiscale import MultiscaleMemory, smallest_memory
from hippozoo.zoo.multiscale.coverage import ReferencePast, expected_error
from hippozoo.zoo.multiscale.smallest import fewest


@pytest.mark.parametrize("system", [LegT(4, timescale=10.0), LegS(4, timescale=10.0)])
def test_the_expected_error_is_the_mean_over_simulated_signals(system):
    # Cells of one sample each: every horizon lies where lags are resolved sample by sample.
    memory = MultiscaleMemory(system, longest=40.0, scales=4, construction="bank")
    coverage = memory.coverage(np.array([14.0, 40.0]))
    signal = ou_mixture(np.random.default_rng(0), n_steps=160, trajectories=4000, timescales=(2.0, 8.0))
    states = memory.final(signal)
    for i, horizon in enumerate(coverage.horizons):
        ends = min(memory.plain(horizon).system.window, 160.0)
        for found, coefficients in (
            (coverage.error[i], memory.coefficients(states, horizon)),
            (coverage.plain_error[i], memory.plain(horizon).final(signal)),
        ):
            fine = (np.arange(0, ends, 0.05) + 0.025).round(3)
            held = signal[::-1][np.floor(fine).astype(int)].T
            plain = memory.plain(horizon).system
            weight = plain.weight(fine)
            error = ((plain.reconstruct(coefficients, fine) - held) ** 2 * weight).sum(axis=1) / weight.sum()
            # Four standard errors of 4000 trajectories, and what the grid leaves out.
            assert abs(error.mean() - found) < 4 * error.std() / np.sqrt(4000) + 0.003


def test_cells_beyond_the_first_two_hundred_change_the_error_by_little():
    past, system = ReferencePast(10.0, 1e4, 1.0), LegT(16, timescale=300.0)
    # The same horizon, in a past that is resolved sample by sample all along.
    cells = np.arange(901.0)
    fine = ReferencePast(10.0, 1e4, 1.0)
    object.__setattr__(fine, "edges", cells)
    found, exact = (expected_error(p.responses(system), p.projection(system), p.covariance) for p in (past, fine))
    assert_allclose(found, exact, rtol=0.02)


def test_the_responses_of_the_cells_are_the_memory_itself(rng):
    past, system = ReferencePast(5.0, 30.0, 1.0), LegT(6, timescale=20.0)
    durations = np.diff(past.edges)
    values = rng.normal(size=durations.size)
    by_memory = Memory(system).final(values[::-1], dt=durations[::-1])
    assert_allclose(past.responses(system) @ values, by_memory, atol=1e-12)


def test_the_order_of_the_horizons_decides_only_the_order_of_the_answers():
    memory = MultiscaleMemory(LegT(4, timescale=10.0), longest=1e3)
    rising, mixed = memory.coverage(np.array([20.0, 90.0, 500.0])), memory.coverage(np.array([90.0, 500.0, 20.0]))
    assert_allclose(mixed.horizons, [90.0, 500.0, 20.0])
    assert_allclose(mixed.error, rising.error[[1, 2, 0]])
    assert mixed.note == rising.note
    assert "from 20 to 500" in rising.note


def test_with_enough_scales_the_log_construction_is_as_good_as_plain_memories_everywhere():
    few = MultiscaleMemory(LegT(6, timescale=10.0), longest=1e3, scales=20).coverage()
    enough = MultiscaleMemory(LegT(6, timescale=10.0), longest=1e3).coverage()
    assert enough.worst_excess < 0.001 < 0.05 < few.worst_excess
    assert enough.deviation.max() < 0.02
    assert "Every horizon from 10 to 1000 is read as well" in enough.note
    assert f"20 scales are fewer than the {few.scales_wanted} that are comfortable here." in few.note
    assert "comfortable" not in enough.note


def test_the_papers_own_number_of_scales_is_just_below_what_is_comfortable():
    coverage = MultiscaleMemory(LegT(16, timescale=10.0), 1e4, scales=128).coverage(np.array([10.0, 11.0]))
    assert coverage.scales_wanted == 160
    assert 0.0005 < coverage.worst_excess < 0.01
    assert "128 scales are fewer than the 160" in coverage.note


@pytest.mark.parametrize("system", [LegT(6, timescale=10.0), LegS(6, timescale=10.0)])
def test_the_smallest_memory_keeps_its_word_with_few_numbers(system):
    memory = smallest_memory(system, longest=1000.0, excess=0.05)
    assert memory.construction == "bank"
    assert memory.coverage(order=6).worst_excess <= 0.055
    log = MultiscaleMemory(system, longest=1000.0)
    assert memory.size < log.size / 5
    # What is allowed a larger error is no larger.
    assert smallest_memory(system, longest=1000.0, excess=0.2).size <= memory.size


def test_fewest_finds_the_first_that_is_good():
    for first in range(2, 40):
        assert fewest(lambda n, first=first: n >= first, 100) == first
    assert fewest(lambda n: n >= 50, 40) is None
    assert fewest(lambda n: n >= 40, 40) == 40
    assert fewest(lambda n: True, 1) is None
