"""Compiled loops over pairs of samples: what functionals read of each earlier jump."""

from __future__ import annotations

import numpy as np

from hippozoo._internal.compiled import compiled

# Rows of pairs that are summed in the precision of the samples.
ROWS = 64


@compiled(inner=True)
def places_of_pairs(ends, starts, inverse, cells, cell_of, within):
    """Where the lag of every sample of a row to every earlier one lies: its cell, and how far in it."""
    pairs = 0
    for t in range(len(ends)):
        for i in range(t + 1):
            within[pairs] = ends[t] - starts[i]
            pairs += 1
    for p in range(pairs):
        place = np.sqrt(max(within[p], 0.0)) * inverse
        cell = min(np.int32(place), np.int32(cells - 1))
        cell_of[p] = cell
        within[p] = min(place - cell, 1.0)


@compiled(error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def read_jumps(cells, inverse, ends, starts, jumps, y):
    """Add what is read of the jumps of every row.

    `cells` are (reads, cells, 6, channels), polynomials of the place in a cell; `ends` and `starts` (rows, samples),
    `jumps` (rows, samples, channels), `y` (rows, reads, samples, channels).
    """
    samples, channels = jumps.shape[1:]
    pairs = samples * (samples + 1) // 2
    cell_of, within = np.empty(pairs, np.int64), np.empty(pairs)
    for r in range(ends.shape[0]):
        places_of_pairs(ends[r], starts[r], inverse, cells.shape[1], cell_of, within)
        for read in range(len(cells)):
            p = 0
            for t in range(samples):
                out = y[r, read, t]
                for i in range(t + 1):
                    q, cell, jump = cells.dtype.type(within[p]), cells[read, cell_of[p]], jumps[r, i]
                    p += 1
                    p0, p1, p2, p3, p4, p5 = cell[0], cell[1], cell[2], cell[3], cell[4], cell[5]
                    q2 = q * q
                    q3, q4 = q2 * q, q2 * q2
                    q5 = q4 * q
                    for n in range(channels):
                        seen = (p0[n] + q * p1[n] + q2 * p2[n]) + (q3 * p3[n] + q4 * p4[n] + q5 * p5[n])
                        out[n] += jump[n] * seen


@compiled(error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def pull_jumps(cells, inverse, ends, starts, jumps, for_y, for_cells, for_jumps):
    """The transpose of `read_jumps`: adds to `for_cells`, which is float64, and to `for_jumps`."""
    samples, channels = jumps.shape[1:]
    some = np.zeros_like(cells)  # sums over a few rows: single precision would not do for all
    pairs = samples * (samples + 1) // 2
    cell_of, within = np.empty(pairs, np.int64), np.empty(pairs)
    product = np.empty(channels, cells.dtype)
    for r in range(ends.shape[0]):
        places_of_pairs(ends[r], starts[r], inverse, cells.shape[1], cell_of, within)
        for read in range(len(cells)):
            p = 0
            for t in range(samples):
                given = for_y[r, read, t]
                for i in range(t + 1):
                    q, where, jump, back = cells.dtype.type(within[p]), cell_of[p], jumps[r, i], for_jumps[r, i]
                    p += 1
                    cell = cells[read, where]
                    p0, p1, p2, p3, p4, p5 = cell[0], cell[1], cell[2], cell[3], cell[4], cell[5]
                    q2 = q * q
                    q3, q4 = q2 * q, q2 * q2
                    q5 = q4 * q
                    for n in range(channels):
                        seen = (p0[n] + q * p1[n] + q2 * p2[n]) + (q3 * p3[n] + q4 * p4[n] + q5 * p5[n])
                        back[n] += given[n] * seen
                    for n in range(channels):
                        product[n] = given[n] * jump[n]
                    # Three rows at a time: of more, the compiler would have to ask too often whether they overlap.
                    cell = some[read, where]
                    p0, p1, p2, p3, p4, p5 = cell[0], cell[1], cell[2], cell[3], cell[4], cell[5]
                    for n in range(channels):
                        p0[n] += product[n]
                        p1[n] += q * product[n]
                        p2[n] += q2 * product[n]
                    for n in range(channels):
                        p3[n] += q3 * product[n]
                        p4[n] += q4 * product[n]
                        p5[n] += q5 * product[n]
        if (r + 1) % ROWS == 0 or r + 1 == ends.shape[0]:
            for_cells += some
            some[:] = 0


@compiled(error_model="numpy")
def polynomials_of_pairs(ends, starts, reach, found):
    """The Chebyshev polynomials on [0, reach] at the lag of every sample to every earlier one, zero to later ones."""
    rows, samples, terms, _ = found.shape
    twice = np.empty(samples)
    before = np.empty(samples)
    now = np.empty(samples)
    for r in range(rows):
        for t in range(samples):
            for i in range(samples):
                twice[i] = 4 / reach * (ends[r, t] - starts[r, i]) - 2
                real = 1.0 if i <= t else 0.0
                before[i] = real * twice[i] / 2  # the term before the first is the second one
                now[i] = real
            for k in range(terms):
                out = found[r, t, k]
                for i in range(samples):
                    out[i] = now[i]
                    after = twice[i] * now[i] - before[i]
                    before[i] = now[i]
                    now[i] = after
