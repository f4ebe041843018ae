"""Errors of a forecast beside those of simple ones, how sure the difference is, and one sentence on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

__all__ = ["FORECAST", "Comparison", "Difference", "Verdict", "judge", "pool"]

FORECAST = "forecast"
# Stretches whose results are compared with each other for the error bar.
_STRETCHES = 12
_FEWEST_STRETCHES = 4
# A forecast leans to a simple one that is better by so many standard errors, and fully by one more. Chosen on the last
# horizons of the training values of M4 and M1: ADR 0025.
_LEAN_FROM = 1.5
# An error below this share of the largest one of a simple forecast, or of the largest value, is rounding.
_EXACT, _ROUNDING = 1e-9, 16 * float(np.finfo(float).eps)
# Outside of a clear difference's interval, on either side.
_TAIL = 0.025
# A method with this share of a mixture is what is forecast.
_MOSTLY = 0.5
# From this share on a verdict says that the forecast leans to a rival that was better.
_LEANS = 0.25
# Errors that differ by less than this share are nearly equal.
_NEARLY = 0.05


class Difference(NamedTuple):
    """By which share of the rival's error the forecast is better, its standard error, and from how many stretches."""

    share: float | None
    deviation: float | None
    stretches: int


@dataclass(frozen=True, eq=False)
class Comparison:
    """Absolute errors of a column by all methods on the same origins."""

    errors: Mapping[str, np.ndarray]  # sums for each method, by stretches of the table in which forecasts began
    counts: np.ndarray  # how many errors these are
    by_lead: Mapping[str, np.ndarray]  # mean absolute error at each step ahead, NaN where nothing ever came
    width: int  # steps of a stretch; 0 for pooled columns whose stretches do not fit each other
    horizon: int
    origins: int = 1
    largest: float = 0.0  # absolute value that came, which says what is rounding
    left_out: Mapping[str, str] = field(default_factory=dict)  # rivals that could not be compared, and why
    columns: tuple[Comparison, ...] = ()  # those that were pooled

    def mean(self, method: str) -> float:
        """The mean absolute error of a method; NaN where no value came."""
        total = self.counts.sum()
        return float(self.errors[method].sum() / total) if total else float("nan")

    def means(self) -> dict[str, float]:
        """That of all methods."""
        return {name: self.mean(name) for name in self.errors}

    def is_exact(self, method: str) -> bool:
        """Whether the errors of a method are none, or rounding: beside its rivals, or beside the values."""
        simple = max((self.mean(name) for name in self.errors if name != FORECAST), default=0.0)
        return bool(self.mean(method) <= max(_EXACT * simple, _ROUNDING * self.largest))

    def better_by(self, rival: str) -> Difference:
        """By which share of the rival's error the forecast is better, and how sure that is.

        Forecasts from origins near to each other meet the same weather, and overlap. So the standard error is a
        jackknife over stretches of the table, each at least one horizon long; None where there are fewer than four.
        Forecasts from one stretch reach into the next: with errors that are independent from step to step, stretches of
        L steps correlate by (H / 6) / (L - H / 3), and the error grows by that. The standard error of pooled columns is
        no smaller than a jackknife over the columns says.

        >>> errors = {"forecast": np.ones(8), "last value": np.full(8, 2.0)}
        >>> Comparison(errors, np.ones(8), {}, width=4, horizon=2).better_by("last value")
        Difference(share=0.5, deviation=0.0, stretches=8)
        """
        ours, theirs = self.errors[FORECAST], self.errors[rival]
        if not theirs.sum():
            return Difference(0.0 if not ours.sum() else None, None, 0)
        deviation, parts = None, 0
        if self.width:
            stretch, length = self._stretches()
            parts = int(stretch.max()) + 1
            deviation = _jackknife(*(np.bincount(stretch, one[self.counts > 0]) for one in (ours, theirs)))
            if deviation is not None:
                alike = self.horizon / 6 / max(length - self.horizon / 3, 2 * self.horizon / 3)
                deviation *= float(np.sqrt(1 + 2 * alike * (parts - 1) / parts))
        if self.columns:
            sums = (np.array([one.errors[name].sum() for one in self.columns]) for name in (FORECAST, rival))
            found = (deviation, _jackknife(*sums))
            deviation, parts = max((one for one in found if one is not None), default=None), len(self.columns)
        return Difference(float(1 - ours.sum() / theirs.sum()), deviation, parts)

    def lean(self) -> tuple[str, float]:
        """The best simple forecast, and how far the forecast should lean to it: from 0 to 1.

        It does where the simple one is clearly better in the whole back-test **and** in its later half, since forecasts
        improve while they learn: from 1.5 standard errors on, fully at 2.5 (ADR 0025).
        """
        rivals = [name for name in self.errors if name != FORECAST]
        if not rivals or not self.counts.sum():
            return "", 0.0
        best = min(rivals, key=self.mean)
        odds = min(one._standard_errors_behind(best) for one in (self, self._later_half()))
        return best, float(np.clip(odds - _LEAN_FROM, 0.0, 1.0))

    def _standard_errors_behind(self, rival: str) -> float:
        if not self.counts.sum():
            return 0.0
        share, deviation, _ = self.better_by(rival)
        if share is None:
            return np.inf  # a rival without errors
        return -share / deviation if deviation else 0.0

    def _later_half(self) -> Comparison:
        bins = np.flatnonzero(self.counts > 0)
        late = np.arange(len(self.counts)) >= (bins[0] + bins[-1] + 1) // 2
        errors = {name: one * late for name, one in self.errors.items()}
        return replace(self, errors=errors, counts=self.counts * late)

    def _stretches(self) -> tuple[np.ndarray, float]:
        """The stretch that each bin with origins belongs to, and how many steps a stretch has."""
        bins = np.flatnonzero(self.counts > 0)
        span = (bins[-1] - bins[0] + 1) * self.width
        count = int(max(1, min(_STRETCHES, span // self.horizon, len(bins))))
        place = (bins - bins[0]) * count // (bins[-1] - bins[0] + 1)
        return np.unique(place, return_inverse=True)[1], span / count  # without those in which nothing came


def _jackknife(ours: np.ndarray, theirs: np.ndarray) -> float | None:
    """The standard error of 1 - sum(ours) / sum(theirs); None of fewer than four parts."""
    rest = theirs.sum() - theirs
    usable = rest > 0
    if usable.sum() < _FEWEST_STRETCHES:
        return None
    without = 1 - (ours.sum() - ours)[usable] / rest[usable]
    spread = without - without.mean()
    return float(np.sqrt((len(without) - 1) / len(without) * (spread**2).sum()))


def pool(columns: Sequence[Comparison | None]) -> Comparison | None:
    """All columns together, each in units of its own mean error of the last value; None without two to pool.

    A column without a season is compared with its last value where others repeat theirs, and columns whose last value
    makes no error say nothing.
    """
    usable = [one for one in columns if one is not None and one.counts.sum() and one.mean("last value") > 0]
    if len(usable) < 2:
        return None
    names = list(dict.fromkeys(name for one in usable for name in one.errors))
    scaled = []
    for one in usable:
        unit = 1 / (one.mean("last value") * one.counts.sum())
        errors = {name: one.errors.get(name, one.errors["last value"]) * unit for name in names}
        scaled.append(Comparison(errors, one.counts / one.counts.sum(), {}, one.width, one.horizon))
    return Comparison(
        {name: np.sum([one.errors[name] for one in scaled], axis=0) for name in names},
        np.sum([one.counts for one in scaled], axis=0),
        {},
        usable[0].width if len({one.width for one in usable}) == 1 else 0,
        usable[0].horizon,
        origins=sum(one.origins for one in usable),
        columns=tuple(scaled),
    )


@dataclass(frozen=True)
class Verdict:
    """How a forecast did beside the best of its rivals."""

    kind: str  # "better", "no better", "worse" or "not judged"
    sentence: str  # the same in words, without the column's name
    rival: str | None = None
    better_by: float | None = None  # share of the rival's error
    standard_error: float | None = None


def judge(comparison: Comparison | None, names: Mapping[str, str], by: Mapping[str, float]) -> Verdict:
    """The verdict on one column, or on all together: a difference is clear if its 95 % interval leaves out zero.

    The interval is Student's t, with one degree of freedom less than there are stretches. `names` says what to call
    each rival, and `by` what the forecast is made of, with the share of each.

    >>> import numpy as np
    >>> errors = {"forecast": np.full(8, 0.7), "last value": np.ones(8)}
    >>> judge(Comparison(errors, np.ones(8), {}, width=4, horizon=2), {"last value": "the last value"}, {}).sentence
    'better than the last value by 30 % ± 0'
    """
    if comparison is None:
        return Verdict("not judged", "not judged: too few values for a back-test of this horizon")
    errors = comparison.means()
    rivals = {name: error for name, error in errors.items() if name != FORECAST}
    best = min(rivals, key=lambda name: rivals[name])
    share, deviation, stretches = comparison.better_by(best)
    leans = f"; by now it is {by[best]:.0%} of the forecast" if by.get(best, 0.0) >= _LEANS else ""
    if comparison.is_exact(best):
        # A share of rounding says nothing.
        if comparison.is_exact(FORECAST):
            return Verdict("no better", f"exact up to rounding, and so is {_repeating(best, names)}", best, 0.0)
        none = "no error at all" if share is None else "no error beyond rounding"
        return Verdict("worse", f"worse than {_repeating(best, names)}, which makes {none}{leans}", best)
    assert share is not None  # it is None beside a rival without errors only
    bar = "" if deviation is None else f" ± {100 * deviation:.0f}"
    quantile = float(stdtrit(max(stretches - 1, 1), 1 - _TAIL))
    is_clear = deviation is not None and abs(share) > quantile * deviation and abs(share) >= 0.005
    if is_clear and share > 0:
        others = [name for name in ("last value",) if name in rivals and name != best]
        beaten = " and ".join(names.get(name, name) for name in (*others, best))
        return Verdict("better", f"better than {beaten} by {100 * share:.0f} %{bar}", best, share, deviation)
    if is_clear:
        said = f"worse than {_repeating(best, names)} by {-100 * share:.0f} %{bar}{leans}"
        return Verdict("worse", said, best, share, deviation)
    few = "; too few origins for an error bar" if deviation is None else ""
    if by.get(best, 0.0) >= _MOSTLY and abs(share) < _NEARLY:
        said = f"no better than {_repeating(best, names)}, which is what is forecast"
    else:
        clearly = "not clearly" if share > 0 else "no"
        said = f"{clearly} better than {_repeating(best, names)}: {_difference(share)}{bar}{few}"
    return Verdict("no better", said, best, share, deviation)


def _difference(share: float) -> str:
    """Minus of what: "-33 %" puzzles people."""
    if abs(share) < 0.005:
        return "mean absolute error equal, 0 %"
    return f"mean absolute error {'smaller' if share > 0 else 'larger'} by {abs(100 * share):.0f} %"


def _repeating(rival: str, names: Mapping[str, str]) -> str:
    named = names.get(rival, rival)
    return f"repeating {named}" if rival.startswith("season") or rival == "last value" else named
