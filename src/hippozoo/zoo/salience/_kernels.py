"""Compiled loops of the update table: arrays in, arrays out, no checks."""

from typing import no_type_check

import numpy as np
from numba import njit


@njit(cache=True)
@no_type_check
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


@njit(cache=True)
@no_type_check
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


@njit(cache=True)
@no_type_check
def advance_rows(knots, root_step, steps, x, states, out):
    """``out[r] = E(steps[r]) states[r] + G(steps[r]) x[r]``; knots are (3 knots, order + 1, order)."""
    cells = len(knots) // 3 - 1
    order = out.shape[1]
    weights = np.empty(6, knots.dtype)
    total = np.empty(order, knots.dtype)
    for r in range(len(steps)):
        cell = quintic(steps[r], root_step, cells, weights)
        six = knots[3 * cell : 3 * cell + 6]
        total[:] = 0
        for n in range(order + 1):
            value = states[r, n] if n < order else x[r]
            a, b, c = weights[0] * value, weights[1] * value, weights[2] * value
            d, e, f = weights[3] * value, weights[4] * value, weights[5] * value
            for i in range(order):
                total[i] += (a * six[0, n, i] + b * six[1, n, i] + c * six[2, n, i]) + (
                    d * six[3, n, i] + e * six[4, n, i] + f * six[5, n, i]
                )
        out[r] = total


@njit(cache=True, fastmath={"reassoc", "contract", "nsz"})
@no_type_check
def pull_rows(knots, root_step, steps, gradients, for_states, for_x):
    """The transpose of `advance_rows`: adds to `for_states`, sets `for_x`."""
    cells = len(knots) // 3 - 1
    order = gradients.shape[1]
    weights = np.empty(6, knots.dtype)
    for r in range(len(steps)):
        cell = quintic(steps[r], root_step, cells, weights)
        six = knots[3 * cell : 3 * cell + 6]
        a, b, c, d, e, f = weights
        gradient = gradients[r]
        for n in range(order + 1):
            total = six[0, 0, 0] * 0
            for i in range(order):
                total += gradient[i] * (
                    (a * six[0, n, i] + b * six[1, n, i] + c * six[2, n, i])
                    + (d * six[3, n, i] + e * six[4, n, i] + f * six[5, n, i])
                )
            if n < order:
                for_states[r, n] += total
            else:
                for_x[r] = total


@njit(cache=True, fastmath={"reassoc", "contract", "nsz"})
@no_type_check
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
@njit(cache=True, error_model="numpy")
@no_type_check
def tanh_in_place(values):
    """tanh to a few units in the last place of float32: tanh(x / 16) by its Padé fraction, then doubled four times."""
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
