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


def fading_delta_rule(keys, values, gates, fading, bank):
    """The bank fades, then one write after the other; the bank after each."""
    found = []
    for key, value, gate, fade in zip(keys, values, gates, fading, strict=True):
        bank = np.exp(-fade) * bank
        bank = bank + gate * np.outer(value - bank @ key, key)
        found.append(bank)
    return np.array(found)


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


def readable(features, targets, folds, noise, ridge=0.0):
    """Squared errors of a readout and of the mean on held-out sequences, one fold after the other, row by row.

    Noise of variance ``noise`` on every feature enters by its expectation: it makes the normal equations ridge-like,
    and adds its variance times the squared weights to every squared error.
    """
    sse, sst = np.zeros(len(features)), np.zeros(len(features))
    for held in folds:
        kept = [number for number in range(len(features)) if number not in held]
        rows = np.concatenate([features[number] for number in kept])
        wanted = np.concatenate([targets[number] for number in kept])
        mean, target_mean = rows.mean(0), wanted.mean()
        rows = rows - mean
        gram = rows.T @ rows / len(rows) + (noise + ridge) * np.eye(rows.shape[1])
        weights = np.linalg.solve(gram, rows.T @ (wanted - target_mean) / len(rows))
        for number in held:
            for row, value in zip(features[number], targets[number], strict=True):
                sse[number] += (value - target_mean - (row - mean) @ weights) ** 2 + noise * weights @ weights
                sst[number] += (value - target_mean) ** 2
    return sse, sst


def exact_profile(A_d, b_d, lags, warm_up, noise):
    """R² by lag of a linear memory under white noise: b_k' (Σ + noise tr Σ / N)^-1 b_k, summed term by term."""
    responses = [np.array(b_d, float)]
    while len(responses) < warm_up:
        responses.append(A_d @ responses[-1])
    covariance = sum(np.outer(one, one) for one in responses)
    covariance = covariance + noise * np.trace(covariance) / len(b_d) * np.eye(len(b_d))
    return np.array([one @ np.linalg.solve(covariance, one) for one in responses[:lags]])


def held_of_autoregression(A_d, b_d, correlation, lags, noise, terms=400):
    """Sum of squared canonical correlations of a linear state and the last 1, 2, … samples of a first-order input."""
    responses = [np.array(b_d, float)]
    while len(responses) < terms:
        responses.append(A_d @ responses[-1])
    inputs = correlation ** np.abs(np.subtract.outer(np.arange(terms), np.arange(terms)))
    crossed = inputs @ np.array(responses)
    covariance = np.array(responses).T @ crossed
    covariance = covariance + noise * np.trace(covariance) / len(b_d) * np.eye(len(b_d))
    return np.array(
        [
            np.trace(np.linalg.solve(covariance, crossed[:k].T @ np.linalg.solve(inputs[:k, :k], crossed[:k])))
            for k in range(1, lags + 1)
        ]
    )


# -- the ensemble, component by component ------------------------------------------------------------------------------


def damped_trend(values, gain, trend_gain, damping, horizon):
    """Holt's damped trend by its recursion, and its forecast of each lead."""
    level, trend = values[0], 0.0
    for value in values:
        before = level + damping * trend
        level, trend = before + gain * (value - before), damping * trend + gain * trend_gain * (value - before)
    return np.array([level + trend * sum(damping**j for j in range(1, k + 2)) for k in range(horizon)])


def seasonal_trend(values, period, smoothing, horizon):
    """Holt and Winters' additive smoothing: the first season gives level and pattern, then the error corrects them."""
    gain, trend_gain, damping, seasonal_gain = smoothing
    level, trend = values[:period].mean(), 0.0
    season = values[:period] - level
    for t in range(period, len(values)):
        error = values[t] - (level + damping * trend + season[t % period])
        level = level + damping * trend + gain * error
        trend = damping * trend + gain * trend_gain * error
        season[t % period] += max(seasonal_gain, 1 / (t // period + 1)) * (1 - gain) * error
    reach = np.cumsum(damping ** np.arange(1, horizon + 1))
    return level + trend * reach + season[np.arange(len(values), len(values) + horizon) % period]


def expert_weights(mean_errors, late):
    """(experts, leads) from mean absolute errors: the sixth power of one over the error, half of it over all leads."""
    average = mean_errors.mean(axis=1, keepdims=True)
    errors = 0.5 * (mean_errors + average) + late[:, None]
    powers = (errors.min(axis=0) / errors) ** 6
    return powers / powers.sum(axis=0)


def regrets(values, forecasts, decay):
    """Exponentially weighted sums of |error| beyond the best expert's in the same cell, and their weight."""
    total, weight = np.zeros(forecasts.shape[1]), 0.0
    for value, row in zip(values, forecasts, strict=True):
        errors = np.abs(value - row)
        total, weight = decay * total + errors - errors.min(), decay * weight + 1
    return total, weight


def expected_error(errors, expected, loss, ways, likelihood=24.0):
    """The size of an error: each way scaled to the mean error, weighted by exp(-likelihood * loss)."""
    scaled = errors / expected * ways
    shares = np.exp(-likelihood * (loss - loss.min()))
    return float((shares * scaled).sum() / shares.sum())


def winsorised(value, expected, expected_error, most=8.0):
    """A value no further from what was expected than `most` expected errors."""
    reach = most * expected_error
    return min(max(value, expected - reach), expected + reach)


def ridge_map(x, y, ridge):
    """Coefficients and constant of a ridge regression whose ridge is in units of the mean variance of an input."""
    mean_x, mean_y = x.mean(axis=0), y.mean(axis=0)
    xx = (x - mean_x).T @ (x - mean_x)
    penalty = ridge * np.trace(xx) / len(xx) * np.eye(len(xx))
    coefficients = np.linalg.solve(xx + penalty, (x - mean_x).T @ (y - mean_y))
    return coefficients, mean_y - mean_x @ coefficients
