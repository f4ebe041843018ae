"""Compiled loops of the low-rank readout; as in `_kernels`."""

import numpy as np

from hippozoo._internal.compiled import compiled
from hippozoo.zoo.volterra._kernels import NORMALISED, PLAIN, SUMS, diverged, normalise


@compiled(fastmath=SUMS)
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


@compiled(fastmath=SUMS)
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


@compiled(fastmath=SUMS)
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
def predict_low_rank(states, parameters, predictions, degree, rank):
    """The sum of products at every state."""
    functionals = rank * (degree * (degree + 1) // 2 - 1)
    factors = np.empty(functionals)
    others = np.empty(functionals)
    for t in range(len(states)):
        predictions[t] = low_rank_value(parameters, states[t], degree, rank, factors, others)


@compiled()
def learn_low_rank(states, targets, parameters, predictions, step, degree, rank):
    """Predict, then step, sample by sample."""
    rule, rate, offset, horizon, power, seen, bounds = step
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
            steps[:] = 2.0 * rate * error
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
            normalise(error, rate, offset, horizon, power, seen + t, lengths, steps)
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
