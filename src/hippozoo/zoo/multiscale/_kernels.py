"""Compiled loops of the multiscale memory: arrays in, arrays out, no checks.

Scales are the last axis of states and tables, so that the innermost loop runs over all windows at once.
"""

import numpy as np

from hippozoo._internal.compiled import compiled
from hippozoo.memory.varying_step import move_exactly


@compiled()
def step_bank(A_d, b_d, samples, state, after):
    """One sample for every channel and scale: ``after[c, n, :] = sum_k A_d[n, k, :] state[c, k, :] + b_d[n, :] x``."""
    channels, order, scales = state.shape
    fours = order // 4 * 4
    for c in range(channels):
        x = samples[c]
        for n in range(order):
            row = after[c, n]
            into = b_d[n]
            for m in range(scales):
                row[m] = into[m] * x
            # Four products to one addition: the row is fetched and stored a quarter as often.
            for k in range(0, fours, 4):
                A0, A1, A2, A3 = A_d[n, k], A_d[n, k + 1], A_d[n, k + 2], A_d[n, k + 3]
                s0, s1, s2, s3 = state[c, k], state[c, k + 1], state[c, k + 2], state[c, k + 3]
                for m in range(scales):
                    row[m] += A0[m] * s0[m] + A1[m] * s1[m] + A2[m] * s2[m] + A3[m] * s3[m]
            for k in range(fours, order):
                A0, s0 = A_d[n, k], state[c, k]
                for m in range(scales):
                    row[m] += A0[m] * s0[m]


@compiled()
def scan_bank(A_d, b_d, signal, state, states):
    """The state after every sample, written into `states`; the first step starts from `state`."""
    for t in range(len(signal)):
        if t == 0:
            step_bank(A_d, b_d, signal[t], state, states[t])
        else:
            step_bank(A_d, b_d, signal[t], states[t - 1], states[t])


@compiled()
def carry_bank(forget, arrivals, state):
    """Block after block, ``state <- A_d^block state + arrivals``, in place; arrivals are (blocks, channels, …)."""
    channels, order, scales = state.shape
    after = np.empty_like(state)
    nothing = np.zeros((order, scales), state.dtype)
    silence = np.zeros(channels, state.dtype)
    for block in range(len(arrivals)):
        step_bank(forget, nothing, silence, state, after)
        for c in range(channels):
            for n in range(order):
                for m in range(scales):
                    state[c, n, m] = after[c, n, m] + arrivals[block, c, n, m]


@compiled()
def scan_bank_exactly(signal, steps, rates, state, settled, table_T, unit, base, A_T, parts, norm, keep_all, states):
    """The exact hold with a step of its own for every sample; scale m sees the steps times ``rates[m]``.

    With `keep_all` every state is written, otherwise the last one only, into ``states[0]``.
    """
    length, channels = signal.shape
    order, scales = state.shape[1:]
    scratch = np.empty((4, order))
    vector = np.empty(order)
    for m in range(scales):
        for c in range(channels):
            for i in range(order):
                vector[i] = state[c, i, m]
            for t in range(length):
                step = steps[t] * rates[m]
                move_exactly(vector, signal[t, c], settled, step, table_T, unit, base, A_T, parts, norm, scratch)
                if keep_all:
                    for i in range(order):
                        states[t, c, i, m] = vector[i]
            if not keep_all:
                for i in range(order):
                    states[0, c, i, m] = vector[i]
