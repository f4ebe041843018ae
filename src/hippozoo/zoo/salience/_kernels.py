"""Compiled loops of the update table: arrays in, arrays out, no checks."""

import numpy as np

from hippozoo._internal.compiled import compiled


@compiled()
def quintic(step, root_step, cells, weights):
    """Fill in Hermite's six weights of a step; return the cell it lies in."""
    place = np.sqrt(max(step, 0.0)) / root_step
    cell = min(int(place), cells - 1)
    q = min(place - cell, 1.0)
    q3 = q * q * q
    late = q3 * (10.0 - 15.0 * q + 6.0 * q * q)
    weights[0] = 1.0 - late
    weights[1] = q - q3 * (6.0 - 8.0 * q + 3.0 * q * q)
    weights[2] = q * q / 2.0 - q3 * (1.5 - 1.5 * q + 0.5 * q * q)
    weights[3] = late
    weights[4] = -q3 * (4.0 - 7.0 * q + 3.0 * q * q)
    weights[5] = q3 * (0.5 - q + 0.5 * q * q)
    return cell


@compiled()
def update_matrices(knots, root_step, steps, out):
    """``out[i]``: the quintic at ``steps[i]``; knots are (3 knots, numbers), three rows a knot."""
    cells = len(knots) // 3 - 1
    weights = np.empty(6, knots.dtype)
    for item in range(len(steps)):
        cell = quintic(steps[item], root_step, cells, weights)
        a, b, c, d, e, f = weights
        rows = knots[3 * cell : 3 * cell + 6]
        one = out[item]
        for i in range(knots.shape[1]):
            one[i] = a * rows[0, i] + b * rows[1, i] + c * rows[2, i] + d * rows[3, i] + e * rows[4, i] + f * rows[5, i]


@compiled()
def sides(step, root_step, cells, weights):
    """The same quintic as a sum over the two knots of ``E (w + a A + b A²)``: fill in w, a, b of both, give the cell.

    By its number k a knot's value moves at ``c A E`` with c = 2 root_step² k, and so on.
    """
    cell = quintic(step, root_step, cells, weights)
    pace = 2.0 * root_step * root_step
    for side in range(2):
        c = pace * (cell + side)
        slope, bend = weights[3 * side + 1], weights[3 * side + 2]
        weights[3 * side + 1] = slope * c + bend * pace
        weights[3 * side + 2] = bend * c * c
    return cell


@compiled(fastmath={"contract"})
def add_product(vector, matrix, total):
    """``total += vector @ matrix``, eight rows of the matrix at a time."""
    rows, columns = matrix.shape
    n = 0
    while n + 8 <= rows:
        a, b, c, d = vector[n], vector[n + 1], vector[n + 2], vector[n + 3]
        e, f, g, h = vector[n + 4], vector[n + 5], vector[n + 6], vector[n + 7]
        p, q, r, s = matrix[n], matrix[n + 1], matrix[n + 2], matrix[n + 3]
        t, u, v, w = matrix[n + 4], matrix[n + 5], matrix[n + 6], matrix[n + 7]
        for i in range(columns):
            total[i] += ((a * p[i] + b * q[i]) + (c * r[i] + d * s[i])) + (
                (e * t[i] + f * u[i]) + (g * v[i] + h * w[i])
            )
        n += 8
    while n < rows:
        a, p = vector[n], matrix[n]
        for i in range(columns):
            total[i] += a * p[i]
        n += 1


@compiled()
def advance_rows(values, root_step, steps, x, states, firsts, seconds, out):
    """``out[r] = E(steps[r]) states[r] + G(steps[r]) x[r]``, a step for every row.

    `values` are (knots, order + 1, order); `firsts` is ``A state + b x`` and `seconds` A times that.
    """
    cells = len(values) - 1
    order = out.shape[1]
    weights = np.empty(6, np.float64)
    near = np.empty(order + 1, values.dtype)
    far = np.empty(order + 1, values.dtype)
    for r in range(len(steps)):
        cell = sides(steps[r], root_step, cells, weights)
        w, a, b, v, c, d = weights.astype(values.dtype)
        for n in range(order):
            near[n] = w * states[r, n] + a * firsts[r, n] + b * seconds[r, n]
            far[n] = v * states[r, n] + c * firsts[r, n] + d * seconds[r, n]
        near[order] = w * x[r]
        far[order] = v * x[r]
        out[r] = 0
        add_product(near, values[cell], out[r])
        add_product(far, values[cell + 1], out[r])


@compiled()
def pull_rows(values_T, root_step, steps, gradients, for_states, for_firsts, for_seconds, for_x):
    """The transpose of `advance_rows`: adds to `for_states`, sets the others.

    `values_T` are (knots, order, order + 1).
    """
    cells = len(values_T) - 1
    order = gradients.shape[1]
    weights = np.empty(6, np.float64)
    near = np.empty(order + 1, values_T.dtype)
    far = np.empty(order + 1, values_T.dtype)
    for r in range(len(steps)):
        cell = sides(steps[r], root_step, cells, weights)
        w, a, b, v, c, d = weights.astype(values_T.dtype)
        near[:] = 0
        far[:] = 0
        add_product(gradients[r], values_T[cell], near)
        add_product(gradients[r], values_T[cell + 1], far)
        for n in range(order):
            for_states[r, n] += w * near[n] + v * far[n]
            for_firsts[r, n] = a * near[n] + c * far[n]
            for_seconds[r, n] = b * near[n] + d * far[n]
        for_x[r] = w * near[order] + v * far[order]


@compiled(fastmath={"reassoc", "contract", "nsz"})
def add_and_dot(gradients, more, velocities, products):
    """``gradients += more``; ``products[r]``: what is then the inner product with ``velocities[r]``."""
    for r in range(len(gradients)):
        total = gradients[0, 0] * 0
        one, other, velocity = gradients[r], more[r], velocities[r]
        for i in range(gradients.shape[1]):
            value = one[i] + other[i]
            one[i] = value
            total += value * velocity[i]
        products[r] = total


# Python's check for division by zero would keep the loop from being vectorised.
@compiled(error_model="numpy")
def tanh_in_place(values):
    """Take tanh to a few units in the last place of float32: of x / 16 by its Padé fraction, doubled four times."""
    one = values.dtype.type(1)
    two = values.dtype.type(2)
    small = values.dtype.type(1 / 16)
    largest = values.dtype.type(10)
    p1, p2 = values.dtype.type(1 / 9), values.dtype.type(1 / 945)
    q1, q2 = values.dtype.type(4 / 9), values.dtype.type(1 / 63)
    for i in range(len(values)):
        y = min(max(values[i], -largest), largest) * small
        square = y * y
        above = y * (one + square * (p1 + square * p2))
        below = one + square * (q1 + square * q2)
        for _ in range(4):
            # tanh(2 y) = 2 t / (1 + t²) with t = above / below.
            above, below = two * above * below, below * below + above * above
        values[i] = above / below


@compiled()
def read_chunks(knots, jump_knots, root_step, ends, starts, rows, left):
    """What a functional reads at the end of every sample of every chunk: of the carried state, and of each jump.

    `knots` (3 knots, order) are those of ``E' w`` and `jump_knots` (3 knots,) those of ``G' w``; `left` is lower
    triangular, (chunks, samples, samples), and comes filled with zeros.
    """
    cells = len(jump_knots) // 3 - 1
    weights = np.empty(6, knots.dtype)
    for m in range(ends.shape[0]):
        for t in range(ends.shape[1]):
            cell = quintic(ends[m, t], root_step, cells, weights)
            a, b, c, d, e, f = weights
            six = knots[3 * cell : 3 * cell + 6]
            row = rows[m, t]
            for n in range(knots.shape[1]):
                row[n] = (a * six[0, n] + b * six[1, n] + c * six[2, n]) + (
                    d * six[3, n] + e * six[4, n] + f * six[5, n]
                )
            for i in range(t + 1):
                cell = 3 * quintic(ends[m, t] - starts[m, i], root_step, cells, weights)
                total = weights[0] * jump_knots[cell]
                for j in range(1, 6):
                    total += weights[j] * jump_knots[cell + j]
                left[m, t, i] = total


@compiled()
def pull_chunks(
    slope_knots, root_step, ends, starts, for_rows, for_left, for_knots, for_jump_knots, for_ends, for_starts
):
    """The transpose of `read_chunks`: adds to all; of the lags' gradients only those of the jumps.

    `slope_knots` (3 knots,) are those of the derivative of ``G' w`` by the lag.
    """
    cells = len(slope_knots) // 3 - 1
    weights = np.empty(6, slope_knots.dtype)
    for m in range(ends.shape[0]):
        for t in range(ends.shape[1]):
            cell = quintic(ends[m, t], root_step, cells, weights)
            a, b, c, d, e, f = weights
            six = for_knots[3 * cell : 3 * cell + 6]
            row = for_rows[m, t]
            for n in range(for_knots.shape[1]):
                value = row[n]
                six[0, n] += a * value
                six[1, n] += b * value
                six[2, n] += c * value
                six[3, n] += d * value
                six[4, n] += e * value
                six[5, n] += f * value
            for i in range(t + 1):
                gradient = for_left[m, t, i]
                cell = 3 * quintic(ends[m, t] - starts[m, i], root_step, cells, weights)
                slope = weights[0] * slope_knots[cell]
                for_jump_knots[cell] += gradient * weights[0]
                for j in range(1, 6):
                    slope += weights[j] * slope_knots[cell + j]
                    for_jump_knots[cell + j] += gradient * weights[j]
                for_ends[m, t] += gradient * slope
                for_starts[m, i] -= gradient * slope
