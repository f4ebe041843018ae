"""Definitions stated slowly and plainly; they share no code with the library."""

from __future__ import annotations

from decimal import Decimal, localcontext

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


def legendre_in_60_digits(s, order):
    """L_n(s) = sqrt(2n + 1) (-1)^n P_n(2s - 1), computed where rounding does not matter."""
    with localcontext(prec=60):
        x = 1 - 2 * Decimal(s)
        values = [Decimal(1), x]
        for n in range(1, order - 1):
            values.append(((2 * n + 1) * x * values[n] - n * values[n - 1]) / (n + 1))
        return np.array([float(Decimal(2 * n + 1).sqrt() * value) for n, value in enumerate(values[:order])])


def laguerre_in_60_digits(x, order):
    """exp(-x/2) L_n(x), computed where rounding does not matter."""
    with localcontext(prec=60):
        x = Decimal(x)
        values = [Decimal(1), 1 - x]
        for n in range(1, order - 1):
            values.append(((2 * n + 1 - x) * values[n] - n * values[n - 1]) / (n + 1))
        return np.array([float((-x / 2).exp() * value) for value in values[:order]])


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


def roll_held(system, signal, durations, state):
    """Samples held for durations of their own: one matrix exponential per sample of the whole differential equation."""
    from scipy.linalg import expm

    states = []
    for sample, duration in zip(signal, durations, strict=True):
        drive = np.zeros((len(state) + 1, len(state) + 1))
        drive[:-1, :-1] = system.A / system.timescale
        drive[:-1, -1] = system.b / system.timescale * sample
        state = (expm(drive * duration) @ np.append(state, 1.0))[:-1]
        states.append(state)
    return np.array(states)


def roll_trapezoid(system, signal, durations, state):
    """The trapezoidal rule as it is defined: (new - old) / dt is the mean of the two slopes, the sample held."""
    states = []
    for sample, duration in zip(signal, durations, strict=True):
        h = duration / system.timescale
        old_slope = system.A @ state + system.b * sample
        # new = old + h/2 (old_slope + A new + b sample)
        right = state + h / 2 * (old_slope + system.b * sample)
        state = np.linalg.solve(np.eye(len(state)) - h / 2 * system.A, right)
        states.append(state)
    return np.array(states)


def volterra_series(kernels, signal):
    """y_t = Σ_k Σ over all lag tuples of kernels[k - 1][j1, …, jk] signal[t - j1] … signal[t - jk], tuple by tuple."""
    outputs = np.zeros(len(signal))
    for t in range(len(signal)):
        for kernel in kernels:
            for lags in np.ndindex(*kernel.shape):
                if max(lags) <= t:
                    outputs[t] += kernel[lags] * np.prod([signal[t - j] for j in lags])
    return outputs


def full_tensor_sgd(states, targets, degree, rate):
    """Online gradient descent on all N^k entries of every tensor, none of them shared: predictions and tensors."""
    inputs = states.shape[1]
    tensors = [np.zeros((inputs,) * k) for k in range(degree + 1)]
    predictions = []
    for state, target in zip(states, targets, strict=True):
        products = [np.array(1.0)]
        for _ in range(degree):
            products.append(np.multiply.outer(products[-1], state))
        prediction = sum(float((tensor * product).sum()) for tensor, product in zip(tensors, products, strict=True))
        predictions.append(prediction)
        for tensor, product in zip(tensors, products, strict=True):
            tensor -= rate * 2 * (prediction - target) * product
    return np.array(predictions), tensors


def coupled_multiscale(A, b, rate_matrix, timescale, dt):
    """The paper's S' = A S G + b (G e_0)' f as one dense zero-order hold on S flattened row by row."""
    from scipy.linalg import expm

    order, scales = len(b), len(rate_matrix)
    size = order * scales
    generator = np.zeros((size + 1, size + 1))
    generator[:size, :size] = np.kron(A, rate_matrix)
    generator[:size, size] = np.outer(b, rate_matrix[0]).ravel()
    both = expm(generator * dt / timescale)
    return both[:size, :size], both[:size, size]


def forecast_pairs(A_past, b_past, A_future, b_future, signal, horizon):
    """Every past beside the future that came after it, by the loop: System 2 runs `horizon` samples behind System 1.

    Before its first sample the signal is constant at it; pairs whose past is only that are left out.
    """
    past = np.zeros(len(b_past))
    past[0] = signal[0]
    future = np.zeros(len(b_future))
    future[0] = signal[0]
    pairs = []
    for t, sample in enumerate(signal):
        future = A_future @ future + b_future * sample
        past = A_past @ past + b_past * signal[max(t - horizon, 0)]
        if t >= horizon:
            pairs.append((past, future))
    return tuple(np.array(side) for side in zip(*pairs, strict=True))


def delayed_value(times, values, horizon, moment):
    """The signal that holds values[i] from times[i] until times[i + 1], one horizon before `moment`."""
    return values[max(int(np.searchsorted(times, moment - horizon, side="right")) - 1, 0)]


def least_change(bank, key, wanted):
    """The coefficients nearest to `bank` whose function is `wanted` at the key, as least squares finds them."""
    change, *_ = np.linalg.lstsq(key[None], np.array([wanted - bank @ key]), rcond=None)
    return bank + change


def delta_rule(keys, values, betas, bank):
    """Fast weights by the delta rule as DeltaNet writes it: S <- S (1 - beta k k') + beta v k', one by one."""
    for key, value, beta in zip(keys, values, betas, strict=True):
        bank = bank @ (np.eye(len(key)) - beta * np.outer(key, key)) + beta * np.outer(value, key)
    return bank


def associative_episode(weights, A_d, b_d, basis, samples, epsilon):
    """The paper's layer for one sequence, formula by formula: outputs, the last HiPPO state and the last bank."""
    sigmoid = lambda z: 1 / (1 + np.exp(-z))  # noqa: E731
    width, order = weights["value.weight"].shape[0], len(b_d)
    S, C = np.zeros((width, order)), np.zeros((width, len(basis(0.5))))
    outputs = []
    for x in samples:
        u = weights["project.weight"] @ x
        for j in range(width):
            S[j] = A_d @ S[j] + b_d * u[j]
        x_key, x_query = sigmoid(weights["addresses.weight"] @ S.ravel() + weights["addresses.bias"])
        gates = {}
        for name in ("write_gate", "output_gate"):
            seen = S @ weights[f"{name}.lag_functional"]
            hidden = np.tanh(weights[f"{name}.inner.weight"] @ seen + weights[f"{name}.inner.bias"])
            score = weights[f"{name}.outer.weight"] @ hidden + weights[f"{name}.outer.bias"]
            gates[name] = sigmoid(score + weights[f"{name}.skip.weight"] @ seen).item()
        y = weights["value.weight"] @ u
        k, q = basis(x_key), basis(x_query)
        alpha = gates["write_gate"] / (k @ k + epsilon)
        for j in range(width):
            C[j] = C[j] + alpha * (y[j] - C[j] @ k) * k
        r = C @ q
        outputs.append(gates["output_gate"] * weights["readout.weight"] @ r)
    return np.array(outputs), S, C


def selective_scan(x, steps, A, B, C, state):
    """Mamba's recurrence for one item: h <- exp(step A) h + step x B, y = sum over coefficients of C h."""
    outputs = []
    for t in range(len(x)):
        state = np.exp(steps[t] * A) * state + steps[t] * x[t] * B[t][:, None]
        outputs.append(C[t] @ state)
    return np.array(outputs), state


def diagonal_system(signal, step, poles, weights):
    """One channel of S4D by complex recurrence, zero-order hold: the real part of what all oscillators say, twice."""
    turn = np.exp(step * poles)
    state, outputs = np.zeros(len(poles), complex), []
    for sample in signal:
        state = turn * state + (turn - 1) / poles * sample
        outputs.append(2 * np.real(weights @ state))
    return np.array(outputs)


def windowed_attention(queries, keys, values, context):
    """One head, one item: every sample looks at itself and at those before it, `context` in all."""
    outputs = []
    for t in range(len(queries)):
        seen = slice(max(0, t + 1 - context), t + 1)
        scores = keys[seen] @ queries[t] / np.sqrt(len(queries[t]))
        shares = np.exp(scores - scores.max())
        outputs.append(shares / shares.sum() @ values[seen])
    return np.array(outputs)


def roll_in_80_bits(system, signal, steps):
    """The exact hold by its Taylor series in extended precision: for steps shorter than the fastest mode."""
    A, b = system.A.astype(np.longdouble), system.b.astype(np.longdouble)
    state, states = np.zeros(system.order, np.longdouble), []
    for sample, step in zip(signal, np.asarray(steps, np.longdouble) / system.timescale, strict=True):
        # state' = A state + b sample: every term of the series is the derivative of the one before it.
        term = step * (A @ state + b * sample)
        for k in range(2, 30):
            state = state + term
            term = step / k * (A @ term)
        states.append(state)
    return np.array(states, float)
