"""With which periods a series repeats itself: spectral lines that stand out from the frequencies beside them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.special import gammaincc, gammaln

from hippozoo._internal.arguments import positive_number, real_array, whole_number

__all__ = ["USUAL_PERIODS", "find_seasons"]

# What calendars and clocks give; years have 52.18 weeks and 365.24 days.
USUAL_PERIODS = (4, 5, 7, 12, 24, 48, 52.1775, 96, 144, 168, 288, 336, 365.2425, 672, 1008, 1440, 2016)
# Rows that are looked at, the last ones: two weeks of minutes.
_ROWS = 20_160
# A shorter series tries every period; a longer one those that its autocorrelation proposes.
_TRIES_ALL = 400
_PROPOSED = 16
# A shorter series says by itself whether its changes are relative; a longer one bears the usual choice.
_SHORT = 100
# What each harmonic must bring in. Where there is no line, evidence is exponential with mean 1, and the highest sum of
# evidence less this cost has the tail exp(-_DECAY * sum): _DECAY solves exp(2 d) (1 - d) = 1.
_COST = 2.0
_DECAY = 0.7968
# How often a series without a season is given one: for all usual periods together, and for all others.
_FALSE_USUAL = 0.02
_FALSE_OTHERS = 3e-4
# Lines so near to one of a season that was found belong to it: seasons change slowly, and that widens their lines.
_WIDTH = 2.5
# A short period inside a long one is a season of its own if it explains most of the long one (a day in a week).
_NESTED = 0.5
_NESTED_RATIO = 5
# A usual period is meant where it explains nearly as much as the best one, and the series cannot tell them apart.
_NEARLY = 0.8
# A season of one column of many needs more evidence, unless so many have it.
_SHARE_OF_COLUMNS = 0.1


def find_seasons(
    values: Float[np.ndarray, "time"] | Float[np.ndarray, "time columns"],
    *,
    usual: Iterable[float | int] = USUAL_PERIODS,
    most: int = 3,
) -> tuple[int, ...]:
    """The periods, in steps, that stand out; none where none does.

    A season is a line in the spectrum of the changes from step to step, with its harmonics. It stands out from the
    frequencies beside it; a random walk, autocorrelated noise or a slow cycle does not. Periods are tried that come
    at least four times (usual ones: twice). What one period explains is taken out before the next is looked for, so
    that a day, a week and a year may be found side by side.

    Parameters
    ----------
    values
        One series, or one per column; NaN where a value is missing.
    usual
        Periods that are expected beforehand, such as 24 and 168 for hours: they need less evidence.
    most
        How many to give at most.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> hour = np.arange(700)
    >>> day, week = np.sin(2 * np.pi * hour / 24), np.sin(2 * np.pi * hour / 168)
    >>> find_seasons(day + week + 0.02 * hour + 0.5 * rng.normal(size=700))
    (24, 168)
    >>> find_seasons(rng.normal(size=700).cumsum())
    ()
    """
    series = _series(values)
    expected = tuple(sorted({positive_number("usual", one, why="a period, in steps") for one in usual}))
    limit = whole_number("most", most, why="how many seasons to give at most")
    changes = _changes(series if series.ndim == 2 else series[:, None])
    if len(changes) < 8 or not changes.shape[1]:
        return ()
    search = _Search(changes, expected, limit)
    found = search.run()
    columns = changes.shape[1]
    total: dict[int, float] = {}
    for period, evidence in found.items():
        common = len(evidence) >= max(2, _SHARE_OF_COLUMNS * columns)
        if common or max(evidence) > 2 * math.log(columns):
            total[period] = sum(evidence)
    return tuple(sorted(sorted(total, key=lambda period: -total[period])[:limit]))


def _series(values: Any) -> np.ndarray:
    given = np.ma.filled(values.astype(float), np.nan) if isinstance(values, np.ma.MaskedArray) else np.asarray(values)
    missing = np.isnan(given) if given.dtype.kind == "f" else np.zeros(given.shape, bool)
    known = np.where(missing, 0, given) if missing.any() else given
    series = real_array("values", known, what_to_do="Pass NaN for missing values.")
    if series.ndim not in (1, 2):
        raise ValueError(
            f"values have shape {series.shape}, expected (time,) or (time, columns); pass a series, or one per column."
        )
    return np.where(missing, np.nan, series)


def _changes(given: np.ndarray) -> np.ndarray:
    """Changes from step to step of each column that moves, relative ones where that makes sense, outliers clipped."""
    known = np.isfinite(given)
    rows = np.flatnonzero(known.any(axis=1))
    if not len(rows):
        return np.empty((0, 0))
    # Up to the last value: a long gap may follow.
    given, known = (one[max(rows[0], rows[-1] + 1 - _ROWS) : rows[-1] + 1] for one in (given, known))
    time = np.arange(len(given))
    columns = []
    for values, there in zip(given.T, known.T, strict=True):
        if there.sum() < 8:
            continue
        # Gaps are bridged and not closed up: a period counts steps, also those without a value.
        level = np.interp(time, time[there], values[there])
        largest = np.abs(level).max()
        if largest == 0:
            continue
        level = level / largest
        if level.min() > 0.05 * np.median(level) > 0:
            level = _in_logarithms(level)
        change = np.diff(level)
        # Nobody knows the first change; the mean in its place keeps 36 months three years.
        change = np.concatenate([[0.0], change - change.mean()])
        if change.std() > 1e-9 * np.abs(level).max():  # below it all is rounding
            columns.append(_clipped(change))
    return np.column_stack(columns) if columns else np.empty((0, 0))


def _in_logarithms(level: np.ndarray) -> np.ndarray:
    """The logarithm of positive levels, because seasons grow with the level more often than not.

    Few periods beside a trend cannot bear the wrong choice: it makes the season swell or fade, and widens its lines. So
    a short series takes that under which its changes are likelier, as normal numbers of one size.
    """
    logarithm = np.log(level)
    if len(level) < _SHORT:
        plain, relative = (float(np.log(np.diff(one).std() + 1e-300)) for one in (level, logarithm))
        if plain < relative + float(logarithm.mean()):
            return level
    return logarithm


def _clipped(change: np.ndarray) -> np.ndarray:
    """Without the few changes that would fill the whole spectrum."""
    size = np.abs(change)
    limit = math.inf
    for _ in range(12):  # every pass takes off what an outlier has added to the mean
        limit = 5 * float(np.minimum(size, limit).mean())
    limit = max(limit, float(np.quantile(size, 0.98)))
    clipped = np.clip(change, -limit, limit)
    return clipped - clipped.mean()


class _Search:
    """Forward selection of periods, at most `most` of a column, for all columns of `changes` at once."""

    def __init__(self, changes: np.ndarray, usual: tuple[float, ...], most: int) -> None:
        self.changes, self.most = changes, most
        self.length = len(changes)
        self.usual = tuple(one for one in usual if 2 <= one <= self.length / 2)

    def run(self) -> dict[int, list[float]]:
        """For each period that was found, the evidence beyond the threshold in every column that has it."""
        found: dict[int, list[float]] = defaultdict(list)
        # Columns in which the same seasons were found so far are searched together: (column, seasons, what is left).
        groups = [((), [(column, {}, column) for column in self.changes.T])]
        while groups:
            before, members = groups.pop()
            grown: dict[tuple[float, ...], list] = defaultdict(list)
            chosen = self._choose(np.column_stack([rest for _, _, rest in members]), before)
            for (column, seasons, rest), new in zip(members, chosen, strict=True):
                seasons = seasons | dict(new)
                if new and len(seasons) < self.most:
                    grown[tuple(seasons)].append((column, seasons, _without(rest, new[-1][0])))
                    continue
                for period, surplus in self._confirmed(column, seasons).items():
                    found[round(period)].append(surplus)
            groups += list(grown.items())
        return found

    def _confirmed(self, column: np.ndarray, seasons: dict[float, float]) -> dict[float, float]:
        """Without seasons that others explain: a multiple that adds little, or what a longer season leaked into."""
        kept = dict(seasons)
        for short in sorted(seasons):
            for long in seasons:
                if short in kept and long in kept and 1 < long / short < _NESTED_RATIO and not long % short:
                    del kept[short if kept[long] > kept[short] / 2 else long]
        for one in sorted(kept, key=lambda period: kept[period]):
            others = tuple(period for period in kept if period != one)
            if not others or any(not period % one for period in others):
                continue
            rest = column
            for period in others:
                rest = _without(rest, period)
            if self._evidence(rest[:, None], one, others)[0] <= self._needed(one):
                del kept[one]
        return kept

    def _choose(self, changes: np.ndarray, before: tuple[float, ...]) -> list[list[tuple[float, float]]]:
        """For each column the next period, before it one that is nested in it, each with its surplus of evidence."""
        periods = self._periods(changes)
        evidence = np.array([self._evidence(changes, period, before) for period in periods])
        surplus = evidence - np.array([[self._needed(period)] for period in periods])
        return [
            self._choose_one(changes[:, c], periods, evidence[:, c], surplus[:, c], before)
            for c in range(changes.shape[1])
        ]

    def _choose_one(
        self,
        change: np.ndarray,
        periods: list[float],
        evidence: np.ndarray,
        surplus: np.ndarray,
        before: tuple[float, ...],
    ) -> list[tuple[float, float]]:
        best = int(surplus.argmax())
        if surplus[best] <= 0:
            return []
        best = self._shortest(best, periods, evidence, surplus)
        best = self._as_usual(best, periods, evidence, surplus, before)
        period = periods[best]
        nested = []
        lines = None
        for place in range(len(periods)):
            ratio = period / periods[place]
            if surplus[place] <= 0 or ratio < _NESTED_RATIO or ratio != round(ratio) or periods[place] in before:
                continue
            lines = _lines(change[:, None], period)[1][:, 0] if lines is None else lines
            if lines[round(ratio) - 1 :: round(ratio)].sum() > _NESTED * lines.sum():
                nested = [(periods[place], float(surplus[place]))]  # the longest of them stays
        return [*nested, (period, float(max(surplus[best], 1e-9)))]

    def _shortest(self, best: int, periods: list[float], evidence: np.ndarray, surplus: np.ndarray) -> int:
        """The shortest period of which `best` is a multiple, if the multiple brings in little more."""
        period = periods[best]
        for place, shorter in enumerate(periods[:best]):
            ratio = round(period / shorter)
            same_kind = shorter in self.usual or period not in self.usual
            enough = surplus[place] > 0 and evidence[place] >= evidence[best] - self._needed(shorter)
            if ratio > 1 and abs(ratio * shorter - period) <= 1 and same_kind and enough:
                return place
        return best

    def _as_usual(
        self, best: int, periods: list[float], evidence: np.ndarray, surplus: np.ndarray, before: tuple[float, ...]
    ) -> int:
        """The usual period that is meant: one that the series cannot tell from the best, or a common multiple.

        After a day, three parts of a week that stand out (56 hours) are a week.
        """
        period = periods[best]
        if period in self.usual:
            return best
        for one in self.usual:
            place = periods.index(one)
            multiple = one > period and not one % period and any(not one % season for season in before)
            blurred = abs(one - period) <= max(1.0, one**2 / (2 * self.length))
            if (multiple and surplus[place] > 0) or (blurred and evidence[place] >= _NEARLY * evidence[best]):
                return place
        return best

    def _needed(self, period: float) -> float:
        if period in self.usual:
            return math.log(max(len(self.usual), 4) / _FALSE_USUAL)
        return math.log(self.length / 4) - math.log(_FALSE_OTHERS)

    def _periods(self, changes: np.ndarray) -> list[float]:
        longest = self.length // 4
        if self.length <= _TRIES_ALL:
            return sorted({*map(float, range(2, longest + 1)), *self.usual})
        proposed = {float(near) for lag in _proposed(changes, longest) for near in (lag - 1, lag, lag + 1)}
        return sorted({*(one for one in proposed if 2 <= one <= longest), *self.usual})

    def _evidence(self, changes: np.ndarray, period: float, before: tuple[float, ...]) -> np.ndarray:
        """-log of the chance that such lines come without a season, for every column."""
        if any(abs(period - season) <= max(1.0, season**2 / (2 * self.length)) for season in before):
            return np.zeros(changes.shape[1])  # the series cannot tell the two apart
        evidence, _, frequency = _lines(changes, period)
        own = np.ones(len(frequency), bool)
        for season in before:
            away = frequency * season - np.maximum(np.rint(frequency * season), 1)
            spacing = len(changes) / season
            own &= np.abs(away) * spacing >= min(_WIDTH, spacing / 4)
        evidence = evidence[own]
        if not len(evidence):
            return np.zeros(changes.shape[1])
        # Lines side by side share a background, and with it the error of its median.
        shared = 1 + 2 / (int(self.length // period) - 1)
        evidence = 1 + (evidence - 1) / math.sqrt(shared)
        # Either a few strong harmonics, the first ones, or many weak ones.
        few = _DECAY * np.cumsum(evidence - _COST, axis=0).max(axis=0)
        many = -np.log(np.maximum(gammaincc(len(evidence), np.maximum(evidence.sum(axis=0), 0)), 1e-300))
        return np.maximum(few, many)


def _lines(changes: np.ndarray, period: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Evidence and power of each harmonic, (harmonics, columns), and their frequencies.

    Over a whole number m of periods the harmonics are every m-th frequency, and those between are the background.
    """
    repeats = int(len(changes) // period)
    used = round(repeats * period)
    power = np.abs(np.fft.rfft(changes[-used:], axis=0)) ** 2
    top = used // 2
    harmonics = repeats * np.arange(1, int(period // 2) + 1)
    harmonics = harmonics[harmonics <= top]
    if 2 * harmonics[-1] == used:
        power[harmonics[-1]] /= 2  # the highest frequency has no imaginary part
    between = np.arange(1, top + 1)
    between = between[between % repeats != 0]
    # A window as wide as the spectrum stays nearly flat in: a share of all frequencies, and of the line's own.
    reach = np.minimum(min(max(repeats - 1, 5), max(used // 20, 5), 12), np.maximum(0.8 * harmonics, 1))
    begin = np.searchsorted(between, harmonics - reach, "left")
    end = np.searchsorted(between, harmonics + reach, "right")
    evidence = np.zeros((len(harmonics), changes.shape[1]))
    floor = 1e-12 * power.max(axis=0) + 1e-300
    for count in np.unique(end - begin).tolist():
        alike = np.flatnonzero(end - begin == count)
        if count:
            beside = power[between[begin[alike, None] + np.arange(count)]]
            evidence[alike] = _evidence_of_ratio(power[harmonics[alike]], np.maximum(beside, floor))
    return evidence, power[harmonics], harmonics / used


def _evidence_of_ratio(lines: np.ndarray, beside: np.ndarray) -> np.ndarray:
    """-log of the chance that a line is so much higher than the median of the powers beside it.

    The median, because other seasons may have lines there. The r-th of b exponential numbers is a sum of exponential
    ones with rates b, b - 1 ... b - r + 1, which gives the tail of the ratio without approximation.
    """
    count = beside.shape[1]
    rank = count // 2 + 1  # of two in the middle the higher: beside slow lines the spectrum is steep
    ratio = lines / np.partition(beside, rank - 1, axis=1)[:, rank - 1]
    rest = count - rank
    return gammaln(count + 1 + ratio) - gammaln(rest + 1 + ratio) - gammaln(count + 1) + gammaln(rest + 1)


def _without(change: np.ndarray, period: float) -> np.ndarray:
    """Without what repeats itself with this period, as far as its lines stand out.

    To take out all its lines would leave holes in the noise, and what is beside a hole looks like a line.
    """
    length = len(change)
    repeats = int(length // period)
    used = round(repeats * period)
    clear = repeats * (1 + np.flatnonzero(_lines(change[:, None], period)[0][:, 0] > _COST))
    spectrum = np.fft.rfft(change[-used:])
    lines = np.zeros_like(spectrum)
    lines[clear] = spectrum[clear]
    repeated = np.fft.irfft(lines, used)
    return change - repeated[(np.arange(length) - length) % used]


def _proposed(changes: np.ndarray, longest: int) -> set[int]:
    """Lags at which the autocorrelation of a column, or of its sum, has its highest peaks."""
    found: set[int] = set()
    size = 2 ** math.ceil(math.log2(2 * len(changes)))
    time = np.arange(len(changes))[:, None]
    level = np.cumsum(changes, axis=0)
    slope = (level * (time - time.mean())).sum(axis=0) / ((time - time.mean()) ** 2).sum()
    for signal in (changes, level - level.mean(axis=0) - slope * (time - time.mean())):
        power = np.abs(np.fft.rfft(signal, size, axis=0)) ** 2
        correlation = np.fft.irfft(power, axis=0)[: longest + 2]
        inner = correlation[1:-1]
        peak = (inner > correlation[:-2]) & (inner >= correlation[2:]) & (inner > 0)
        for column, is_peak in zip(inner.T, peak.T, strict=True):
            lags = np.flatnonzero(is_peak)
            found |= {int(lag) + 1 for lag in lags[np.argsort(-column[lags])[:_PROPOSED]]}
    return found
