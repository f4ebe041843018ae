"""Recurrences over the degree: one row per degree, a block of points at a time so that rows stay in cache.

Plain loops, arrays in and out, no checks. Row 0 is filled by the caller where it is not 1.
"""

from numpy import empty

from hippozoo._internal.compiled import compiled

_BLOCK = 512


@compiled()
def three_term(x, diagonal, off_diagonal, rows):
    """Fill rows[1:] by the three-term recurrence of an orthonormal family, from rows[0]."""
    order, points = rows.shape
    for start in range(0, points, _BLOCK):
        stop = min(start + _BLOCK, points)
        for n in range(order - 1):
            centre = diagonal[n]
            scale = 1.0 / off_diagonal[n]
            if n == 0:
                for p in range(start, stop):
                    rows[1, p] = (x[p] - centre) * rows[0, p] * scale
            else:
                back = off_diagonal[n - 1]
                for p in range(start, stop):
                    rows[n + 1, p] = ((x[p] - centre) * rows[n, p] - back * rows[n - 1, p]) * scale


@compiled()
def difference_recurrence(distance, first, odd_sign, keep, gain, scale, rows):
    """Fill rows by a recurrence on *differences* of neighbouring degrees.

    With v_n = 1 at an end of the interval and `distance` measured from that end,

        v_{n+1} - v_n = keep_n (v_n - v_{n-1}) - gain_n * distance * v_n,

    which stays accurate to rounding at that end, where the three-term recurrence loses n^2 of it.
    Written out is scale_n * v_n, and odd degrees are multiplied by `odd_sign` (the parity at the other end).
    """
    order, points = rows.shape
    value = empty(_BLOCK)
    change = empty(_BLOCK)
    for start in range(0, points, _BLOCK):
        size = min(_BLOCK, points - start)
        for p in range(size):
            value[p] = first[start + p]
            change[p] = 0.0
            rows[0, start + p] = value[p] * scale[0]
        for n in range(order - 1):
            a = keep[n]
            c = gain[n]
            factor = scale[n + 1]
            if n % 2 == 0:
                for p in range(size):
                    change[p] = a * change[p] - c * distance[start + p] * value[p]
                    value[p] += change[p]
                    rows[n + 1, start + p] = value[p] * factor * odd_sign[start + p]
            else:
                for p in range(size):
                    change[p] = a * change[p] - c * distance[start + p] * value[p]
                    value[p] += change[p]
                    rows[n + 1, start + p] = value[p] * factor


@compiled()
def difference_integrals(distance, even_sign, keep, gain, scale, rows):
    """Fill rows[1:] with scale_n * (v_{n-1} - v_{n+1}), the integrals of Legendre polynomials from the end.

    The two differences come from the recurrence itself, so that small integrals near the end keep all their
    digits. Even degrees are multiplied by `even_sign`.
    """
    order, points = rows.shape
    value = empty(_BLOCK)
    change = empty(_BLOCK)
    for start in range(0, points, _BLOCK):
        size = min(_BLOCK, points - start)
        for p in range(size):
            change[p] = -gain[0] * distance[start + p]
            value[p] = 1.0 + change[p]
        for n in range(1, order):
            a = keep[n]
            c = gain[n]
            factor = scale[n]
            even = n % 2 == 0
            for p in range(size):
                before = change[p]
                change[p] = a * before - c * distance[start + p] * value[p]
                value[p] += change[p]
                integral = -(before + change[p]) * factor
                rows[n, start + p] = integral * even_sign[start + p] if even else integral
