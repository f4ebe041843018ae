"""Compiled loops of the readouts and their learners: arrays in, arrays out, no checks.

A `step` is (rule, rate, offset, horizon, power, samples seen, bounds), see `learners`. Every learner returns the index
of the sample at which it diverged, or -1. Sums may be reordered (that is all that is allowed of "fastmath"), so that
the compiler can use vector instructions.
"""

import numpy as np

from hippozoo._internal.compiled import compiled

SUMS = {"reassoc", "contract", "nsz"}
PLAIN, NORMALISED = 0, 1


@compiled(inline="always")
def diverged(prediction, target, bounds):
    """Whether a prediction is beyond ``bounds[0]`` times 1 + the largest target, which ``bounds[1]`` keeps."""
    bounds[1] = max(bounds[1], abs(target))
    return not abs(prediction) <= bounds[0] * (1.0 + bounds[1])


@compiled(inline="always")
def track(power, now, seen, horizon):
    """Running mean: over everything at first, then over about `horizon` samples."""
    return power + (now - power) / min(seen + 1.0, horizon)


@compiled()
def normalise(error, rate, offset, horizon, power, seen, lengths, steps):
    """Fill `steps`, one per degree: each degree is measured by the running mean of its gradient's squared length."""
    relative = 0.0
    for k in range(len(steps)):
        power[k] = track(power[k], lengths[k], seen, horizon)
        if power[k] > 0.0:
            relative += lengths[k] / power[k]
    for k in range(len(steps)):
        steps[k] = rate * error / ((offset + relative) * power[k]) if power[k] > 0.0 else 0.0


# -- full polynomials ---------------------------------------------------------------------------------------------


@compiled(fastmath=SUMS)
def multiply_out(state, last, prefixes):
    """All products below the top degree, the constant 1 first."""
    inputs = len(state)
    prefixes[0] = 1.0
    q = 1
    p = 0
    while q < len(prefixes):
        base = prefixes[p]
        for j in range(last[p], inputs):
            prefixes[q] = base * state[j]
            q += 1
        p += 1


@compiled(fastmath=SUMS)
def polynomial_value(parameters, state, last, weights, prefixes):
    """The polynomial at one state; every entry of the full tensors counts, though each is stored once."""
    inputs = len(state)
    value = parameters[0]
    q = 1
    for p in range(len(prefixes)):
        begin = last[p]
        row = parameters[q : q + inputs - begin]
        tail = state[begin:]
        total = 0.0
        for j in range(1, len(tail)):
            total += row[j] * tail[j]
        value += prefixes[p] * (weights[p, 0] * row[0] * tail[0] + weights[p, 1] * total)
        q += inputs - begin
    return value


@compiled(fastmath=SUMS)
def polynomial_step(parameters, state, last, prefixes, level_ends, steps):
    """Move every coefficient against its gradient, by ``steps[k]`` in degree k."""
    inputs = len(state)
    parameters[0] -= steps[0]
    q = 1
    p = 0
    for level in range(len(level_ends)):
        while p < level_ends[level]:
            begin = last[p]
            row = parameters[q : q + inputs - begin]
            tail = state[begin:]
            scale = steps[level + 1] * prefixes[p]
            for j in range(len(tail)):
                row[j] -= scale * tail[j]
            q += inputs - begin
            p += 1


@compiled()
def predict_polynomial(states, parameters, predictions, last, weights):
    """The polynomial at every state."""
    prefixes = np.empty(len(last))
    for t in range(len(states)):
        multiply_out(states[t], last, prefixes)
        predictions[t] = polynomial_value(parameters, states[t], last, weights, prefixes)


@compiled()
def learn_polynomial(states, targets, parameters, predictions, step, last, weights, level_ends):
    """Predict, then step, sample by sample."""
    rule, rate, offset, horizon, power, seen, bounds = step
    degree = len(level_ends)
    prefixes = np.empty(len(last))
    lengths, steps = np.empty(degree + 1), np.empty(degree + 1)
    for t in range(len(states)):
        state = states[t]
        multiply_out(state, last, prefixes)
        prediction = polynomial_value(parameters, state, last, weights, prefixes)
        predictions[t] = prediction
        if diverged(prediction, targets[t], bounds):
            return t
        error = prediction - targets[t]
        if rule == PLAIN:
            steps[:] = 2.0 * rate * error
        else:
            square = 0.0
            for i in range(len(state)):
                square += state[i] * state[i]
            # The products of degree k, all copies counted, have the squared length |state|^2k.
            lengths[0] = 1.0
            for k in range(degree):
                lengths[k + 1] = lengths[k] * square
            normalise(error, rate, offset, horizon, power, seen + t, lengths, steps)
        polynomial_step(parameters, state, last, prefixes, level_ends, steps)
    return -1


@compiled(fastmath=SUMS)
def learn_least_squares(states, targets, parameters, last, weights, root, covariance, forgetting, bounds, predictions):
    """Recursive least squares over all products, scaled by the root of their multiplicity: the full tensor's geometry.

    Only the lower triangle of `covariance` is read and written.
    """
    terms = len(parameters)
    inputs = states.shape[1]
    prefixes = np.empty(len(last))
    products = np.empty(terms)
    gain = np.empty(terms)
    for t in range(len(states)):
        state = states[t]
        multiply_out(state, last, prefixes)
        prediction = polynomial_value(parameters, state, last, weights, prefixes)
        predictions[t] = prediction
        if diverged(prediction, targets[t], bounds):
            return t
        products[0] = 1.0
        q = 1
        for p in range(len(prefixes)):
            for j in range(last[p], inputs):
                products[q] = root[q] * prefixes[p] * state[j]
                q += 1
        for i in range(terms):
            gain[i] = 0.0
        for i in range(terms):
            row = covariance[i]
            value = products[i]
            total = row[i] * value
            for j in range(i):
                total += row[j] * products[j]
                gain[j] += row[j] * value
            gain[i] += total
        spread = forgetting
        for i in range(terms):
            spread += products[i] * gain[i]
        if not spread > 0.0:
            return t
        error = prediction - targets[t]
        for i in range(terms):
            row = covariance[i]
            scale = gain[i] / spread
            for j in range(i + 1):
                row[j] = (row[j] - scale * gain[j]) / forgetting
            parameters[i] -= scale * error / root[i]
    return -1


# -- the paper's network ------------------------------------------------------------------------------------------


@compiled(fastmath=SUMS)
def network_value(parameters, state, hidden, active):
    """One hidden layer of tanh; leaves its activations in `active`."""
    inputs = len(state)
    biases = parameters[hidden * inputs : hidden * (inputs + 1)]
    outward = parameters[hidden * (inputs + 1) : hidden * (inputs + 2)]
    value = parameters[hidden * (inputs + 2)]
    for h in range(hidden):
        row = parameters[h * inputs : (h + 1) * inputs]
        total = 0.0
        for j in range(inputs):
            total += row[j] * state[j]
        active[h] = total + biases[h]
    for h in range(hidden):
        active[h] = np.tanh(active[h])
    for h in range(hidden):
        value += outward[h] * active[h]
    return value


@compiled()
def predict_network(states, parameters, predictions, hidden):
    """The network at every state."""
    active = np.empty(hidden)
    for t in range(len(states)):
        predictions[t] = network_value(parameters, states[t], hidden, active)


@compiled(fastmath=SUMS)
def learn_network(states, targets, parameters, predictions, step, hidden):
    """Predict, then step, sample by sample."""
    rule, rate, offset, horizon, power, seen, bounds = step
    inputs = states.shape[1]
    active = np.empty(hidden)
    inward = np.empty(hidden)
    biases = parameters[hidden * inputs : hidden * (inputs + 1)]
    outward = parameters[hidden * (inputs + 1) : hidden * (inputs + 2)]
    for t in range(len(states)):
        state = states[t]
        prediction = network_value(parameters, state, hidden, active)
        predictions[t] = prediction
        if diverged(prediction, targets[t], bounds):
            return t
        error = prediction - targets[t]
        for h in range(hidden):
            inward[h] = outward[h] * (1.0 - active[h] * active[h])
        size = 2.0 * rate * error
        if rule == NORMALISED:
            square = 1.0
            for j in range(inputs):
                square += state[j] * state[j]
            length = 1.0
            for h in range(hidden):
                length += active[h] * active[h] + inward[h] * inward[h] * square
            power[0] = track(power[0], length, seen + t, horizon)
            size = rate * error / (offset * power[0] + length)
        for h in range(hidden):
            row = parameters[h * inputs : (h + 1) * inputs]
            scale = size * inward[h]
            for j in range(inputs):
                row[j] -= scale * state[j]
            biases[h] -= scale
            outward[h] -= size * active[h]
        parameters[hidden * (inputs + 2)] -= size
    return -1
