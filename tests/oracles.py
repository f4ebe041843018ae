"""Definitions stated slowly and plainly; they share no code with the library."""

from __future__ import annotations

from fractions import Fraction

import numpy as np


def project(system, past, edges):
    """Memory by definition: integrate past(lag) * weight(lag) * basis(lag), panel by panel.

    Panels beyond the window carry no weight and are shut. `past` sees lags of shape (panels, nodes), so a
    signal that is constant on each panel may be given as ``lambda lag: values[:, None]``.
    """
    edges = np.minimum(edges, system.window)
    node, mass = np.polynomial.legendre.leggauss(24)
    half = np.diff(edges)[:, None] / 2
    lag = edges[:-1, None] + half * (node + 1)
    return np.einsum("pq,pq,pqn->n", half * mass, past(lag) * system.weight(lag), system.basis(lag))


def roll(A_d, b_d, signal, state=None):
    """The loop that people write: one matrix product per sample; gives the state after every sample."""
    state = np.zeros(len(b_d)) if state is None else state
    states = []
    for sample in signal:
        state = A_d @ state + b_d * sample
        states.append(state)
    return np.array(states)


def exact_legendre(s, order):
    """(-1)^n P_n(2s - 1) without rounding: s is a float, and a float is a fraction."""
    x = 1 - 2 * Fraction(s)
    values = [Fraction(1), x]
    for n in range(1, order - 1):
        values.append(((2 * n + 1) * x * values[n] - n * values[n - 1]) / (n + 1))
    return values[:order]


def exact_laguerre(x, order):
    """The Laguerre polynomials L_n(x) without rounding."""
    x = Fraction(x)
    values = [Fraction(1), 1 - x]
    for n in range(1, order - 1):
        values.append(((2 * n + 1 - x) * values[n] - n * values[n - 1]) / (n + 1))
    return values[:order]


def scaled_projection(signal, durations, order):
    """The Leg-S of 2020 by definition: mean over the whole past of signal * L_n(lag / age), cell by cell."""
    durations = np.asarray(durations, float)
    starts = np.cumsum(durations) - durations
    age = durations.sum()
    node, mass = np.polynomial.legendre.leggauss(order // 2 + 2)
    state = np.zeros(order)
    for sample, start, duration in zip(signal, starts, durations, strict=True):
        lag = age - (start + duration * (node + 1) / 2)
        for n in range(order):
            polynomial = np.polynomial.legendre.Legendre.basis(n)(1 - 2 * lag / age)
            state[n] += sample * np.sqrt(2 * n + 1) * (mass * polynomial).sum() * duration / 2 / age
    return state
