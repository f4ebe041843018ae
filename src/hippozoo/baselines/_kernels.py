"""The selective scan and the GRU of one sequence after the other, in single precision; sums may be reordered."""

import numpy as np

from hippozoo._internal.compiled import compiled

_SUMS = {"reassoc", "contract", "nsz"}


@compiled(fastmath=_SUMS, inline="always")
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


@compiled(fastmath=_SUMS, inline="always")
def _sigmoid(x):
    # What is cut off is below the last place.
    x = np.float32(30.0) if x > np.float32(30.0) else x
    x = np.float32(-30.0) if x < np.float32(-30.0) else x
    return np.float32(1.0) / (np.float32(1.0) + _exponential(-x))


@compiled(fastmath=_SUMS, error_model="numpy")
def gru(entered, by_hidden, bias, fading, state, gates, old, y):
    """A GRU from what the samples bring to its gates, (batch, time, 3 width): hidden states into `y`.

    `by_hidden` is (width, 3 width). Before the next sample the hidden state is multiplied by `fading`, (batch, time,
    width). Gates and proposals, and what the hidden state brought to the proposals, are kept for the way back.
    """
    batch, n_steps, _ = entered.shape
    width = len(by_hidden)
    brought = np.empty(3 * width, np.float32)
    hidden = np.empty(width, np.float32)
    for item in range(batch):
        hidden[:] = state[item]
        for t in range(n_steps):
            brought[:] = bias
            for j in range(width):
                value = hidden[j]
                for k in range(3 * width):
                    brought[k] += value * by_hidden[j, k]
            here, gate, out = entered[item, t], gates[item, t], y[item, t]
            for k in range(2 * width):
                gate[k] = _sigmoid(here[k] + brought[k])
            for k in range(width):
                old[item, t, k] = brought[2 * width + k]
                raw = here[2 * width + k] + gate[k] * brought[2 * width + k]
                gate[2 * width + k] = np.float32(2.0) * _sigmoid(np.float32(2.0) * raw) - np.float32(1.0)
            for k in range(width):
                out[k] = gate[2 * width + k] + gate[width + k] * (hidden[k] - gate[2 * width + k])
            for k in range(width):
                hidden[k] = out[k] * fading[item, t, k]


@compiled(fastmath=_SUMS, error_model="numpy")
def gru_back(by_gate, fading, state, gates, old, y, of_y, carried, of_entered, of_brought, of_fading):
    """Gradients of what entered, of what the hidden state brought, and of its fading.

    In `carried` that of the last faded hidden state goes in, that of the first comes out. `by_gate` is (3 width,
    width).
    """
    batch, n_steps, width = y.shape
    hidden = np.empty(width, np.float32)
    for item in range(batch):
        g = carried[item]
        for t in range(n_steps - 1, -1, -1):
            for k in range(width):
                hidden[k] = state[item, k] if t == 0 else y[item, t - 1, k] * fading[item, t - 1, k]
                of_fading[item, t, k] = g[k] * y[item, t, k]
                g[k] *= fading[item, t, k]
            gate = gates[item, t]
            entered, brought, of_out = of_entered[item, t], of_brought[item, t], of_y[item, t]
            for k in range(width):
                here = g[k] + of_out[k]
                reset, update, new = gate[k], gate[width + k], gate[2 * width + k]
                of_new = here * (np.float32(1.0) - update) * (np.float32(1.0) - new * new)
                of_update = here * (hidden[k] - new) * update * (np.float32(1.0) - update)
                of_reset = of_new * old[item, t, k] * reset * (np.float32(1.0) - reset)
                entered[k], entered[width + k], entered[2 * width + k] = of_reset, of_update, of_new
                brought[k], brought[width + k], brought[2 * width + k] = of_reset, of_update, of_new * reset
                g[k] = here * update
            for k in range(3 * width):
                value = brought[k]
                for j in range(width):
                    g[j] += value * by_gate[k, j]
