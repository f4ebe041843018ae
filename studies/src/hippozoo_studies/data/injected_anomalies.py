"""Anomalies of ten kinds, injected into quiet streams: what they are, where they begin and how large they are.

Sizes are in units that the readings before the anomaly have shown: the change that 95 % of the steps stay below, and
the spread between their 10 and 90 % points, in deviations of a normal distribution. An injected value keeps to what
the stream can be: a stream that is never negative stays so, and whole numbers stay whole.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from hippozoo._internal.arguments import shorten
from hippozoo_studies.data.quiet_streams import QuietStream

__all__ = ["AFTER", "KINDS", "SIZES", "Injection", "inject", "inject_table"]

#: Readings after the anomaly that belong to a trial.
AFTER = 100
#: Sizes are numbered, from small to large.
SIZES = (0, 1, 2)
_ATTEMPTS = 20


@dataclass(frozen=True, eq=False)
class Injection:
    """One anomaly: the stream up to `begin` is as it was, then these readings come.

    Parameters
    ----------
    kind, size
        Which of `KINDS`, and a number of `SIZES`.
    begin, end
        The first reading that is strange, and the one after the last.
    values
        Readings from `begin` on, up to `AFTER` beyond `end`.
    """

    kind: str
    size: int
    begin: int
    end: int
    values: Float[np.ndarray, " time"] | Float[np.ndarray, "time columns"]


@dataclass(frozen=True, eq=False)
class _Place:
    """Where an anomaly goes, and the units of its size."""

    stream: QuietStream
    begin: int
    sign: float
    rng: np.random.Generator

    @property
    def rest(self) -> np.ndarray:
        return self.stream.values[self.begin :].copy()

    @property
    def past(self) -> np.ndarray:
        return self.stream.values[: self.begin]

    @property
    def change(self) -> float:
        """The change that 95 % of the steps stay below; above 0."""
        steps = np.abs(np.diff(self.past))
        found = [float(np.quantile(steps, share)) for share in (0.95, 0.99, 1.0)]
        return next((one for one in found if one > 0), 1.0)

    @property
    def spread(self) -> float:
        low, high = np.quantile(self.past, [0.1, 0.9]).tolist()
        return (high - low) / 2.563 or float(self.past.std()) or 1.0


Made = tuple[np.ndarray, int]


def _spike(place: _Place, size: int) -> Made:
    values = place.rest
    values[0] += place.sign * (2.0, 4.0, 8.0)[size] * place.change
    return values, 1


def _step(place: _Place, size: int) -> Made:
    return place.rest + place.sign * (1.5, 3.0, 6.0)[size] * min(place.change, place.spread), 50


def _ramp(place: _Place, length: int, total: float) -> Made:
    values = place.rest
    return values + total * np.minimum(np.arange(1, len(values) + 1) / length, 1.0), length


def _drift(place: _Place, size: int) -> Made:
    length = min(100, len(place.stream.values) // 10)
    return _ramp(place, length, place.sign * (1.0, 2.0, 4.0)[size] * place.spread)


def _slow_leak(place: _Place, size: int) -> Made:
    length = min(400, len(place.stream.values) // 5)
    return _ramp(place, length, -(1.0, 2.0, 4.0)[size] * place.spread)


def _variance(place: _Place, size: int) -> Made:
    values, length, around = place.rest, 60, 4
    whole = place.stream.values
    for t in range(length):
        at = place.begin + t
        mean = whole[max(0, at - around) : at + around + 1].mean()
        values[t] = mean + (2.0, 4.0, 8.0)[size] * (whole[at] - mean)
    return values, length


def _rhythm(place: _Place, size: int) -> Made:
    values, cycle = place.rest, place.stream.season or 0
    speed = (1.25, 1.5, 2.0)[size] ** place.sign
    length = min(2 * cycle, len(place.stream.values) // 8)
    clock = np.where(np.arange(len(values)) < length, speed * np.arange(len(values)), 0.0)
    clock[length:] = speed * length + np.arange(len(values) - length)
    used = clock <= len(values) - 1
    return np.interp(clock[used], np.arange(len(values)), values), length


def _missing_cycle(place: _Place, size: int) -> Made:
    values, cycle = place.rest, place.stream.season or 1
    width = max(cycle // 8, 1)
    whole = np.pad(place.stream.values, width, mode="edge")
    smooth = np.convolve(whole, np.ones(2 * width + 1) / (2 * width + 1), "valid")[place.begin : place.begin + cycle]
    base = np.quantile(place.past[-4 * cycle :], 0.1 if place.sign > 0 else 0.9)
    values[:cycle] += (0.5, 0.75, 1.0)[size] * (base - smooth[: len(values[:cycle])])
    return values, cycle


def _flat_line(place: _Place, size: int) -> Made:
    values, length = place.rest, min((12, 36, 108)[size], len(place.stream.values) // 8)
    values[:length] = place.past[-1]
    return values, length


def _burst(place: _Place, size: int) -> Made:
    values, length = place.rest, 24
    hit = np.where(place.rng.random(length) < 0.5, place.rng.uniform(0.5, 1.0, length), 0.0)
    hit[0] = 1.0
    values[:length] += place.sign * (1.5, 3.0, 6.0)[size] * place.change * hit
    return values, length


def _new_maximum(place: _Place, size: int) -> Made:
    values, length = place.rest, 9
    low, high = float(place.past.min()), float(place.past.max())
    beyond = (0.05, 0.2, 0.5)[size] * ((high - low) or 1.0)
    target = high + beyond if place.sign > 0 else low - beyond
    shape = np.sin(np.pi * np.arange(1, length + 1) / (length + 1)) ** 2
    values[:length] += shape * (target - values[length // 2])
    return values, length


Maker = Callable[[_Place, int], Made]

#: How each kind is made; rhythm and missing cycle need a stream with a cycle.
KINDS: dict[str, Maker] = {
    "spike": _spike,
    "step": _step,
    "drift": _drift,
    "variance": _variance,
    "rhythm": _rhythm,
    "missing cycle": _missing_cycle,
    "flat line": _flat_line,
    "burst": _burst,
    "new maximum": _new_maximum,
    "slow leak": _slow_leak,
}
_CYCLIC = ("rhythm", "missing cycle")


def inject(stream: QuietStream, seed: int = 0) -> Iterator[Injection]:
    """One anomaly of each kind and size, each in a stream of its own, in its second half.

    Examples
    --------
    >>> stream = QuietStream("a wave", "waves", np.sin(np.arange(1000) / 8), 50)
    >>> spike = next(inject(stream))
    >>> spike.kind, spike.end - spike.begin, len(spike.values)
    ('spike', 1, 101)
    """
    for kind in KINDS:
        for size in SIZES:
            found = inject_one(stream, kind, size, seed) if stream.season or kind not in _CYCLIC else None
            if found is not None:
                yield found


def inject_one(stream: QuietStream, kind: str, size: int, seed: int = 0) -> Injection | None:
    """One anomaly; None where nothing could be changed, as by a flat line in a stream that stands still."""
    if kind not in KINDS:
        raise ValueError(f"kind={shorten(kind)} is unknown; pass one of {tuple(KINDS)}.")
    rng = np.random.default_rng([seed, size, zlib.crc32(kind.encode()), zlib.crc32(stream.name.encode())])
    length = len(stream.values)
    for _ in range(_ATTEMPTS):
        begin = int(rng.integers(length // 2, length - AFTER - 1))
        sign = float(rng.choice([-1.0, 1.0]))
        for direction in (sign, -sign):
            made, lasts = KINDS[kind](_Place(stream, begin, direction, rng), size)
            if lasts + AFTER > len(made):
                break
            before = stream.values[begin : begin + len(made)]
            kept = _possible(stream.values, made)
            wanted, came = (np.abs(one - before)[:lasts].sum() for one in (made, kept))
            if came > 0 and came >= wanted / 2:
                return Injection(kind, size, begin, begin + lasts, kept[: lasts + AFTER])
    return None


def _possible(stream: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Values as the stream could have them: not below 0 if it never is, and whole if all are."""
    values = np.maximum(values, 0.0) if stream.min() >= 0 else values
    return np.rint(values) if (stream == np.rint(stream)).all() else values


def inject_table(table: QuietStream, seed: int = 0) -> Iterator[Injection]:
    """Columns that come apart: one of them goes on as it once did elsewhere, so it is ordinary by itself.

    For 12, 36 and 108 readings a column is replaced by a stretch of its own past that begins and ends near the values
    that it has there (the best of the places in the first half, but none that belongs to the same hour of the cycle).

    Examples
    --------
    >>> wave = np.sin(np.arange(1000) / 8)
    >>> table = QuietStream("two waves", "waves", np.stack([wave, 2 * wave], axis=1), 50)
    >>> [len(one.values) - AFTER for one in inject_table(table)]
    [12, 36, 108]
    """
    values: Any = table.values
    rng = np.random.default_rng([seed, zlib.crc32(table.name.encode())])
    for size, length in enumerate((12, 36, 108)):
        begin = int(rng.integers(len(values) // 2, len(values) - length - AFTER))
        column = int(rng.integers(values.shape[1]))
        own = values[:, column]
        starts = np.arange(1, len(values) // 2 - length)
        cycle = table.season or length
        away = np.abs((begin - starts + cycle // 2) % cycle - cycle // 2)
        starts = starts[away >= min(cycle // 8, length)]
        misfit = np.abs(own[starts] - own[begin]) + np.abs(own[starts + length - 1] - own[begin + length - 1])
        start = int(starts[misfit.argmin()])
        changed = values[begin : begin + length + AFTER].copy()
        changed[:length, column] = own[start : start + length]
        yield Injection("columns apart", size, begin, begin + length, changed)
