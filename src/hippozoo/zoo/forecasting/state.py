"""What a forecaster carries along: three systems, the delay line, what was learnt, and how forecasts did."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from hippozoo.zoo.forecasting.delay import DelayLine
from hippozoo.zoo.forecasting.moments import Moments

__all__ = ["Detail", "ForecasterState", "Validation"]

Learnt = tuple[tuple[Moments, ...], ...]


@dataclass(frozen=True, eq=False)
class Validation:
    """Forecasts scored on data they were not learnt from, stretch by stretch of the stream.

    Parameters
    ----------
    boundary
        When the present stretch ends, by the time that was observed.
    stretch
        Moments of the present stretch: [group][history].
    learnt_then
        What was known when the stretch before it began, one horizon or more before the present one: the maps that
        are scored on it.
    learnt_before
        What was known when the present stretch began.
    errors
        Sums of products of errors, for every group and candidate; each stretch halves what came before it.
    weight
        Their weight, for every group.
    """

    boundary: float
    stretch: Learnt
    learnt_then: Learnt
    learnt_before: Learnt
    errors: Float[np.ndarray, "groups candidates outputs outputs"]
    weight: Float[np.ndarray, " groups"]


@dataclass(frozen=True, eq=False)
class Detail:
    """Squared differences between samples and System 1's reading of them, for each cell of the horizon.

    What System 1 is too coarse to hold belongs to the uncertainty of a sample, though not to that of the curve.

    Parameters
    ----------
    squares
        Weighted sums, (channels, cells); the first cell is the first sample after the past.
    weight
        Of each channel.
    """

    squares: Float[np.ndarray, "channels cells"]
    weight: Float[np.ndarray, " channels"]

    @property
    def variance(self) -> Float[np.ndarray, "channels cells"]:
        """Mean squared differences; 0 where nothing was measured."""
        return self.squares / np.where(self.weight > 0, self.weight, 1.0)[:, None]

    def merge(self, other: Detail, kept: float = 1.0) -> Detail:
        """Both together, `kept` being how much of this one counts."""
        return Detail(self.squares * kept + other.squares, self.weight * kept + other.weight)


@dataclass(frozen=True, eq=False)
class ForecasterState:
    """Everything a `Forecaster` needs to go on, as arrays; it is never changed, each step gives a new one.

    Parameters
    ----------
    single
        Whether samples are single numbers; arrays have a channel axis of length 1 then.
    time
        The present: how much time has passed since the beginning.
    seen
        How much of it was observed, in any channel: gaps do not count.
    begun, age
        Which channels have had their first sample, and how long ago.
    silent
        How long ago the last sample of each channel ended.
    held
        The last value seen in each channel.
    recent
        System 1, the past on [t - horizon, t].
    delayed
        System 2, the past before that, one array per history system.
    aligned
        System 3, the same systems as System 2 but up to the present.
    line
        What lies between System 2 and the present.
    learnt
        Second-order statistics: [group][history].
    validation
        How forecasts did on data they were not learnt from.
    detail
        What System 1 is too coarse to hold of the samples.
    """

    single: bool
    time: float
    seen: float
    begun: Bool[np.ndarray, " channels"]
    age: Float[np.ndarray, " channels"]
    silent: Float[np.ndarray, " channels"]
    held: Float[np.ndarray, " channels"]
    recent: Float[np.ndarray, "channels outputs"]
    delayed: tuple[Float[np.ndarray, "channels _"], ...]
    aligned: tuple[Float[np.ndarray, "channels _"], ...]
    line: DelayLine
    learnt: Learnt
    validation: Validation
    detail: Detail

    @property
    def channels(self) -> int:
        """How many signals are forecast."""
        return len(self.held)

    @property
    def pairs(self) -> float:
        """How many pairs of a past and its future were learnt from, counted by their weight."""
        return sum(group[0].weight for group in self.learnt)
