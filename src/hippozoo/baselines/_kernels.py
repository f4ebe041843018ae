"""The selective scan of one sequence after the other, as plain loops: arrays in and out, no checks, single precision.

One pass does what torch needs a dozen calls for, and the states of one sequence stay in the cache. Sums may be
reordered, so that the compiler can use vector instructions.
"""

from typing import no_type_check

import numpy as np

from hippozoo._compiled import compiled

_SUMS = {"reassoc", "contract", "nsz"}


@compiled(fastmath=_SUMS, inline="always")
@no_type_check
def _exponential(x):
    """The exponential of a number below 88, to 2 units in the last place; by arithmetic alone, which vectorises."""
    x = np.float32(-87.0) if x < np.float32(-87.0) else x  # so that what is no number stays none
    whole = np.floor(x * np.float32(1.44269504) + np.float32(0.5))
    # ln 2 in two parts, the first of which has few digits, so that nothing is lost; then a series.
    x = x - whole * np.float32(0.693359375) + whole * np.float32(2.12194440e-4)
    y = np.float32(1.9875691500e-4)
    y = y * x + np.float32(1.3981999507e-3)
    y = y * x + np.float32(8.3334519073e-3)
    y = y * x + np.float32(4.1665795894e-2)
    y = y * x + np.float32(1.6666665459e-1)
    y = y * x + np.float32(0.5)
    y = y * x * x + x + np.float32(1.0)
    return y * np.int32((np.int32(whole) + np.int32(127)) << np.int32(23)).view(np.float32)


@compiled(fastmath=_SUMS, error_model="numpy")
@no_type_check
def scan(steps, pushes, A, B, C, state, y):
    """Outputs into `y`; `state` becomes the one after the last sample."""
    batch, n_steps, channels = steps.shape
    order = len(A)
    for item in range(batch):
        h = state[item]
        for t in range(n_steps):
            step, push, out = steps[item, t], pushes[item, t], y[item, t]
            out[:] = np.float32(0.0)
            for n in range(order):
                b, c = B[item, t, n], C[item, t, n]
                for e in range(channels):
                    now = _exponential(step[e] * A[n, e]) * h[n, e] + b * push[e]
                    h[n, e] = now
                    out[e] += c * now


@compiled(fastmath=_SUMS, error_model="numpy")
@no_type_check
def scan_back(steps, pushes, A, B, C, state, of_y, carried, of_steps, of_pushes, of_A, of_B, of_C):
    """Gradients, into the last arrays; in `carried` that of the last state goes in, that of the first comes out."""
    batch, n_steps, channels = steps.shape
    order = len(A)
    states = np.empty((n_steps + 1, order, channels), np.float32)
    decays = np.empty((n_steps, order, channels), np.float32)
    of_A[:] = np.float32(0.0)
    for item in range(batch):
        states[0] = state[item]
        for t in range(n_steps):
            step, push = steps[item, t], pushes[item, t]
            for n in range(order):
                b = B[item, t, n]
                for e in range(channels):
                    decay = _exponential(step[e] * A[n, e])
                    decays[t, n, e] = decay
                    states[t + 1, n, e] = decay * states[t, n, e] + b * push[e]
        g = carried[item]
        for t in range(n_steps - 1, -1, -1):
            step, push, of_out = steps[item, t], pushes[item, t], of_y[item, t]
            of_step, of_push = of_steps[item, t], of_pushes[item, t]
            of_step[:] = np.float32(0.0)
            of_push[:] = np.float32(0.0)
            for n in range(order):
                b, c = B[item, t, n], C[item, t, n]
                of_b, of_c = np.float32(0.0), np.float32(0.0)
                for e in range(channels):
                    here = g[n, e] + c * of_out[e]
                    of_c += states[t + 1, n, e] * of_out[e]
                    of_b += here * push[e]
                    of_push[e] += b * here
                    here *= decays[t, n, e]
                    g[n, e] = here
                    # What the exponent of the decay feels: through it go the gradients of the step and of A.
                    felt = here * states[t, n, e]
                    of_A[n, e] += felt * step[e]
                    of_step[e] += felt * A[n, e]
                of_B[item, t, n] = of_b
                of_C[item, t, n] = of_c
