"""Every system over orders 1 to 512 and steps of 1e-12 to 1e12 timescales, against an update in extended precision.

The update of the shortest steps is a Taylor series in numbers of 80 bits; longer ones are squares of it, and steps
after which everything is forgotten are the known limit. So steps are powers of two, one next to each power of ten.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import torch

from hippozoo.memory import Memory, MemoryLayer
from hippozoo.systems import FouT, HippoSystem, LagT, LegS, LegT

SYSTEMS = (LegT, LegS, LagT, FouT)
ORDERS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
DECADES = tuple(range(-12, 13))
# At high orders a step takes seconds.
FEW_DECADES = (-12, -9, -6, -4, -2, -1, 0, 1, 3, 6, 9, 12)
MANY = 128
# What may be lost: rounding, which grows with the norm of A (order squared for the Legendre systems).
LIMITS = dict.fromkeys((one.__name__ for one in SYSTEMS), 1e-9)
SIGNAL = np.array([0.7, -1.3, 0.4, 1.1])


def exponent(decade: int) -> int:
    """The power of two next to this power of ten."""
    return round(decade * math.log2(10))


def exact_updates(system: HippoSystem, exponents: list[int]) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """A_d and b_d for steps of 2^exponent timescales, in extended precision."""
    N = system.order
    generator = np.zeros((N + 1, N + 1), np.longdouble)
    generator[:N, :N], generator[:N, N] = system.A, system.b
    # Where the series of twenty terms is exact; beyond, squares.
    first = -math.ceil(math.log2(float(np.abs(generator).sum(1).max()))) - 3
    last = 12  # 4096 timescales: no system of ours remembers anything
    found = {}
    for k in exponents:
        if k <= first:
            found[k] = _series(generator, k)
        elif k > last:
            found[k] = np.zeros((N + 1, N + 1), np.longdouble)
            found[k][0, N] = found[k][N, N] = 1  # a constant past is its first coefficient
    k, power = first, _series(generator, first)
    while k < max((one for one in exponents if one <= last), default=first):
        k, power = k + 1, power @ power
        if k in exponents:
            found[k] = power
    return {k: (one[:N, :N], one[:N, N]) for k, one in found.items()}


def _series(generator: np.ndarray, k: int) -> np.ndarray:
    scaled = generator * np.longdouble(2.0) ** k
    total, term = np.eye(len(generator), dtype=np.longdouble) + scaled, scaled
    size = float(np.abs(scaled).sum(1).max())
    n, reached = 2, size
    while reached > 1e-22 * size and n < 20:  # for the shortest steps two terms are enough
        term = scaled @ term / n
        total, reached, n = total + term, reached * size / n, n + 1
    return total


def modes(system: HippoSystem, dt: float) -> dict[str, np.ndarray]:
    """The last state of the signal, by every way there is."""
    memory, usual = Memory(system, dt=dt), Memory(system, dt=1.5 * dt)
    steps = np.full(len(SIGNAL), dt)
    stepped = irregular = memory.initial_state()
    for sample in SIGNAL:
        stepped, irregular = memory.step(stepped, sample), usual.step(irregular, sample, dt=dt)
    half = len(SIGNAL) // 2
    x = torch.from_numpy(SIGNAL)[None, :, None]
    layer = MemoryLayer(system, dt=dt, dtype=torch.float64)
    return {
        "step": stepped,
        "step with dt": irregular,
        "scan": memory.scan(SIGNAL)[-1],
        "scan with dt": usual.scan(SIGNAL, dt=steps)[-1],
        "final": memory.final(SIGNAL),
        "final with dt": usual.final(SIGNAL, dt=steps),
        "merge": memory.merge(memory.final(SIGNAL[:half]), memory.final(SIGNAL[half:]), elapsed=half * dt),
        "MemoryLayer": layer(x)[1][0, 0].numpy(),
        "MemoryLayer with dt": layer(x, dt=torch.from_numpy(1.0 * steps))[1][0, 0].numpy(),
    }


def worst_errors(system: HippoSystem, decades: tuple[int, ...]) -> tuple[float, str, int]:
    """The largest error over the largest coefficient, over these steps: how large, in which mode, at which decade."""
    worst = (0.0, "", 0)
    updates = exact_updates(system, [exponent(decade) for decade in decades])
    for decade in decades:
        A_d, b_d = updates[exponent(decade)]
        state = np.zeros(system.order, np.longdouble)
        for sample in SIGNAL.astype(np.longdouble):
            state = A_d @ state + b_d * sample
        exact = np.asarray(state, float)
        for mode, found in modes(system, system.timescale * 2.0 ** exponent(decade)).items():
            error = float(np.abs(found - exact).max() / np.abs(exact).max())
            worst = max(worst, (error if np.isfinite(error) else math.inf, mode, decade))
    return worst


def sweep(name: str, orders: tuple[int, ...] = ORDERS) -> dict[str, Any]:
    """One system over all orders: its worst error, where it was, and the worst of every order."""
    System = next(one for one in SYSTEMS if one.__name__ == name)
    began, by_order, worst = time.monotonic(), {}, (0.0, "", 0, 0)
    for order in orders:
        order = order | 1 if System is FouT else order
        error, mode, decade = worst_errors(System(order, 3.0), DECADES if order <= MANY + 1 else FEW_DECADES)
        by_order[str(order)] = error
        worst = max(worst, (error, mode, decade, order))
    return {
        "worst": worst[0],
        "where": f"order {worst[3]}, step 1e{worst[2]}, {worst[1]}",
        "by_order": by_order,
        "minutes": round((time.monotonic() - began) / 60, 1),
    }
