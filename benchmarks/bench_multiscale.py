"""What does a memory of every timescale cost, against the paper's coupled matrix? (set-up, steps, trajectories)."""

from __future__ import annotations

from benchmarks.timing import peak_megabytes, row, seconds  # first: it sets one thread  # isort: skip

import time
from typing import Any

import numpy as np
from scipy.linalg import expm

from hippozoo.systems import LegT
from hippozoo.tasks.ou_mixture import ou_mixture
from hippozoo.zoo.multiscale import MultiscaleMemory
from hippozoo.zoo.multiscale.constructions import LogTimescale

__all__ = ["growth", "run"]

ORDER, SCALES = 16, 128
SHORTEST, LONGEST = 10.0, 1e4


def coupled_update(system: LegT, rate_matrix: np.ndarray, dt: float) -> tuple[np.ndarray, np.ndarray]:
    """The paper's S' = A S G + b (G e_0)' f, discretised as one dense matrix on S flattened row by row."""
    size = system.order * len(rate_matrix)
    generator = np.zeros((size + 1, size + 1))
    generator[:size, :size] = np.kron(system.A, rate_matrix)
    generator[:size, size] = np.outer(system.b, rate_matrix[0]).ravel()
    both = expm(generator * (dt / system.timescale))
    return both[:size, :size], both[:size, size]


def run() -> list[dict[str, Any]]:
    """Set-up, one step, and whole trajectories; the state is checked against the coupled one first."""
    system = LegT(ORDER, SHORTEST)
    layout = LogTimescale(system, LONGEST, SCALES)
    begin = time.process_time()
    A_d, b_d = coupled_update(system, layout.rate_matrix, 1.0)
    coupled_setup = time.process_time() - begin

    def set_up() -> MultiscaleMemory:
        memory = MultiscaleMemory(system, LONGEST, SCALES)
        memory.step(memory.initial_state(), 1.0)
        return memory

    memory = set_up()
    rng = np.random.default_rng(0)
    coupled, ours = np.zeros(ORDER * SCALES), memory.initial_state()
    for sample in rng.normal(size=50).tolist():
        coupled = A_d @ coupled + b_d * sample
        ours = memory.step(ours, sample)
    assert np.abs(memory.scale_coefficients(ours).ravel() - coupled).max() < 1e-11
    rows = [
        row(
            "set-up, order 16, 128 scales",
            seconds(set_up, 3),
            coupled_setup,
            against="dense 2048 x 2048 expm",
            target=100,
        )
    ]

    def steps(count: int) -> None:
        state = ours
        for _ in range(count):
            state = memory.step(state, 0.5)

    def coupled_steps(count: int) -> None:
        state = coupled
        for _ in range(count):
            state = A_d @ state + b_d * 0.5

    dense = seconds(lambda: coupled_steps(40)) / 40
    del A_d
    single = rng.normal(size=30_000)
    for name, per_step in (
        ("one call of step, order 16, 128 scales", seconds(lambda: steps(2000)) / 2000),
        ("one step of scan (every state kept)", seconds(lambda: memory.scan(single[:2000])) / 2000),
        ("one step of final (30000 samples of one stream)", seconds(lambda: memory.final(single)) / 30_000),
    ):
        rows.append(row(name, per_step, dense, against="dense 2048 x 2048 update", target=200))

    signal = ou_mixture(rng, n_steps=30_000, trajectories=64)
    fresh = MultiscaleMemory(system, LONGEST, SCALES)
    begin = time.process_time()
    fresh.final(signal)
    first = time.process_time() - begin
    samples = signal.size
    rows.append(
        row(
            "64 trajectories of 30000 to their final states, tables included",
            first,
            5.0,
            against="5 s of one core",
            target=1,
            samples=samples,
        )
    )
    rows.append(
        row(
            "the same, tables at hand",
            seconds(lambda: fresh.final(signal), 3),
            samples=samples,
            peak=peak_megabytes(lambda: fresh.final(signal)),
        )
    )
    bank = MultiscaleMemory(LegT(24, SHORTEST), LONGEST, 8, "bank")
    log_final, bank_final = seconds(lambda: fresh.final(signal), 3), seconds(lambda: bank.final(signal), 3)
    rows.append(
        row(
            "the same with the parsimonious bank, 192 numbers",
            bank_final,
            log_final,
            against="log, 2048 numbers",
            samples=samples,
        )
    )
    return rows


def growth() -> list[dict[str, Any]]:
    """One step as scales are added: the cost is linear in them."""
    rows = []
    for scales in (32, 64, 128, 256, 512, 1024):
        memory = MultiscaleMemory(LegT(ORDER, SHORTEST), LONGEST, scales)
        state = memory.initial_state()

        def steps(memory: MultiscaleMemory = memory, state: np.ndarray = state) -> None:
            for _ in range(500):
                memory.step(state, 0.5)

        rows.append(row(f"one step, order 16, {scales} scales", seconds(steps) / 500))
    return rows


if __name__ == "__main__":
    for one in run() + growth():
        print(one)
