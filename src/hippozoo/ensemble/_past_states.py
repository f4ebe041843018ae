"""Compiled loops over the past states of a small memory: move it, find the nearest, keep those farthest apart, rank."""

from __future__ import annotations

import math

import numpy as np

from hippozoo._internal.compiled import compiled

__all__ = ["BINS", "COEFFICIENTS", "NUMBER", "keep", "look_up", "median", "move", "rank"]

COEFFICIENTS = 4  # of a state, at the most
_OWN, NUMBER = COEFFICIENTS, COEFFICIENTS + 1  # further columns of a store
# Histograms of distances: bins of equal ratio, eight to an octave.
_PER_OCTAVE, _LOWEST, BINS = 8.0, -8.0, 96


@compiled(inner=True)
def move(state, j, value, settings, fresh):
    """One step of memory j; a fresh one has seen the same value for ever."""
    size = settings.sizes[j]
    if fresh:
        state[:] = 0.0
        state[0] = value
        return
    first, second, third, fourth = state[0], state[1], state[2], state[3]
    A, b = settings.transitions[j], settings.inputs[j]
    for i in range(size):
        state[i] = A[i, 0] * first + A[i, 1] * second + A[i, 2] * third + A[i, 3] * fourth + b[i] * value


@compiled(inner=True)
def look_up(store, state, newest):
    """Squared distance and place of the nearest state that is not newer than `newest`, and of the nearest of all."""
    nearest, place, among_all, beside = np.float32(1e30), -1, np.float32(1e30), -1
    s0, s1, s2, s3 = np.float32(state[0]), np.float32(state[1]), np.float32(state[2]), np.float32(state[3])
    for i in range(len(store)):
        if store[i, NUMBER] < 0.0:
            break
        d0, d1, d2, d3 = store[i, 0] - s0, store[i, 1] - s1, store[i, 2] - s2, store[i, 3] - s3
        distance = d0 * d0 + d1 * d1 + d2 * d2 + d3 * d3
        if distance < among_all:
            among_all, beside = distance, i
        if distance < nearest and store[i, NUMBER] <= newest:
            nearest, place = distance, i
    return math.sqrt(nearest), place, math.sqrt(among_all), beside


@compiled(inner=True)
def keep(store, state, number, distance, beside):
    """Keep a state if it is farther from all others than the two nearest of them are: these are thinned out."""
    lowest, at = np.float32(1e30), 0
    for i in range(len(store)):
        if store[i, NUMBER] < 0.0:
            lowest, at = np.float32(-1.0), i
            break
        if store[i, _OWN] < lowest:
            lowest, at = store[i, _OWN], i
    if distance <= lowest:
        return
    for k in range(COEFFICIENTS):
        store[at, k] = state[k]
    store[at, _OWN], store[at, NUMBER] = distance, number
    if beside >= 0 and beside != at and distance < store[beside, _OWN]:
        store[beside, _OWN] = distance


@compiled(inner=True)
def rank(histogram, distance, unit):
    """-log10 of the share of past distances that are as large; then count it."""
    place = min(max(int((math.log2(max(distance, 1e-9)) - _LOWEST) * _PER_OCTAVE), 0), BINS - 1)
    above, total = 0.5 * histogram[place], 0.0
    for i in range(BINS):
        total += histogram[i]
        if i > place:
            above += histogram[i]
    histogram[place] += unit
    return -math.log10((above + unit) / (total + unit))


@compiled(inner=True)
def median(histogram):
    """The median of the distances that were counted."""
    total, above = 0.0, 0.0
    for i in range(BINS):
        total += histogram[i]
    for i in range(BINS - 1, -1, -1):
        above += histogram[i]
        if above >= 0.5 * total:
            return 2.0 ** (_LOWEST + (i + 0.5) / _PER_OCTAVE)
    return 1.0
