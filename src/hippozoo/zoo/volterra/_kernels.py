"""Compiled loops of the readouts and their learners: arrays in, arrays out, no checks.

`rule` is 0 for plain gradient steps and 1 for normalised ones. Every learner returns the index of the sample at which
it diverged, or -1. A prediction counts as diverged when it is not finite or larger than `limit` times
1 + the largest target seen.

Sums may be reordered (that is all that is allowed of "fastmath"), so that the compiler can use vector instructions.
"""

from typing import no_type_check

import numpy as np

from hippozoo._internal.compiled import compiled

_SUMS = {"reassoc", "contract", "nsz"}
PLAIN, NORMALISED = 0, 1


@compiled(inline="always")
@no_type_check
def diverged(prediction, target, bounds):
    """Whether a prediction has left all bounds; keeps the largest target in ``bounds[1]``."""
    bounds[1] = max(bounds[1], abs(target))
    return not abs(prediction) <= bounds[0] * (1.0 + bounds[1])


@compiled(inline="always")
@no_type_check
def track(power, now, seen, horizon):
    """Running mean: over everything at first, then over about `horizon` samples."""
    return power + (now - power) / min(seen + 1.0, horizon)


# -- full polynomials ---------------------------------------------------------------------------------------------


@compiled(fastmath=_SUMS)
@no_type_check
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


@compiled(fastmath=_SUMS)
@no_type_check
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


@compiled(fastmath=_SUMS)
@no_type_check
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
@no_type_check
def predict_polynomial(states, parameters, last, weights, predictions):
    """The polynomial at every state."""
    prefixes = np.empty(len(last))
    for t in range(len(states)):
        multiply_out(states[t], last, prefixes)
        predictions[t] = polynomial_value(parameters, states[t], last, weights, prefixes)


@compiled()
@no_type_check
def learn_polynomial(
    states,
    targets,
    parameters,
    last,
    weights,
    level_ends,
    predictions,
    rule,
    rate,
    offset,
    horizon,
    power,
    seen,
    bounds,
):
    """Predict, then step, sample by sample."""
    degree = len(level_ends)
    prefixes = np.empty(len(last))
    steps = np.empty(degree + 1)
    for t in range(len(states)):
        state = states[t]
        multiply_out(state, last, prefixes)
        prediction = polynomial_value(parameters, state, last, weights, prefixes)
        predictions[t] = prediction
        if diverged(prediction, targets[t], bounds):
            return t
        error = prediction - targets[t]
        if rule == PLAIN:
            for k in range(degree + 1):
                steps[k] = 2.0 * rate * error
        else:
            # The products of degree k, all copies counted, have the squared length |state|^2k.
            square = 0.0
            for i in range(len(state)):
                square += state[i] * state[i]
            length = 1.0
            relative = 0.0
            for k in range(degree + 1):
                power[k] = track(power[k], length, seen + t, horizon)
                if power[k] > 0.0:
                    relative += length / power[k]
                length *= square
            for k in range(degree + 1):
                steps[k] = rate * error / ((offset + relative) * power[k]) if power[k] > 0.0 else 0.0
        polynomial_step(parameters, state, last, prefixes, level_ends, steps)
    return -1


@compiled(fastmath=_SUMS)
@no_type_check
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


# -- low rank -----------------------------------------------------------------------------------------------------


@compiled(fastmath=_SUMS)
@no_type_check
def low_rank_value(parameters, state, degree, rank, factors, others):
    """The sum of products at one state.

    Leaves the value of every linear functional in `factors`, and in `others` the product of its companions.
    """
    inputs = len(state)
    value = parameters[0]
    total = 0.0
    for j in range(inputs):
        total += parameters[1 + j] * state[j]
    value += total
    begin = 1 + inputs
    f = 0
    for k in range(2, degree + 1):
        for _ in range(rank):
            for i in range(k):
                row = parameters[begin : begin + inputs]
                total = 0.0
                for j in range(inputs):
                    total += row[j] * state[j]
                factors[f + i] = total
                begin += inputs
            before = 1.0
            for i in range(k):
                others[f + i] = before
                before *= factors[f + i]
            value += before
            after = 1.0
            for i in range(k - 1, -1, -1):
                others[f + i] *= after
                after *= factors[f + i]
            f += k
    return value


@compiled(fastmath=_SUMS)
@no_type_check
def low_rank_step(parameters, state, degree, rank, others, steps):
    """Move every functional against its gradient, by ``steps[k]`` in degree k."""
    inputs = len(state)
    parameters[0] -= steps[0]
    for j in range(inputs):
        parameters[1 + j] -= steps[1] * state[j]
    begin = 1 + inputs
    f = 0
    for k in range(2, degree + 1):
        for _ in range(rank * k):
            row = parameters[begin : begin + inputs]
            scale = steps[k] * others[f]
            for j in range(inputs):
                row[j] -= scale * state[j]
            begin += inputs
            f += 1


@compiled(fastmath=_SUMS)
@no_type_check
def balance(parameters, inputs, degree, rank, others, power, sizes):
    """Give the functionals of a product equal lengths, where they differ by more than a factor of two.

    The product stays the same; but a long functional learns slowly beside a short one, and which is which would
    depend on the scale of input and target. Gradients change by it, and `power`, their running mean, with them.
    """
    begin = 1 + inputs
    f = 0
    for k in range(2, degree + 1):
        before = 0.0
        after = 0.0
        for _ in range(rank):
            smallest = np.inf
            largest = 0.0
            logarithms = 0.0
            for i in range(k):
                row = parameters[begin + i * inputs : begin + (i + 1) * inputs]
                total = 0.0
                for j in range(inputs):
                    total += row[j] * row[j]
                sizes[i] = total
                smallest = min(smallest, total)
                largest = max(largest, total)
            uneven = smallest > 0.0 and largest > 4.0 * smallest and largest < np.inf
            if uneven:
                for i in range(k):
                    logarithms += 0.5 * np.log(sizes[i])
            common = np.exp(logarithms / k)
            for i in range(k):
                scale = 1.0
                if uneven:
                    scale = common / np.sqrt(sizes[i])
                    for j in range(begin + i * inputs, begin + (i + 1) * inputs):
                        parameters[j] *= scale
                before += others[f + i] * others[f + i]
                after += others[f + i] * others[f + i] / (scale * scale)
            begin += k * inputs
            f += k
        if before > 0.0:
            power[k] *= after / before


@compiled()
@no_type_check
def change_of_value(square, degree, rank, factors, others, steps):
    """By how much `low_rank_step` would change the value at its own sample, whose squared length is `square`."""
    change = -steps[0] - steps[1] * square
    f = 0
    for k in range(2, degree + 1):
        for _ in range(rank):
            product = 1.0
            for i in range(f, f + k):
                product *= factors[i] - steps[k] * others[i] * square
            change += product - factors[f] * others[f]
            f += k
    return change


@compiled()
@no_type_check
def predict_low_rank(states, parameters, degree, rank, predictions):
    """The sum of products at every state."""
    functionals = rank * (degree * (degree + 1) // 2 - 1)
    factors = np.empty(functionals)
    others = np.empty(functionals)
    for t in range(len(states)):
        predictions[t] = low_rank_value(parameters, states[t], degree, rank, factors, others)


@compiled()
@no_type_check
def learn_low_rank(
    states, targets, parameters, degree, rank, predictions, rule, rate, offset, horizon, power, seen, bounds
):
    """Predict, then step, sample by sample."""
    functionals = rank * (degree * (degree + 1) // 2 - 1)
    factors = np.empty(functionals)
    others = np.empty(functionals)
    lengths = np.empty(degree + 1)
    steps = np.empty(degree + 1)
    sizes = np.empty(degree)
    for t in range(len(states)):
        state = states[t]
        prediction = low_rank_value(parameters, state, degree, rank, factors, others)
        predictions[t] = prediction
        if diverged(prediction, targets[t], bounds):
            return t
        error = prediction - targets[t]
        if rule == PLAIN:
            for k in range(degree + 1):
                steps[k] = 2.0 * rate * error
        else:
            square = 0.0
            for i in range(len(state)):
                square += state[i] * state[i]
            lengths[0] = 1.0
            lengths[1] = square
            f = 0
            for k in range(2, degree + 1):
                lengths[k] = 0.0
                for _ in range(rank * k):
                    lengths[k] += others[f] * others[f] * square
                    f += 1
            relative = 0.0
            for k in range(degree + 1):
                power[k] = track(power[k], lengths[k], seen + t, horizon)
                if power[k] > 0.0:
                    relative += lengths[k] / power[k]
            for k in range(degree + 1):
                steps[k] = rate * error / ((offset + relative) * power[k]) if power[k] > 0.0 else 0.0
            # Products bend: a step that is right to first order may overshoot, and then a shorter one is taken.
            for _ in range(60):
                after = error + change_of_value(square, degree, rank, factors, others, steps)
                if abs(after) <= abs(error):
                    break
                for k in range(degree + 1):
                    steps[k] *= 0.5
        low_rank_step(parameters, state, degree, rank, others, steps)
        if rule == NORMALISED:
            balance(parameters, len(state), degree, rank, others, power, sizes)
    return -1


# -- the paper's network ------------------------------------------------------------------------------------------


@compiled(fastmath=_SUMS)
@no_type_check
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
@no_type_check
def predict_network(states, parameters, hidden, predictions):
    """The network at every state."""
    active = np.empty(hidden)
    for t in range(len(states)):
        predictions[t] = network_value(parameters, states[t], hidden, active)


@compiled(fastmath=_SUMS)
@no_type_check
def learn_network(states, targets, parameters, hidden, predictions, rule, rate, offset, horizon, power, seen, bounds):
    """Predict, then step, sample by sample."""
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
        step = 2.0 * rate * error
        if rule == NORMALISED:
            square = 1.0
            for j in range(inputs):
                square += state[j] * state[j]
            length = 1.0
            for h in range(hidden):
                length += active[h] * active[h] + inward[h] * inward[h] * square
            power[0] = track(power[0], length, seen + t, horizon)
            step = rate * error / (offset * power[0] + length)
        for h in range(hidden):
            row = parameters[h * inputs : (h + 1) * inputs]
            scale = step * inward[h]
            for j in range(inputs):
                row[j] -= scale * state[j]
            biases[h] -= scale
            outward[h] -= step * active[h]
        parameters[hidden * (inputs + 2)] -= step
    return -1


# -- loops --------------------------------------------------------------------------------------------------------


@compiled(fastmath=_SUMS)
@no_type_check
def run_loop(drive, taps, known, largest):
    """Feed powers of the output back through filters; the outputs, and where they left all bounds, or -1."""
    length = len(drive)
    degree, lags = taps.shape
    powers = np.zeros((degree, length + lags))
    reversed_taps = np.empty_like(taps)
    for m in range(degree):
        for j in range(lags):
            reversed_taps[m, j] = taps[m, lags - 1 - j]
    outputs = np.empty(length)
    for t in range(length):
        total = drive[t]
        for m in range(degree):
            past = powers[m, t : t + lags]
            row = reversed_taps[m]
            part = 0.0
            for j in range(lags):
                part += row[j] * past[j]
            total += part
        outputs[t] = total
        if not abs(total) < largest:
            return outputs, t
        fed = known[t] if t < len(known) else total
        power = 1.0
        for m in range(degree):
            power *= fed
            powers[m, lags + t] = power
    return outputs, -1


@compiled(fastmath=_SUMS)
@no_type_check
def spread_through_loop(slopes, outputs, taps, begin):
    """Direct slopes of the output in, total ones out: a change at one sample goes on around the loop."""
    degree, lags = taps.shape
    count = slopes.shape[1]
    for t in range(begin, len(outputs)):
        row = slopes[t]
        for j in range(1, min(lags, t - begin) + 1):
            gain = 0.0
            power = 1.0
            for m in range(degree):
                gain += taps[m, j - 1] * (m + 1) * power
                power *= outputs[t - j]
            earlier = slopes[t - j]
            for p in range(count):
                row[p] += gain * earlier[p]


@compiled(fastmath=_SUMS)
@no_type_check
def run_bounded_loop(drive, taps, exponents, factors, known, low, high):
    """Feed products of the output's powers and given factors back through filters; what is fed back is bounded.

    So the output is bounded, too, whatever the input. The outputs, and what was fed back.
    """
    length = len(drive)
    terms, lags = taps.shape
    products = np.zeros((terms, length + lags))
    outputs, fed = np.empty(length), np.empty(length)
    for t in range(length):
        total = drive[t]
        for m in range(terms):
            part = 0.0
            for j in range(lags):
                part += taps[m, j] * products[m, t + lags - 1 - j]
            total += part
        outputs[t] = total
        value = known[t] if t < len(known) else min(max(total, low), high)
        fed[t] = value
        for m in range(terms):
            products[m, lags + t] = value ** exponents[m] * factors[m, t]
    return outputs, fed


@compiled(fastmath=_SUMS)
@no_type_check
def spread_through_bounded_loop(slopes, outputs, fed, taps, exponents, factors, begin):
    """As `spread_through_loop`; nothing goes on around the loop where the bound holds."""
    terms, lags = taps.shape
    count = slopes.shape[1]
    for t in range(begin, len(outputs)):
        row = slopes[t]
        for j in range(1, min(lags, t - begin) + 1):
            if fed[t - j] != outputs[t - j]:
                continue
            gain = 0.0
            for m in range(terms):
                gain += taps[m, j - 1] * exponents[m] * fed[t - j] ** (exponents[m] - 1) * factors[m, t - j]
            earlier = slopes[t - j]
            for p in range(count):
                row[p] += gain * earlier[p]


@compiled()
@no_type_check
def run_integrator(signal, known, velocity, kept, gains, offset, friction):
    """Positions of an `Integrator`, and how each of its parameters changes them, (time, parameters)."""
    n, m, length, begin = len(kept), len(gains), len(signal), len(known)
    count = n + m + 2
    outputs, slopes = np.empty(length), np.zeros((length, count))
    outputs[:begin] = known[: min(begin, length)]
    last, moved = np.full(n, velocity), np.zeros((n, count))  # velocities, newest first, and their slopes
    row = np.empty(count)
    for t in range(begin, length):
        total = offset
        for i in range(n):
            total += kept[i] * last[i]
        for k in range(m):
            total += gains[k] * signal[max(t - k, 0)]
        slips = abs(total) > friction or friction == 0.0
        for p in range(count):
            row[p] = 0.0
            if slips:
                for i in range(n):
                    row[p] += kept[i] * moved[i, p]
        if slips:
            for i in range(n):
                row[i] += last[i]
            for k in range(m):
                row[n + k] += signal[max(t - k, 0)]
            row[n + m] += 1.0
            row[n + m + 1] -= 1.0 if total > 0.0 else -1.0
        now = 0.0
        if slips:
            now = total - friction if total > 0.0 else total + friction
        for i in range(n - 1, 0, -1):
            last[i] = last[i - 1]
            moved[i] = moved[i - 1]
        last[0] = now
        moved[0] = row
        outputs[t] = outputs[t - 1] + now
        slopes[t] = slopes[t - 1] + row
    return outputs, slopes
