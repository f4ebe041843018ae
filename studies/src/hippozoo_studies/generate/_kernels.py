"""One character through one block, as plain loops: arrays in and out, no checks.

Sums may be reordered, so that the compiler can use vector instructions.
"""

from typing import no_type_check

import numpy as np

from hippozoo._internal.compiled import compiled

_SUMS = {"reassoc", "contract", "nsz"}
# That of the blocks' norms.
EPSILON = 1e-5


@compiled(fastmath=_SUMS)
@no_type_check
def normed(x, weight):
    """The numbers at root mean square one, times weights."""
    square = np.float32(0.0)
    for value in x:
        square += value * value
    return x * weight * np.float32(1.0 / np.sqrt(square / len(x) + EPSILON))


@compiled(fastmath=_SUMS)
@no_type_check
def gated(y, entered):
    """What a layer gave, times the gate that stands behind the `width` numbers that entered it."""
    width = len(y)
    if len(entered) > width:
        for place in range(width):
            gate = entered[width + place]
            y[place] *= gate / (np.float32(1.0) + np.exp(-gate))
    return y


@compiled(fastmath=_SUMS)
@no_type_check
def lag_block(x, before, enter, enter_bias, moved, b, weight, leave, leave_bias, state):
    """Through a block of lag functionals with products: the sample, and the state."""
    width, order = state.shape
    entered = np.dot(enter, normed(x, before)) + enter_bias
    after = np.dot(state, moved)
    y = np.empty(width, x.dtype)
    sums = np.empty(len(weight), x.dtype)
    for channel in range(width):
        for n in range(order):
            after[channel, n] += entered[channel] * b[n]
        for functional in range(len(weight)):
            read = np.float32(0.0)
            for n in range(order):
                read += weight[functional, channel, n] * after[channel, n]
            sums[functional] = read
        y[channel] = sums[0]
        for factor in range(1, len(weight), 2):
            y[channel] += sums[factor] * sums[factor + 1]
    return x + np.dot(leave, gated(y, entered)) + leave_bias, after


@compiled(fastmath=_SUMS)
@no_type_check
def product(address):
    """All products of one number of each part."""
    features = np.ones(1, address.dtype)
    for part in address:
        longer = np.empty(len(features) * len(part), address.dtype)
        for place in range(len(features)):
            longer[place * len(part) : (place + 1) * len(part)] = features[place] * part
        features = longer
    return features


@compiled(fastmath=_SUMS)
@no_type_check
def recall_block(x, first, before, enter, enter_bias, gate_weight, gate_bias, leave, leave_bias, address, bank):
    """Through a block with a bank: the sample, the address, and the bank after a write."""
    width = len(x)
    entered = np.dot(enter, normed(x, before)) + enter_bias
    score = gate_bias
    for place in range(width):
        score += gate_weight[place] * entered[place]
    gate = np.float32(1.0) / (np.float32(1.0) + np.exp(-score))
    key = product(address)
    change = gate * (first - np.dot(bank, key))
    stored = np.empty_like(bank)
    for channel in range(width):
        stored[channel] = bank[channel] + change[channel] * key
    here = np.empty_like(address)
    factors, directions = address.shape
    for factor in range(factors):
        part = entered[factor * directions : (factor + 1) * directions]
        length = np.float32(0.0)
        for value in part:
            length += value * value
        here[factor] = part / max(np.float32(np.sqrt(length)), np.float32(1e-6))
    y = np.dot(stored, product(here))
    return x + np.dot(leave, gated(y, entered)) + leave_bias, here, stored


@compiled(fastmath=_SUMS)
@no_type_check
def answer(x, weight, symbols, bias):
    """The scores of all symbols."""
    return np.dot(symbols, normed(x, weight)) + bias
