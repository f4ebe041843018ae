"""A period in a signal, by its autocorrelation."""

from __future__ import annotations

import numpy as np

__all__ = ["find_season"]

# A peak of the autocorrelation below this is no season.
_CLEAR = 0.3
# Rows that are looked at: enough for a week of minutes.
_ROWS = 20_000


def find_season(values: np.ndarray) -> int | None:
    """The clearest period of any column, in steps, if there is a clear one.

    It is looked for in the values of a column and, where they show none, in their changes from step to step: a slow
    drift hides a season from the values and not from the changes.

    Examples
    --------
    >>> wave = np.sin(np.arange(500) * 2 * np.pi / 24)
    >>> find_season(np.column_stack([np.arange(500), np.ones(500), wave]))
    24
    >>> find_season(np.random.default_rng(0).normal(size=(500, 1))) is None
    True
    """
    found = [one for one in map(_season, values.T) if one]
    return max(found, key=lambda one: one[1])[0] if found else None


def _season(given: np.ndarray) -> tuple[int, float] | None:
    """The period of one column, and how clear it is."""
    known = np.flatnonzero(np.isfinite(given))
    known = known[known > known[-1] - _ROWS] if len(known) else known  # up to the last value: a long gap may follow
    if len(known) < 32:
        return None
    # Gaps are bridged and not closed up: a period is counted in steps, also in those without a value.
    signal = np.interp(np.arange(known[0], known[-1] + 1), known, given[known])
    time = np.arange(len(signal))
    level = signal - np.polyval(np.polyfit(time, signal, 1), time)  # a trend is no season
    changes = np.diff(signal)
    smallest = 1e-9 * np.abs(signal).max()  # below it all is rounding
    parts = [part for part in (level, changes - changes.mean()) if part.std() > smallest]
    return next((period for period in map(_period, parts) if period), None)


def _period(signal: np.ndarray) -> tuple[int, float] | None:
    power = np.abs(np.fft.rfft(signal, 2 * len(signal))) ** 2
    # Fewer than four periods are no season yet.
    products = np.fft.irfft(power)[: len(signal) // 4]
    correlation = products / products[0] * len(signal) / (len(signal) - np.arange(len(products)))
    inner = correlation[1:-1]
    peaks = np.flatnonzero((inner > correlation[:-2]) & (inner >= correlation[2:])) + 1
    # Before the first fall below zero every lag resembles the present.
    below = np.flatnonzero(correlation < 0)
    peaks = peaks[peaks > below[0]] if len(below) else peaks[:0]
    if not len(peaks) or correlation[peaks].max() < _CLEAR:
        return None
    # Two periods resemble the present as much as one: the first peak that is nearly as high as the highest.
    period = int(peaks[correlation[peaks] > 0.9 * correlation[peaks].max()][0])
    return period, float(correlation[period])
