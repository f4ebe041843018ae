"""What a look finds: profiles, capacities and decoded quantities, with their bands."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from typing import Any, cast

import numpy as np
from jaxtyping import Float
from scipy.stats import t as student

from hippozoo.microscope.classifier import ClassScores
from hippozoo.microscope.crossfit import Scores

__all__ = ["Capacity", "ClassProfile", "Profile", "as_plain", "band"]

Values = Float[np.ndarray, " values"]


def band(value: Values, without_each: Float[np.ndarray, "sequences values"], *, of_r2: bool) -> tuple[Values, Values]:
    """Lower and upper limits around values of which each sequence has been left out in turn.

    Of values at most 1 (`of_r2`) the jackknife works on log(1 - value), where errors are nearly normal.
    """
    if of_r2:
        tiny = np.finfo(float).tiny
        value, without_each = (np.log(np.maximum(1 - part, tiny)) for part in (value, without_each))
    count = len(without_each)
    spread = without_each - without_each.mean(0)
    reach = student.ppf(0.975, count - 1) * np.sqrt((count - 1) / count * (spread**2).sum(0))
    if of_r2:
        return 1 - np.exp(value + reach), 1 - np.exp(value - reach)
    return value - reach, value + reach


class ByLag:
    """What both kinds of profile have: values by lag, and how much of each counts as kept."""

    value: Values

    def __len__(self) -> int:
        return len(self.value)

    def _full(self) -> Values | float:
        """What `value` would be where nothing is lost."""
        return 1.0

    def half_life(self, level: float = 0.5) -> int | float:
        """The smallest lag of which less than `level` is kept; infinite where there is none among the lags."""
        below = np.flatnonzero(~(self.value >= level * self._full()))  # what cannot be told is not kept
        return int(below[0]) if len(below) else math.inf

    def numbers(self) -> dict[str, Any]:
        """Plain lists, for JSON; a value that does not exist is None."""
        return {one.name: as_plain(getattr(self, one.name)) for one in fields(cast(Any, self))}


@dataclass(frozen=True, eq=False)
class Profile(ByLag):
    """R² by lag, or by coefficient or unit, each with a 95 % band.

    Parameters
    ----------
    value
        (R² - c) / (1 - c) on held-out sequences, not clipped; below 0 means worse than chance.
    low, high
        The band.
    chance
        c: R² of the same readout for the pasts of other sequences.

    Examples
    --------
    >>> Profile(*[np.array([0.9, 0.4])] * 4).half_life()
    1
    """

    value: Values
    low: Values
    high: Values
    chance: Values

    @classmethod
    def of(cls, scores: Scores) -> Profile:
        """From held-out sums."""
        value = scores.r2()
        return cls(value, *band(value, scores.r2_without_each(), of_r2=True), scores.chance)


@dataclass(frozen=True, eq=False)
class ClassProfile(ByLag):
    """What a linear classifier reads of the token k steps ago by lag, or of labels.

    Parameters
    ----------
    value
        Bits that the state adds to the frequencies of the classes: `chance_bits` - `cross_entropy`.
    low, high
        95 % band of `value`.
    cross_entropy, accuracy
        Of the classifier, on held-out sequences; bits per answer, and the share of right answers.
    chance_bits, chance_accuracy
        The same by the frequencies alone.

    Examples
    --------
    >>> ClassProfile(*[np.array([1.0, 0.2])] * 7).half_life()
    inf
    """

    value: Values
    low: Values
    high: Values
    cross_entropy: Values
    accuracy: Values
    chance_bits: Values
    chance_accuracy: Values

    @classmethod
    def of(cls, scores: ClassScores) -> ClassProfile:
        """From held-out sums."""
        value = scores.readable()
        low, high = band(value, scores.readable_without_each(), of_r2=False)
        return cls(value, low, high, *(part.mean(0) for part in scores))

    def _full(self) -> Values:
        return self.chance_bits


@dataclass(frozen=True)
class Capacity:
    """How many past samples a state holds; ``float(capacity)`` is the number alone.

    Parameters
    ----------
    value, low, high
        The capacity and its 95 % band; of tokens, in bits.
    most
        What no state of this size can exceed.
    lags
        How many lags were counted; products of samples further back are not in it.

    Examples
    --------
    >>> print(Capacity(5.43, 5.31, 5.55, most=64.0, lags=64))
    5.4 (5.3 to 5.5) of 64
    """

    value: float
    low: float
    high: float
    most: float
    lags: int

    @classmethod
    def of(cls, value: float, without_each: Float[np.ndarray, " sequences"], most: float, lags: int) -> Capacity:
        """A sum and its band, from the same sum without each sequence."""
        low, high = band(np.array([value]), without_each[:, None], of_r2=False)
        return cls(float(value), float(low[0]), float(high[0]), most, lags)

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        return f"{self.value:.1f} ({self.low:.1f} to {self.high:.1f}) of {self.most:.4g}"

    def numbers(self) -> dict[str, float]:
        """A plain dictionary, for JSON."""
        return asdict(self)


def as_plain(value: Any) -> Any:
    """What JSON has for a result: profiles and capacities by their numbers, arrays as lists, None for NaN."""
    if value is None or hasattr(value, "numbers"):
        return None if value is None else value.numbers()
    if isinstance(value, dict):
        return {str(key): as_plain(one) for key, one in value.items()}
    return [float(one) if math.isfinite(one) else None for one in np.asarray(value, float)]
