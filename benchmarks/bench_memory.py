"""What does a memory cost, against the loop that people write? (`for x in signal: s = A_d @ s + b_d * x`)."""

from __future__ import annotations

from benchmarks.timing import peak_megabytes, row, seconds  # first: it sets one thread  # isort: skip

from typing import Any

import numpy as np
from scipy.linalg import expm

from hippozoo.discretise import zero_order_hold
from hippozoo.memory import Memory, Stream
from hippozoo.systems import HippoSystem, LegS, LegT

__all__ = ["growth", "run"]

LENGTH = 1 << 20
TIMESCALE = 1000.0
# The loop is timed on fewer samples and scaled up: it is linear in their number.
LOOP = 1 << 15


def loop_final(A_d: np.ndarray, b_d: np.ndarray, signal: np.ndarray) -> np.ndarray:
    """The loop that people write."""
    state = np.zeros(len(b_d))
    for sample in signal:
        state = A_d @ state + b_d * sample
    return state


def loop_states(A_d: np.ndarray, b_d: np.ndarray, signal: np.ndarray) -> np.ndarray:
    """The same, keeping every state."""
    states = np.empty((len(signal), len(b_d)))
    state = np.zeros(len(b_d))
    for t, sample in enumerate(signal):
        state = A_d @ state + b_d * sample
        states[t] = state
    return states


def loop_readout(A_d: np.ndarray, b_d: np.ndarray, signal: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The same, reading one number from every state."""
    outputs = np.empty(len(signal))
    state = np.zeros(len(b_d))
    for t, sample in enumerate(signal):
        state = A_d @ state + b_d * sample
        outputs[t] = weights @ state
    return outputs


def expm_final(system: HippoSystem, signal: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """One matrix exponential per sample."""
    N = system.order
    augmented = np.zeros((N + 1, N + 1))
    augmented[:N, :N], augmented[:N, N] = system.A, system.b
    state = np.zeros(N)
    for sample, step in zip(signal, steps, strict=True):
        both = expm(augmented * (step / system.timescale))
        state = both[:N, :N] @ state + both[:N, N] * sample
    return state


def run() -> list[dict[str, Any]]:
    """The table of the foundations: every row is checked against its reference before it is timed."""
    rng = np.random.default_rng(0)
    signal = rng.normal(size=LENGTH)
    short = signal[:LOOP]
    scale = LENGTH / LOOP
    rows = []

    A_d, b_d = zero_order_hold(LegT(64, TIMESCALE), 1.0)
    plain = loop_states(A_d, b_d, short)
    for dtype, target, tolerance in (("float64", 7, 1e-11), ("float32", 15, 1e-4)):
        memory = Memory(LegT(64, TIMESCALE), dtype=dtype)
        given = signal.astype(dtype)
        assert np.abs(memory.scan(given[:LOOP]) - plain).max() < tolerance
        reference = seconds(lambda: loop_states(A_d, b_d, short), 2) * scale
        rows.append(
            row(
                f"all states of 2^20 samples, N = 64, {dtype}",
                seconds(lambda memory=memory, given=given: memory.scan(given), 3),
                reference,
                against="NumPy loop, float64",
                target=target,
                samples=LENGTH,
                peak=peak_megabytes(lambda memory=memory, given=given: memory.scan(given)),
            )
        )

    memory = Memory(LegT(64, TIMESCALE))
    assert np.abs(memory.final(short) - plain[-1]).max() < 1e-11
    rows.append(
        row(
            "final state of 2^20 samples, N = 64",
            seconds(lambda: memory.final(signal)),
            seconds(lambda: loop_final(A_d, b_d, short), 2) * scale,
            against="NumPy loop",
            target=300,
            samples=LENGTH,
            peak=peak_megabytes(lambda: memory.final(signal)),
        )
    )

    for order, target in ((64, 80), (256, 150)):
        memory = Memory(LegT(order, TIMESCALE))
        A_d, b_d = zero_order_hold(memory.system, 1.0)
        weights = rng.normal(size=order)
        few = signal[: LOOP // 4]
        assert np.abs(memory.readout(signal, weights)[: len(few)] - loop_readout(A_d, b_d, few, weights)).max() < 1e-9
        rows.append(
            row(
                f"linear readout of 2^20 samples, N = {order}",
                seconds(lambda memory=memory, weights=weights: memory.readout(signal, weights)),
                seconds(lambda A_d=A_d, b_d=b_d, few=few, weights=weights: loop_readout(A_d, b_d, few, weights), 2)
                * (LENGTH / len(few)),
                against=f"NumPy loop at N = {order}",
                target=target,
                samples=LENGTH,
                peak=peak_megabytes(lambda memory=memory, weights=weights: memory.readout(signal, weights)),
            )
        )

    steps = 10 ** rng.uniform(-4, -1, size=LENGTH)
    first, some = 200, 20_000
    for kind in (LegT, LegS):
        memory = Memory(kind(64))
        found = np.abs(
            memory.final(signal[:first], dt=steps[:first]) - expm_final(memory.system, signal[:first], steps[:first])
        )
        assert found.max() < 1e-9
        reference = seconds(lambda memory=memory: expm_final(memory.system, signal[:first], steps[:first]), 2) / first
        memory.final(signal, dt=steps)
        last = memory.scan(signal[:some], dt=steps[:some])[-1]
        assert np.abs(memory.final(signal[:some], dt=steps[:some]) - last).max() < 1e-9
        rows.append(
            row(
                f"final state, a new dt at every sample, {kind.__name__}",
                seconds(lambda memory=memory: memory.final(signal, dt=steps)),
                reference * LENGTH,
                against="one scipy expm per sample",
                target=20,
                samples=LENGTH,
                peak=peak_megabytes(lambda memory=memory: memory.final(signal, dt=steps)),
            )
        )
        rows.append(
            row(
                f"all states, a new dt at every sample, {kind.__name__}",
                seconds(lambda memory=memory: memory.scan(signal[:some], dt=steps[:some]), 3),
                reference * some,
                against="one scipy expm per sample",
                samples=some,
                peak=peak_megabytes(lambda memory=memory: memory.scan(signal[:some], dt=steps[:some])),
            )
        )
    return rows + one_by_one()


def one_by_one() -> list[dict[str, Any]]:
    """Samples as they come, with all checks: at most 10 µs each is asked for, 33 with uneven times."""
    rng = np.random.default_rng(2)
    values = rng.normal(size=5_000).tolist()
    times = np.cumsum(rng.uniform(0.2, 2.0, len(values))).tolist()
    rows, few = [], 100
    for order in (8, 64):
        memory = Memory(LegT(order, TIMESCALE))
        A_d, b_d = zero_order_hold(memory.system, 1.0)

        def steps(memory: Memory = memory) -> np.ndarray:
            state = memory.initial_state()
            for value in values:
                state = memory.step(state, value)
            return state

        def uneven(memory: Memory = memory) -> np.ndarray:
            state = memory.initial_state()
            for value, before, now in zip(values, [0.0, *times], times, strict=False):
                state = memory.step(state, value, now - before)
            return state

        def pushes(memory: Memory = memory) -> np.ndarray:
            stream = Stream(memory)
            for value in values:
                stream.push(value)
            return stream.state

        def timed(memory: Memory = memory) -> np.ndarray:
            stream = Stream(memory)
            for value, time in zip(values, times, strict=True):
                stream.push(value, time)
            return stream.state

        plain = loop_final(A_d, b_d, np.array(values))
        assert all(np.abs(work() - plain).max() < 1e-11 for work in (steps, pushes))
        held = memory.final(np.array(values), dt=np.diff(times, prepend=0.0))
        assert np.abs(uneven() - held).max() < 1e-11
        later = memory.final(np.array(values[:-1]), dt=np.diff(times))
        assert np.abs(timed() - later).max() < 1e-11
        loop = seconds(lambda A_d=A_d, b_d=b_d: loop_final(A_d, b_d, np.array(values)))
        exponentials = seconds(
            lambda memory=memory: expm_final(memory.system, np.array(values[:few]), np.diff(times[: few + 1])), 2
        )
        for name, work, reference, against in (
            ("Memory.step", steps, loop, "NumPy loop without checks"),
            ("Stream.push", pushes, loop, "NumPy loop without checks"),
            ("Memory.step, uneven dt", uneven, exponentials * len(values) / few, "one scipy expm per sample"),
            ("Stream.push, uneven times", timed, exponentials * len(values) / few, "one scipy expm per sample"),
        ):
            title = f"one call of {name}, N = {order}"
            rows.append(row(title, seconds(work), reference, against=against, samples=len(values)))
    return rows


def growth() -> list[dict[str, Any]]:
    """How time per sample and peak memory grow with order, channels and length."""
    rng = np.random.default_rng(1)
    rows = []
    for order in (16, 32, 64, 128, 256, 512):
        length = 1 << 16 if order <= 128 else 1 << 14
        signal, weights = rng.normal(size=length), rng.normal(size=order)
        steps = 10 ** rng.uniform(-4, -1, size=length)
        memory = Memory(LegT(order, TIMESCALE))
        timed = Memory(LegT(order, timescale=1.0))
        timed.final(signal, dt=steps)
        for name, work in {
            "scan": lambda memory=memory, signal=signal: memory.scan(signal),
            "final": lambda memory=memory, signal=signal: memory.final(signal),
            "readout": lambda memory=memory, signal=signal, weights=weights: memory.readout(signal, weights),
            "final, varying dt": lambda timed=timed, signal=signal, steps=steps: timed.final(signal, dt=steps),
        }.items():
            rows.append(row(f"{name}, N = {order}", seconds(work, 2), samples=length, peak=peak_megabytes(work)))
    for channels in (1, 4, 16, 64):
        signal = rng.normal(size=(4096, channels))
        for method in ("zoh", "bilinear"):
            memory = Memory(LegT(64, TIMESCALE), method=method)
            work = lambda memory=memory, signal=signal: memory.scan(signal)  # noqa: E731
            rows.append(
                row(
                    f"scan, {channels} channels, {method}",
                    seconds(work, 2),
                    samples=signal.size,
                    peak=peak_megabytes(work),
                )
            )
    for exponent in (10, 14, 18, 22):
        signal = rng.normal(size=1 << exponent)
        memory = Memory(LegT(64, TIMESCALE))
        work = lambda memory=memory, signal=signal: memory.final(signal)  # noqa: E731
        rows.append(
            row(f"final, 2^{exponent} samples", seconds(work, 3), samples=len(signal), peak=peak_megabytes(work))
        )
    return rows
