"""Compiled loops of simulated systems, feedback loops and integrators; as in `_kernels`."""

import numpy as np

from hippozoo._internal.compiled import compiled
from hippozoo.zoo.volterra._kernels import SUMS


@compiled(fastmath=SUMS)
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


@compiled(fastmath=SUMS)
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


@compiled(fastmath=SUMS)
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


@compiled(fastmath=SUMS)
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
