"""Compiled loops of the memory: arrays in, arrays out, no checks.

Matrices arrive transposed: the update then adds scaled rows, which a compiler turns into vector instructions.
"""

import numpy as np

from hippozoo._internal.compiled import compiled


@compiled()
def carry(arrivals, forget_T, state, starts):
    """Write the state at the start of every block into `starts`; leave the state after the last in `state`."""
    order = len(state)
    current = state.copy()
    for block in range(len(arrivals)):
        for i in range(order):
            starts[block, i] = state[i]
            current[i] = arrivals[block, i]
        for k in range(order):
            coefficient = state[k]
            for i in range(order):
                current[i] += coefficient * forget_T[k, i]
        for i in range(order):
            state[i] = current[i]


@compiled()
def multiply(diagonal, lower_row, lower_column, upper_row, upper_column, vector, product):
    """``product = A @ vector`` for a semiseparable A, in O(order): one running sum from either end."""
    order = len(vector)
    for i in range(order):
        product[i] = diagonal[i] * vector[i]
    below = 0.0
    above = 0.0
    # Two independent chains in one loop: each waits for its own last sum only.
    for i in range(order):
        j = order - 1 - i
        product[i] += lower_row[i] * below
        below += lower_column[i] * vector[i]
        product[j] += upper_row[j] * above
        above += upper_column[j] * vector[j]


@compiled()
def dense_multiply(matrix_T, vector, product):
    """``product = matrix @ vector``, the matrix given transposed."""
    order = len(vector)
    for i in range(order):
        product[i] = 0.0
    for k in range(order):
        coefficient = vector[k]
        for i in range(order):
            product[i] += coefficient * matrix_T[k, i]


@compiled()
def forget_exactly(vector, step, table_T, unit, base, A_T, parts, norm, scratch):
    """``vector <- exp(step A) vector``: the digits of the step from a table, what is left by its Taylor series.

    Digit d of level l stands for the duration d * unit * base**l, and ``table_T[l, d - 1]`` for its exponential.
    Beyond the table everything is forgotten. `parts` are the generators of A, or have no columns.
    """
    order = len(vector)
    levels = table_T.shape[0]
    span = unit * base**levels
    if step >= span:
        for i in range(order):
            vector[i] = 0.0
        return
    rest = step
    size = span
    for level in range(levels - 1, -1, -1):
        size /= base
        digit = min(int(rest / size), base - 1)
        if digit > 0:
            rest -= digit * size
            dense_multiply(table_T[level, digit - 1], vector, scratch[0])
            for i in range(order):
                vector[i] = scratch[0, i]
    rest = max(rest, 0.0)
    # Terms of the series shrink at least like bound^k / k!; stop where they vanish beside 1.
    bound = rest * norm
    size = 1.0
    for i in range(order):
        scratch[0, i] = vector[i]
    for k in range(1, 40):
        size *= bound / k
        if size < 1e-17:
            break
        if parts.shape[1] > 0:
            multiply(parts[0], parts[1], parts[2], parts[3], parts[4], scratch[0], scratch[1])
        else:
            dense_multiply(A_T, scratch[0], scratch[1])
        scale = rest / k
        for i in range(order):
            scratch[0, i] = scale * scratch[1, i]
            vector[i] += scratch[0, i]


@compiled()
def move_exactly(state, sample, settled, step, table_T, unit, base, A_T, parts, norm, scratch):
    """``state <- sample settled + exp(step A) (state - sample settled)``: one sample, held for `step`.

    A short step changes little, and only the change is computed then: a difference of near neighbours would lose it.
    """
    order = len(state)
    vector = scratch[2]
    for i in range(order):
        vector[i] = state[i] - sample * settled[i]
    if step >= unit:
        forget_exactly(vector, step, table_T, unit, base, A_T, parts, norm, scratch)
        for i in range(order):
            state[i] = vector[i] + sample * settled[i]
        return
    bound = step * norm
    size = 1.0
    for i in range(order):
        scratch[3, i] = 0.0
    for k in range(1, 40):
        size *= bound / k
        # Relative to the first term, the change itself.
        if size < 1e-17 * bound:
            break
        if parts.shape[1] > 0:
            multiply(parts[0], parts[1], parts[2], parts[3], parts[4], vector, scratch[0])
        else:
            dense_multiply(A_T, vector, scratch[0])
        scale = step / k
        for i in range(order):
            vector[i] = scale * scratch[0, i]
            scratch[3, i] += vector[i]
    for i in range(order):
        state[i] += scratch[3, i]


@compiled()
def scan_exactly(signal, steps, state, settled, table_T, unit, base, A_T, parts, norm, states):
    """All states under the exact hold with a step of its own for every sample.

    A held sample x pulls the state towards ``x * settled``, and the distance from there decays by ``exp(step A)``.
    """
    length, channels = signal.shape
    order = len(settled)
    scratch = np.empty((4, order))
    for t in range(length):
        for c in range(channels):
            move_exactly(state[c], signal[t, c], settled, steps[t], table_T, unit, base, A_T, parts, norm, scratch)
            for i in range(order):
                states[t, c, i] = state[c, i]


@compiled()
def factor(half, diagonal, lower_row, lower_column, upper_row, upper_column, factors):
    """Triangular factors of ``I - half A`` for a semiseparable A, in O(order): columns, rows and inverse pivots.

    No pivoting: the symmetric part of -A is positive, so the pivots stay away from zero.
    """
    total = 0.0
    for i in range(len(diagonal)):
        pivot = 1.0 - half * diagonal[i] + half * lower_row[i] * upper_column[i] * total
        column = lower_column[i] - upper_column[i] * total
        row = -half * upper_row[i] + half * lower_row[i] * total
        factors[0, i] = column / pivot
        factors[1, i] = row
        factors[2, i] = 1.0 / pivot
        total += column * row / pivot


@compiled()
def scan_bilinear(signal, steps, state, settled, parts, short, states):
    """All states under the bilinear rule, O(order) per sample and channel; factors are kept while the step stays.

    With v the distance from where the sample pulls, the rule is ``v <- 2 (I - half A)^-1 v - v``. Channels lie side by
    side in memory, (order, channels), so that the two sweeps of the solve run over all of them at once. Steps below
    `short` change little, and only the change is computed then, ``(I - half A)^-1 step A v``.
    """
    length, channels = signal.shape
    order = len(settled)
    factors = np.empty((3, order))
    current = state.T.copy()
    distance = np.empty((order, channels))
    moved = np.empty((order, channels))
    total = np.empty(channels)
    last = -1.0
    for t in range(length):
        half = steps[t] / 2
        if steps[t] != last:
            factor(half, parts[0], parts[1], parts[2], parts[3], parts[4], factors)
            last = steps[t]
        sample = signal[t]
        for i in range(order):
            pull = settled[i]
            for c in range(channels):
                distance[i, c] = current[i, c] - sample[c] * pull
        little = steps[t] < short
        if little:
            # step A v: one running sum from either end.
            for i in range(order):
                for c in range(channels):
                    moved[i, c] = steps[t] * parts[0, i] * distance[i, c]
            total[:] = 0.0
            for i in range(order):
                for c in range(channels):
                    moved[i, c] += steps[t] * parts[1, i] * total[c]
                    total[c] += parts[2, i] * distance[i, c]
            total[:] = 0.0
            for i in range(order - 1, -1, -1):
                for c in range(channels):
                    moved[i, c] += steps[t] * parts[3, i] * total[c]
                    total[c] += parts[4, i] * distance[i, c]
        total[:] = 0.0
        for i in range(order):
            into = half * parts[1, i]
            out = factors[0, i]
            for c in range(channels):
                v = (moved[i, c] if little else 2.0 * distance[i, c]) + into * total[c]
                moved[i, c] = v
                total[c] += out * v
        total[:] = 0.0
        for i in range(order - 1, -1, -1):
            pull = settled[i]
            row = factors[1, i]
            inverse = factors[2, i]
            out = parts[4, i]
            for c in range(channels):
                v = (moved[i, c] - row * total[c]) * inverse
                total[c] += out * v
                current[i, c] = current[i, c] + v if little else v - distance[i, c] + sample[c] * pull
        for c in range(channels):
            for i in range(order):
                states[t, c, i] = current[i, c]


@compiled()
def spread(lags, jumps, edges, nodes, barycentric, weights):
    """Hand each jump to the nodes of the panel its lag falls in: weights[panel, node, channel].

    A sum of a function at scattered lags becomes a sum at fixed nodes, by polynomial interpolation in each panel.
    """
    panels = len(edges) - 1
    count = len(nodes)
    share = nodes.copy()
    panel = 0
    for e in range(len(lags)):
        lag = lags[e]
        if lag >= edges[panels]:
            continue
        if not (edges[panel] <= lag < edges[panel + 1]):
            low = 0
            high = panels - 1
            while low < high:
                middle = (low + high + 1) // 2
                if edges[middle] <= lag:
                    low = middle
                else:
                    high = middle - 1
            panel = low
        place = 2.0 * (lag - edges[panel]) / (edges[panel + 1] - edges[panel]) - 1.0
        total = 0.0
        hit = -1
        for q in range(count):
            gap = place - nodes[q]
            if gap == 0.0:
                hit = q
            else:
                share[q] = barycentric[q] / gap
                total += share[q]
        for c in range(jumps.shape[1]):
            if hit >= 0:
                weights[panel, hit, c] += jumps[e, c]
            else:
                amount = jumps[e, c] / total
                for q in range(count):
                    weights[panel, q, c] += amount * share[q]
